package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
func family(t *testing.T) (h Home, ids map[string]Identity) {
	h, err := Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	ids = map[string]Identity{}
	for i, name := range []string{"ada", "ada-1", "ada-2", "bea"} {
		o := BootOptions{Name: name, Rooms: []string{"dev"}}
		if i == 1 || i == 2 {
			parent, _ := blobs.ParseHash(ids[[]string{"ada", "ada-1"}[i-1]].Self)
			o.Child = &Child{At: time.Now(), Parent: parent, Of: "ada", Room: "task-1"}
		}
		ids[name], err = Boot(h, store, o)
		lethetest.Must(t, err)
	}
	return h, ids
}

// left are the names and links of a home, and what stands beside identities and rooms.
func left(t *testing.T, h Home) string {
	all, err := h.List()
	lethetest.Must(t, err)
	var names []string
	for _, id := range all {
		rooms, _ := chat.Rooms(id.Subs())
		names = append(names, id.Name+":"+strings.Join(rooms, ","))
	}
	links, _ := os.ReadDir(h.Names())
	for _, l := range links {
		names = append(names, l.Name())
	}
	dirs, rooms := h.unfinished()
	return strings.Join(slices.Concat(names, dirs, rooms, chat.All(h.Dir)), " ")
}

// An identity is removed with its children and their names; others, blobs and rooms stay. A room is removed with what
// leads to it. Killed at any step, all is there as before, or gone when the home was next opened.
func TestRemoveKilledAtAnyStep(t *testing.T) {
	const whole = "ada:dev ada-1:dev ada-2:dev bea:dev ada ada-1 ada-2 bea dev"
	first, ids := family(t)
	closed := filepath.Join(ids["ada"].Dir, "workspace", "mod")
	lethetest.Write(t, filepath.Join(closed, "x"), "x")
	lethetest.Must(t, os.Chmod(closed, 0o500)) // as Go's cache of modules is
	before, _ := filepath.Glob(filepath.Join(first.Blobs(), "*", "*"))
	texts := len(before)
	for _, test := range []struct {
		gone   string
		remove func(Home) error
	}{
		{"bea:dev bea dev", func(h Home) error { return h.Remove(h.Identity(ids["ada"].Self, "ada")) }},
		{"ada: ada-1: ada-2: bea: ada ada-1 ada-2 bea", func(h Home) error { return h.RemoveRoom("dev") }},
	} {
		killed := func(kill int, stage durable.Stage) (steps int) {
			h := Home{Dir: t.TempDir()}
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
			_, oerr := Open(h.Dir)
			if got := left(t, h); oerr != nil || (err == nil) != (steps < kill) || got != test.gone && (got != whole || err == nil) {
				t.Errorf("killed %s step %d: %v\nleft: %s, %v", stage, kill, err, got, oerr)
			}
			if after, _ := filepath.Glob(filepath.Join(h.Blobs(), "*", "*")); len(after) != texts {
				t.Error("blobs went, too")
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

// What runs is not removed, nor whom it works for; what goes and what stays is told before.
func TestRemoval(t *testing.T) {
	h, ids := family(t)
	lethetest.Write(t, filepath.Join(ids["ada-2"].Dir, "workspace", "note"), "twelve bytes")
	before := left(t, h)
	r, err := h.Removal(ids["ada"])
	lethetest.Must(t, err)
	if !slices.Equal(r.Children, []string{"ada-1", "ada-2"}) || !slices.Equal(r.Rooms, []string{"dev"}) || r.Files < 10 || r.Bytes < 12 {
		t.Errorf("%+v", r)
	}
	lock, err := Lock(ids["ada-2"])
	lethetest.Must(t, err)
	var running *RunningError
	if err := h.Remove(ids["ada"]); !errors.As(err, &running) || running.Identity.Name != "ada-2" || left(t, h) != before {
		t.Errorf("%v, left: %s", err, left(t, h))
	}
	lock.Close()
	lethetest.Must(t, h.Remove(ids["ada-1"])) // a child by itself
	if got := left(t, h); got != "ada:dev bea:dev ada bea dev" {
		t.Error(got)
	}
	for _, room := range []string{"nowhere", "../dev", ""} {
		if err := h.RemoveRoom(room); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", room, err)
		}
	}
}
