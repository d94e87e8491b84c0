package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
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

func (w *world) id(name string) home.Identity {
	w.Helper()
	id, err := w.home.Find(name)
	lethetest.Must(w, err)
	return id
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
