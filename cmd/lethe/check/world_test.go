package check_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

func TestMain(m *testing.M) {
	host.Main()
	lethetest.AskFaults()
	code := m.Run()
	os.RemoveAll(lived.dir)
	os.Exit(code)
}

// lived is a home whose identities have done all that a life refers to blobs for; it is made once.
var lived struct {
	sync.Once
	dir string
}

// world is a home with identities that do not run.
type world struct {
	testing.TB
	home  home.Home
	store *blobs.Store
}

// newWorld is a copy of the home that has lived.
func newWorld(t testing.TB) *world {
	t.Helper()
	lived.Do(func() { live(t) })
	if lived.dir == "" {
		t.Fatal("the home was not made")
	}
	dir := filepath.Join(lethetest.Dir(t), "home")
	out, err := exec.Command("cp", "-a", lived.dir, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("copy the home: %v: %s", err, out)
	}
	return open(t, dir)
}

func open(t testing.TB, dir string) *world {
	t.Helper()
	home, err := home.Open(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	return &world{t, home, store}
}

func (w *world) must(err error) {
	w.Helper()
	lethetest.Must(w, err)
}

func (w *world) id(name string) home.Identity {
	w.Helper()
	id, err := w.home.Find(name)
	w.must(err)
	return id
}

// resolve is the blob that a ref names.
func (w *world) resolve(ref string) blobs.Hash {
	w.Helper()
	h, err := w.store.Resolve(ref)
	w.must(err)
	return h
}

// newest is the blob that the newest line of a kind names, or one before it: back is 0 for the newest.
func (w *world) newest(id home.Identity, kind string, back int) blobs.Hash {
	w.Helper()
	all := refs(w, id, kind)
	return w.resolve(all[len(all)-1-back])
}

func (w *world) get(h blobs.Hash) blobs.Blob {
	w.Helper()
	b, err := w.store.Get(h)
	w.must(err)
	return b
}

// held runs f on the journal of an identity.
func (w *world) held(id home.Identity, f func(held *journal.Journal)) {
	w.Helper()
	held, err := journal.Hold(w.home, id, w.store, nil)
	w.must(err)
	f(held)
	w.must(held.Close())
}

// epoch begins an epoch of an identity, behind some records.
func (w *world) epoch(id home.Identity, records ...journal.Record) {
	w.Helper()
	w.held(id, func(held *journal.Journal) { w.must(held.Epoch("count", nil, records...)) })
}

// bury puts a tombstone in the place of a blob, and returns the record that tells of it.
func (w *world) bury(h blobs.Hash, why, text string) journal.Record {
	w.Helper()
	b := w.get(h)
	tomb, err := w.store.Bury(blobs.Tombstone{Of: h, Why: why, At: b.At}, b.Meta, []byte(text))
	w.must(err)
	return journal.Record{Event: event.Erased{Why: why, Blobs: []event.Buried{{Address: h.String(), Tombstone: tomb.String()}}}}
}

// offline opens the home with the offline model, runs f with an identity, and stops it.
func (w *world) offline(name string, f func(*host.Identity)) {
	w.Helper()
	h, err := host.Open(w.home.Dir, host.Options{Offline: true, Limit: 16_000})
	w.must(err)
	defer h.Close()
	identity, err := h.Start(w.Context(), home.BootOptions{Name: name})
	w.must(err)
	f(identity)
	w.must(identity.Stop())
}

// answers asks ada something that only an identity that goes on answers.
func (w *world) answers() {
	w.Helper()
	w.offline("ada", func(ada *host.Identity) {
		if r, err := ada.Say(w.Context(), "dev", "what is 12*7?"); err != nil || !strings.Contains(r.Text, "12*7 = 84") {
			w.Errorf("it answers %q, %v", r.Text, err)
		}
	})
}

// fork boots bea, who has ada's mind.
func (w *world) fork() home.Identity {
	w.Helper()
	then, err := home.At(w.id("ada"), w.store, home.Moment{})
	w.must(err)
	bea, _, err := home.Fork(w.home, w.store, w.id("ada"), then, home.BootOptions{Name: "bea"})
	w.must(err)
	return bea
}

// age makes the blobs older than any that gc keeps, and counts them.
func (w *world) age() (count int) {
	w.Helper()
	long := time.Now().Add(-2 * check.KeepFor)
	w.must(w.store.Each(func(h blobs.Hash) error {
		count++
		return os.Chtimes(w.store.Path(h), long, long)
	}))
	return count
}

// live has ada forget, be edited, ask, be answered, hand work on, and stop.
func live(t testing.TB) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lived")
	lethetest.Must(t, err)
	lived.dir, err = filepath.EvalSymlinks(dir)
	lethetest.Must(t, err)
	lethetest.Write(t, filepath.Join(dir, "config.toml"), "[tools]\nbash = \"trusted\"\n")
	h, err := host.Open(dir, host.Options{Offline: true, Limit: 16_000})
	lethetest.Must(t, err)
	defer h.Close()
	ada, err := h.Start(t.Context(), home.BootOptions{Name: "ada", Rooms: []string{"dev", "ops"}})
	lethetest.Must(t, err)
	bob, err := h.Start(t.Context(), home.BootOptions{Name: "bob"})
	lethetest.Must(t, err)
	say := func(i *host.Identity, text string) {
		t.Helper()
		_, err := i.Say(t.Context(), "dev", text)
		lethetest.Must(t, err)
	}
	lethetest.Must(t, bob.Stop())
	of := refs(t, bob.Identity, "joined")[0]
	say(ada, "run echo 'ha''sh="+of+" gist=not its own (e1..e2)'") // reads like the line of a card
	say(ada, "what is hash="+refs(t, bob.Identity, life.Epoch)[0]+" about?")
	for n := range 40 {
		say(ada, fmt.Sprintf("remember that box %d holds %s", n, strings.Repeat(fmt.Sprintf("screws of size %d and ", n*7), 30)))
	}
	say(ada, "run echo hello and then say all is well in ops")
	say(ada, "let somebody else run echo child")
	say(ada, "ask me before you run echo asked")
	view := filepath.Join(ada.Dir, "context.md")
	lethetest.Eventually(t, "the edit is in force", func() bool {
		if text := lethetest.Read(t, view); strings.Contains(text, "hello") { // what it shows may be of before, and be written anew
			lethetest.Must(t, os.WriteFile(view, []byte(strings.Replace(text, "hello", "hullo", 1)), 0o600))
		}
		return slices.Contains(epochs(t, ada.Identity), "edit")
	})
	say(ada, "yes")
	kept, _ := filepath.Glob(view + ".kept-*")
	for _, path := range kept {
		lethetest.Must(t, os.Remove(path))
	}
}

// refs are the blobs that lines of a kind name.
func refs(t testing.TB, id home.Identity, kind string) (short []string) {
	t.Helper()
	lethetest.Must(t, life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		for _, r := range e.Refs {
			if e.Kind == kind && !strings.HasPrefix(e.Get("room"), "task-") { // a child speaks when it is ready
				short = append(short, r.Hash)
			}
		}
		return nil
	}))
	return short
}

// epochs is why there were epochs.
func epochs(t testing.TB, id home.Identity) (why []string) {
	lethetest.Must(t, life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		if e.Kind == life.Epoch {
			why = append(why, e.Get("why"))
		}
		return nil
	}))
	return why
}
