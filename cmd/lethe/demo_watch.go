package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/life"
	"lethe/mind"
)

// What the tour knows it reads from the files of the home: the room, LIFE.md,
// status.json, context.md, and the fold of the log.

// say appends a line to the room and waits for the answer.
func (t *tour) say(ctx context.Context, text string) (answer string, err error) {
	end, err := t.post(text)
	if err != nil {
		return "", err
	}
	return t.answer(ctx, text, end)
}

// post appends a line to the room, as any bridge does, and returns where it ends.
func (t *tour) post(text string) (end int64, err error) {
	line, err := chat.Format(false, "you", time.Now(), text)
	if err != nil {
		return 0, err
	}
	if _, end, err = chat.Append(t.room(), line); err == nil {
		t.said++
	}
	return end, err
}

// answer waits for what is said to a line that ends at a byte of the room, and
// until nothing is owed any more.
func (t *tour) answer(ctx context.Context, line string, end int64) (answer string, err error) {
	err = t.await(ctx, fmt.Sprintf("an answer to %q", cut(line, 40)), func() bool {
		answer = t.answerAfter(end)
		return answer != "" && t.idle(end)
	})
	return answer, err
}

func (t *tour) room() string { return chat.Path(t.home.Dir, demoRoom) }

// lines reads the room. One that is not there yet is empty.
func (t *tour) lines() []chat.Line {
	batch, err := chat.Read(t.room(), chat.Cursor{}, 1<<24)
	if err != nil {
		return nil
	}
	return batch.Lines
}

// answerAfter is what the identity has said behind a byte of the room.
func (t *tour) answerAfter(end int64) string {
	for _, l := range t.lines() {
		if l.From >= end && l.Agent && l.Name == demoName {
			return l.Text
		}
	}
	return ""
}

// idle reports whether all of the room through a byte has been heard and nothing
// is owed for it.
func (t *tour) idle(through int64) bool {
	s, err := status.Read(t.id.Dir)
	return err == nil && s.PID == t.daemon.cmd.Process.Pid && s.State == status.Idle &&
		s.Heard[demoRoom] >= through && !slices.Contains(s.Answering, demoRoom)
}

// status is what the identity shows; zero when it cannot be read.
func (t *tour) status() status.Status {
	s, _ := status.Read(t.id.Dir)
	return s
}

// fold reads the state of the identity from its log, as lethe context does.
func (t *tour) fold() (*mind.State, error) { return agent.Fold(t.id, t.store) }

// logged is an event of LIFE.md with its line.
type logged struct {
	life.Event
	line string
}

// life reads LIFE.md. A last line that is being written is left out.
func (t *tour) life() ([]logged, error) {
	text, err := os.ReadFile(t.id.LIFE())
	if err != nil {
		return nil, err
	}
	var out []logged
	for line := range strings.Lines(string(text)) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break
		}
		e, err := life.ParseLine(line)
		if err != nil {
			return nil, err
		}
		out = append(out, logged{e, line})
	}
	return out, nil
}

// bare is a line of LIFE without its time and checksum.
func (l logged) bare() string {
	_, line, _ := strings.Cut(l.line, "] ")
	if i := strings.LastIndex(line, " #"); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSuffix(line, " +")
}

// happened returns the events of some kinds from the n-th on.
func happened(all []logged, n int, kinds ...string) []logged {
	var out []logged
	for _, e := range all[min(n, len(all)):] {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// view reads context.md.
func (t *tour) view() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.id.Dir, "context.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("there is no context.md")
	}
	return string(text), err
}

// viewed reports whether context.md is whole and shows all of a state.
func viewed(text string, s *mind.State) bool {
	seen, ok := mind.ReadView([]byte(text))
	return ok && seen.Intact && seen.Epoch == s.Epoch && seen.Through == s.Next-1
}

// compacted finds what the daemon says of a compaction in its log.
var compacted = regexp.MustCompile(`msg=compacted .*tokens_before=(\d+) tokens_after=(\d+)`)

// measure reads the tokens of the context before and after the compaction.
func (t *tour) measure() error {
	log, err := os.ReadFile(filepath.Join(t.dir, "daemon.log"))
	if err != nil {
		return err
	}
	m := compacted.FindSubmatch(log)
	if m == nil {
		return errors.New("the daemon's log says nothing of a compaction")
	}
	t.before, _ = strconv.Atoi(string(m[1])) // digits, by the pattern
	t.after, _ = strconv.Atoi(string(m[2]))
	return nil
}

// reach is how far away what was said and read is: bytes by the number of refs to
// open, from 0; the last are out of reach.
type reach struct{ at [4]int }

func (r reach) total() int { return r.at[0] + r.at[1] + r.at[2] + r.at[3] }

func (r reach) percent(from, to int) float64 {
	n := 0
	for _, b := range r.at[from : to+1] {
		n += b
	}
	return 100 * float64(n) / float64(max(1, r.total()))
}

// reach looks every line that was ever said in the room or given by a tool up in
// the context, then behind its refs, then behind the refs found there.
func (t *tour) reach() (reach, error) {
	seen, err := t.seen()
	if err != nil {
		return reach{}, err
	}
	text, err := t.view()
	if err != nil {
		return reach{}, err
	}
	var r reach
	pages, opened := []string{blobs.Unescape(text)}, map[blobs.Hash]bool{}
	for depth := 0; depth <= 2; depth++ {
		var left []string
		for _, line := range seen {
			if slices.ContainsFunc(pages, func(p string) bool { return strings.Contains(p, line) }) {
				r.at[depth] += len(line)
			} else {
				left = append(left, line)
			}
		}
		seen = left
		if pages, err = t.open(pages, opened); err != nil {
			return reach{}, err
		}
	}
	for _, line := range seen {
		r.at[3] += len(line)
	}
	return r, nil
}

// seen lists the lines of everything that was said in the room or that a tool
// gave. What UNCOMPACT gave was there before.
func (t *tour) seen() ([]string, error) {
	var out []string
	add := func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	for _, l := range t.lines() {
		add(l.Text)
	}
	events, err := t.life()
	if err != nil {
		return nil, err
	}
	for _, e := range happened(events, 0, "result") {
		if e.Arg(1) == "UNCOMPACT" {
			continue
		}
		for _, ref := range e.Refs {
			body, err := t.cat(ref.Hash)
			if err != nil {
				return nil, err
			}
			add(body)
		}
	}
	return out, nil
}

// open follows the refs of some texts, each once. An address that is no blob of
// the store was only written by somebody.
func (t *tour) open(texts []string, opened map[blobs.Hash]bool) ([]string, error) {
	var out []string
	for _, text := range texts {
		for _, short := range blobs.Mentions(text) {
			h, err := t.store.Resolve(short)
			if errors.Is(err, blobs.ErrNotFound) || opened[h] {
				continue
			}
			if err != nil {
				return nil, err
			}
			opened[h] = true
			body, err := t.cat(short)
			if err != nil {
				return nil, err
			}
			out = append(out, blobs.Unescape(body))
		}
	}
	return out, nil
}

// cat reads the body of a blob, checked, as lethe cat does.
func (t *tour) cat(short string) (string, error) {
	h, err := t.store.Resolve(short)
	if err != nil {
		return "", err
	}
	b, err := t.store.Get(h)
	return string(b.Body), err
}
