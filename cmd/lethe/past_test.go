//go:build unix

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	program "lethe/cmd/lethe"
	"lethe/cmd/lethe/cli"
	"lethe/life"
)

// check holds everything that is on disk against the story.
func (m *mortal) check() {
	if !slices.Equal(m.said, append(slices.Clone(story), question)) {
		m.fail("said %q", m.said)
		return
	}
	id, err := m.identity()
	if err != nil {
		m.fail("%v", err)
		return
	}
	store, err := blobs.Open(filepath.Join(m.home, "blobs"))
	if err != nil {
		m.fail("%v", err)
		return
	}
	past, err := readPast(id, store)
	if err != nil {
		m.fail("%v", err)
		return
	}
	for _, room := range []string{"dev", "ops"} {
		if err := m.checkRoom(room, past); err != nil {
			m.fail("room %s: %v", room, err)
			return
		}
	}
	for call, n := range past.results {
		if n != 1 {
			m.fail("call %s has %d results", call, n)
		}
	}
	if s, err := home.Fold(id, store); err != nil || len(s.Owed().Posts)+len(s.Owed().Calls) > 0 || s.Owed().Answer {
		m.fail("in the end it owes something, or the fold fails: %v", err)
	}
	ran, _ := os.ReadFile(filepath.Join(id.Dir, "workspace", "ran.txt"))
	if n := strings.Count(string(ran), "ran\n"); n > 1 {
		m.fail("the command ran %d times", n)
	}
	for _, args := range [][]string{{"life", "ada"}, {"life", "--raw", "ada"}, {"life", "--json", "ada"}, {"context", "ada"}, {"agents"}} {
		var out, errs bytes.Buffer
		app := cli.New(strings.NewReader(""), &out, &errs)
		if code := program.Execute(context.Background(), app, append(args, "--home", m.home)); code != 0 || out.Len() == 0 {
			m.fail("lethe %v: exit code %d, %s", args, code, errs.String())
		}
	}
}

// past is what a log says.
type past struct {
	heard   map[string][]string // user lines by room, in order
	posted  map[string]int      // by the room and the bytes of the line
	results map[string]int      // by call
}

// readPast reads a whole log, and each of its blobs.
func readPast(id home.Identity, store *blobs.Store) (past, error) {
	p := past{heard: map[string][]string{}, posted: map[string]int{}, results: map[string]int{}}
	err := life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		var bodies []string
		for _, r := range e.Refs {
			h, err := store.Resolve(r.Hash)
			if err != nil {
				return err
			}
			b, err := store.Get(h)
			if err != nil {
				return err
			}
			bodies = append(bodies, string(b.Body))
		}
		switch e.Kind {
		case "inbound":
			for raw := range strings.Lines(bodies[0]) {
				if l := chat.Parse([]byte(raw)); !l.Agent {
					p.heard[e.Get("room")] = append(p.heard[e.Get("room")], l.Text)
				}
			}
		case "posted":
			p.posted[e.Get("room")+" "+e.Get("at")]++
		case "call":
			if _, ok := p.results[e.Arg(0)]; !ok {
				p.results[e.Arg(0)] = 0
			}
		case "result":
			p.results[e.Arg(0)]++
		}
		return nil
	})
	return p, err
}

// checkRoom: user lines were heard once, in order; agent lines stand there once,
// each as LIFE says; each user line has its answer.
func (m *mortal) checkRoom(room string, p past) error {
	lines, _, _, err := chat.Tail(chat.Path(m.home, room), 1000)
	if err != nil {
		return err
	}
	var users []string
	answers := map[string]int{}
	posted := 0
	for _, l := range lines {
		if !l.Agent {
			users = append(users, l.Text)
			continue
		}
		answers[l.Text]++
		if n := p.posted[fmt.Sprintf("%s %d..%d", room, l.From, l.To)]; n != 1 {
			return fmt.Errorf("LIFE has %d records of the post %q", n, l.Text)
		}
		posted++
	}
	if !slices.Equal(p.heard[room], users) {
		return fmt.Errorf("heard %q, said %q", p.heard[room], users)
	}
	for at := range p.posted {
		if strings.HasPrefix(at, room+" ") {
			posted--
		}
	}
	if posted != 0 {
		return fmt.Errorf("LIFE records %d posts that are not there", -posted)
	}
	want := len(users)
	if room == "ops" {
		want = 1 // the SAY
	}
	if len(answers) != want {
		return fmt.Errorf("%d different answers, want %d", len(answers), want)
	}
	for text, n := range answers {
		if n != 1 {
			return fmt.Errorf("%q stands there %d times", text, n)
		}
	}
	if last := lines[len(lines)-1].Text; room == "dev" && !strings.Contains(last, "vault 7") {
		return fmt.Errorf("the question got %q", last)
	}
	if room == "ops" && answers["the build is green"] != 1 {
		return fmt.Errorf("it was not said in ops: %v", answers)
	}
	return nil
}
