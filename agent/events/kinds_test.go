package events_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

func TestMain(m *testing.M) {
	host.Main()
	os.Exit(m.Run())
}

// world is a home in which an identity lives with the offline model. Its events are read as a
// client does.
type world struct {
	testing.TB
	home home.Home
	id   home.Identity
	h    *host.Host
	seen chan events.Event
}

func newWorld(t testing.TB) *world {
	t.Helper()
	var settings config.Settings
	err := config.Parse("config.toml",
		[]byte("people = [\"ann\"]\n[tools]\nbash = \"trusted\"\nask = [\"BASH *date*\"]\n[budget]\nday_usd = 100.0\n"), &settings)
	lethetest.Must(t, err)
	place, err := home.Open(filepath.Join(t.TempDir(), "home"))
	lethetest.Must(t, err)
	h, err := host.New(place, settings, host.Options{Offline: true, Pace: time.Millisecond, HintTime: time.Minute})
	lethetest.Must(t, err)
	id, err := h.Boot(home.BootOptions{Name: "ada", Soul: "You help.", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	return &world{TB: t, home: place, id: id, h: h, seen: make(chan events.Event, 1<<16)}
}

func (w *world) log() events.Log { return events.Log{Path: w.id.LIFE(), Name: "ada"} }

// lives runs the identity while f talks to it, and follows what happens.
func (w *world) lives(f func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	watcher := chat.NewWatcher(50*time.Millisecond, nil)
	store, err := blobs.Open(w.home.Blobs())
	lethetest.Must(w, err)
	s, err := events.Open(store, w.log(), "")
	lethetest.Must(w, err)
	done := make(chan error, 3)
	go func() { done <- watcher.Run(ctx) }()
	go func() { done <- s.Follow(ctx, watcher, func(e events.Event) error { w.seen <- e; return nil }) }()
	go func() { done <- w.h.Run(ctx, []home.Identity{w.id}) }()
	f()
	cancel()
	for range 3 {
		lethetest.Must(w, <-done)
	}
	lethetest.Must(w, s.Close())
}

// await returns the next event of a type.
func (w *world) await(kind string) events.Event {
	w.Helper()
	for late := time.After(2 * time.Minute); ; {
		select {
		case e := <-w.seen:
			if e.Type == kind {
				return e
			}
		case <-late:
			life, _ := os.ReadFile(w.id.LIFE())
			w.Fatalf("no %s came; LIFE ends with\n%s", kind, life[max(0, len(life)-3000):])
		}
	}
}

func (w *world) say(text string) {
	w.Helper()
	line, err := chat.Format(false, "ann", time.Now(), text)
	lethetest.Must(w, err)
	_, _, err = chat.Append(chat.Path(w.home.Dir, "dev"), line)
	lethetest.Must(w, err)
}

// ask says something and waits until the turn is over.
func (w *world) ask(text string) {
	w.Helper()
	w.say(text)
	for w.await(events.UserMessage).Text != text {
	}
	w.await(events.TurnEnd)
}

// A file has changed where a hook had it written, not where the model had asked for it.
func TestFileOfAHook(t *testing.T) {
	w := newWorld(t)
	hook := filepath.Join(w.home.Dir, "hooks/call/move")
	lethetest.Must(t, os.MkdirAll(filepath.Dir(hook), 0o700))
	script := "#!/bin/sh\necho '{\"updated_input\":{\"path\":\"b.txt\",\"content\":\"hello\"}}'\n"
	lethetest.Must(t, os.WriteFile(hook, []byte(script), 0o700))
	w.lives(func() {
		w.say("write hello to a.txt")
		if got := w.await(events.FileChanged).Path; got != "b.txt" {
			t.Errorf("the file that changed is %q, not b.txt", got)
		}
		w.await(events.TurnEnd)
	})
}

// A life with every kind of line: each is mapped to events, or is one of those that are not; from
// any of them on, the rest is the same; the page explains each type and member.
func TestEveryKind(t *testing.T) {
	lethetest.Unraced(t)
	w := newWorld(t)
	skill := filepath.Join(w.home.Dir, "skills/tidy/SKILL.md")
	lethetest.Write(t, skill, "---\ndescription: Tidies up.\n---\n")
	w.lives(func() {
		w.ask("remember that the deploy key is in vault 7")
		w.ask("write hello to a.txt and then read a.txt")
		w.ask("join ops and then say hello all in ops")
		w.ask("leave ops")
		w.ask("run echo one; sleep 1; echo two")
		w.say("run date")
		q := w.await(events.Asked).Question
		w.await(events.TurnEnd)
		w.ask(q.ID + " once")
		w.say("run sleep 1 in the background")
		for !strings.HasPrefix(w.await(events.UserMessage).By, "job-") {
		}
		w.await(events.TurnEnd)
		w.ask("let somebody else count to 3")
		w.await(events.TurnEnd)
		lethetest.Write(t, skill, "---\ndescription: Tidies up well.\n---\n")
		for !strings.Contains(lethetest.Read(t, w.id.LIFE()), " why=file ") {
			w.ask("hello")
		}
		lethetest.Must(t, os.WriteFile(filepath.Join(w.id.Dir, "MEMORY.md"), []byte("- be brief\n"), 0o600))
		w.await(events.FileChanged)
		lethetest.Must(t, home.Ask(w.id, home.WishCompact))
		w.await(events.Forgot)
		w.say("count to 900")
		w.await(events.MessageDelta)
		w.say("/stop")
		if e := w.await(events.TurnEnd); e.Why != "stop" {
			t.Errorf("the turn ended with %+v", e)
		}
		if e := w.await(events.MessageDone); e.Status != "stopped" || !strings.HasPrefix(e.Text, "1 2 3") {
			t.Errorf("what was cut off is %+v", e)
		}
	})
	store, err := blobs.Open(w.home.Blobs())
	lethetest.Must(t, err)
	now := time.Now().UTC().Truncate(time.Microsecond)
	original, err := store.Put(blobs.Meta{At: now, Gist: "the key", Life: w.id.Self}, []byte("the key is in vault 7"))
	lethetest.Must(t, err)
	hint, err := store.Put(blobs.Meta{At: now, Gist: "hint", Life: w.id.Self},
		[]byte("These may matter now:\nhash="+store.Short(original)+" gist=the key (e1..e2)"))
	lethetest.Must(t, err)
	log, err := life.Open(w.id.LIFE())
	lethetest.Must(t, err)
	to := func(h blobs.Hash) blobs.Ref { return blobs.Ref{Hash: store.Short(h), Gist: "g"} }
	lethetest.Must(t, errors.Join( // what takes a bad day, or a long life
		log.Append(event.Line(now, event.Hint{N: 900, Why: "inbound", Refs: []string{original.String()}}, to(hint))),
		log.Append(event.Line(now, event.Result{ID: "e900.1", Tool: "UNCOMPACT", Status: "ok", Opened: original.String()}, to(original))),
		log.Append(event.Line(now, event.Grant{Hash: original.String(), By: "ann"})),
		log.Append(event.Line(now, event.Error{ID: "k90", What: "model", Failure: "transient", Text: "away"})),
		log.Append(event.Line(now, event.Paused{ID: "k91", Why: "no money"})),
		log.Append(event.Line(now, event.Model{ID: "k92", Use: "m", Text: "asked"})),
		log.Append(event.Line(now, event.Resumed{Version: "1", Why: "asked"})),
		log.Append(event.Line(now, event.Moved{Custody: 1})),
		log.Append(event.Line(now, event.Received{Custody: 1, Key: "k"})),
		log.Append(event.Line(now, event.Sealed{Size: 1, Root: "r", Key: "k", Sig: "s"})),
		log.Append(event.Line(now, event.Erased{Why: "erased"})),
		log.Append(event.Line(now, event.Labelled{Label: "before"})),
		log.Append(event.Line(now, event.Readers{Room: "dev", People: event.People{Names: []string{"ann"}}})),
		log.Append(event.Line(now, event.Audience{People: event.People{Names: []string{"ann"}}})),
		log.Append(event.Line(now, event.Adopted{Agent: "codex", Session: "s", Entries: 1}, to(original))),
		log.Append(event.Line(now, event.Shelved{Agents: []string{"codex"}, Sessions: 1}, to(hint))),
		log.Close()))
	kinds, types := map[string]bool{}, map[string]bool{}
	lethetest.Must(t, life.Scan(w.id.LIFE(), func(e life.Event, _ int64) error { kinds[e.Kind] = true; return nil }))
	for _, m := range regexp.MustCompile("(?m)^### `(.+)`$").FindAllStringSubmatch(lethetest.Page(t, "life.md"), -1) {
		if !kinds[m[1]] {
			t.Errorf("the life has no %s", m[1])
		}
	}
	page := lethetest.Page(t, "api.md")
	all := resumes(t, store, w.log())
	for e, ok := next(w.seen); ok; e, ok = next(w.seen) {
		types[e.Type] = true
	}
	for _, e := range all {
		types[e.Type] = true
		if e.Type == events.Error && e.Why == "unknown" {
			t.Errorf("not mapped: %+v", e)
		}
		if e.Words() == "" || strings.Contains(e.Words(), "\x1b") {
			t.Errorf("%+v in words: %q", e, e.Words())
		}
	}
	for _, kind := range regexp.MustCompile("(?m)^- `([a-z.]+)`(?:, `([a-z.]+)`)?(?:, "+
		"`([a-z.]+)`)?: ").FindAllStringSubmatch(page[strings.Index(page, "## Types"):], -1) {
		for _, kind := range kind[1:] {
			if !types[kind] && kind != "" && !strings.HasSuffix(kind, ".delta") && kind != events.ToolOutput {
				t.Errorf("no %s came", kind)
			}
			if kind != "" && !slices.Contains(events.Types, kind) {
				t.Errorf("Types lacks %s", kind)
			}
			delete(types, kind)
		}
	}
	for kind := range types {
		t.Errorf("the page does not have the type %s", kind)
	}
	for f := range reflect.TypeFor[events.Event]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not have the member %s", name)
		}
	}
}

func next(seen chan events.Event) (e events.Event, ok bool) {
	select {
	case e = <-seen:
		return e, true
	default:
		return e, false
	}
}
