package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	lethetest.AskFaults()
	m.Run()
}

// family boots ada, whom ada-1 works for, and ada-2 for that one, and bea, whose name ada's begins like. All hear dev.
func family(t *testing.T) (h home.Home, ids map[string]home.Identity) {
	h, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	ids = map[string]home.Identity{}
	for i, name := range []string{"ada", "ada-1", "ada-2", "bea"} {
		o := home.BootOptions{Name: name, Rooms: []string{"dev"}}
		if i == 1 || i == 2 {
			parent, _ := blobs.ParseHash(ids[[]string{"ada", "ada-1"}[i-1]].Self)
			o.Child = &home.Child{At: time.Now(), Parent: parent, Of: "ada", Room: "task-1"}
		}
		ids[name], err = home.Boot(h, store, o)
		lethetest.Must(t, err)
	}
	return h, ids
}

// left are the identities of a home with what they hear, their names, what is not gone yet, and the rooms.
func left(t *testing.T, h home.Home) string {
	all, err := h.List()
	if err != nil {
		t.Error(err)
	}
	var there []string
	for _, id := range all {
		rooms, _ := chat.Rooms(id.Subs())
		there = append(there, id.Name+":"+strings.Join(rooms, ","))
	}
	for _, dir := range []string{h.Names(), h.Agents(), h.Chats()} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if len(e.Name()) != 64 {
				there = append(there, e.Name())
			}
		}
	}
	return strings.Join(there, " ")
}

// An identity is removed with its children and their names; others, texts and rooms stay. A room is removed with what
// leads to it. Killed at any step, each is there as before, or gone when the home was next opened, and the same call
// goes on.
func TestRemoveKilledAtAnyStep(t *testing.T) {
	first, ids := family(t)
	store, err := blobs.Open(first.Blobs())
	lethetest.Must(t, err)
	lethetest.Must(t, ids["ada"].Start(true, ""))
	lethetest.Must(t, chat.About{Title: "The build"}.Write(first.Dir, "dev"))
	closed := filepath.Join(ids["ada"].Dir, "workspace", "mod")
	lethetest.Write(t, filepath.Join(closed, "x"), "x")
	lethetest.Must(t, os.Chmod(closed, 0o500)) // as Go's cache of modules is
	texts, _ := filepath.Glob(filepath.Join(first.Blobs(), "*", "*"))
	for _, test := range []struct {
		states []string // in their order
		remove func(home.Home) error
	}{
		{[]string{
			"ada:dev ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea dev.md dev.toml", "ada:dev ada-1:dev bea:dev ada ada-1 bea dev.md dev.toml",
			"ada:dev bea:dev ada bea dev.md dev.toml", "bea:dev bea dev.md dev.toml",
		}, func(h home.Home) error { return h.Remove(store, h.Identity(ids["ada"].Self, "ada")) }},
		{[]string{
			"ada:dev ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea dev.md dev.toml",
			"ada:dev ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea dev.toml",
			"ada:dev ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea",
			"ada: ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea", "ada: ada-1: ada-2:dev bea:dev ada ada-1 ada-2 bea",
			"ada: ada-1: ada-2: bea:dev ada ada-1 ada-2 bea", "ada: ada-1: ada-2: bea: ada ada-1 ada-2 bea",
		}, func(h home.Home) error { return h.RemoveRoom("dev") }},
	} {
		killed := func(kill int, stage durable.Stage) (steps int) {
			h := home.Home{Dir: t.TempDir()}
			lethetest.Must(t, os.CopyFS(h.Dir, os.DirFS(first.Dir)))
			mended := lethetest.Break(t, h.Dir, func(at durable.Stage, _, _ string) error {
				if at == stage {
					steps++
				}
				if steps >= kill {
					return errors.New("killed")
				}
				return nil
			})
			err := test.remove(h)
			mended()
			_, oerr := home.Open(h.Dir)
			state := slices.Index(test.states, left(t, h))
			if oerr != nil || (err == nil) != (steps < kill) || state < 0 || err == nil && state < len(test.states)-1 {
				t.Errorf("killed %s step %d: %v\nleft: %s, %v", stage, kill, err, left(t, h), oerr)
			}
			if err = test.remove(h); state >= 0 && state < len(test.states)-1 && (err != nil || left(t, h) != test.states[len(test.states)-1]) {
				t.Errorf("killed %s step %d, done again: %v\nleft: %s", stage, kill, err, left(t, h))
			}
			if after, _ := filepath.Glob(filepath.Join(h.Blobs(), "*", "*")); len(after) != len(texts) {
				t.Error("texts went, too")
			}
			return steps
		}
		var all sync.WaitGroup // their syncs go side by side
		for kill := range killed(1000, durable.Before) {
			all.Go(func() { killed(kill+1, durable.Before) })
			all.Go(func() { killed(kill+1, durable.After) })
		}
		all.Wait()
	}
}

// What runs is not removed, nor whom it works for. A child can go by itself.
func TestRemoveRefuses(t *testing.T) {
	h, ids := family(t)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	before := left(t, h)
	lock, err := home.Lock(ids["ada-2"])
	lethetest.Must(t, err)
	var running *home.RunningError
	if err := h.Remove(store, ids["ada"]); !errors.As(err, &running) || running.Identity.Name != "ada-2" || left(t, h) != before {
		t.Errorf("%v, left: %s", err, left(t, h))
	}
	lock.Close()
	lethetest.Must(t, h.Remove(store, ids["ada-1"]))
	if got := left(t, h); got != "ada:dev bea:dev ada bea dev.md" {
		t.Error(got)
	}
	lethetest.Write(t, filepath.Join(h.Dir, "dev.md"), "no room")
	for _, room := range []string{"nowhere", "", "../dev"} {
		if err := h.RemoveRoom(room); err == nil {
			t.Errorf("room %q was removed", room)
		}
	}
	lethetest.Holds(t, filepath.Join(h.Dir, "dev.md"), "no room")
}

// A room that is made again belongs to nobody: the readers of the one before it are gone, too.
func TestRemovedRoomKeepsNoReaders(t *testing.T) {
	h := home.Home{Dir: t.TempDir()}
	lethetest.Write(t, h.Room("ann"), "")
	lethetest.Must(t, chat.About{Readers: []string{"ann"}}.Write(h.Dir, "ann"))
	lethetest.Must(t, h.RemoveRoom("ann"))
	if h.Readers("ann") != nil || h.Apart() {
		t.Errorf("readers: %v", h.Readers("ann"))
	}
}
