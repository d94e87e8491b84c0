package lives

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
	"lethe/life"
)

// shares returns a host that shares a life, the life, and its segments.
func shares(f *testing.F, store *memstore.Store) (*host, home.Identity, []string) {
	f.Helper()
	a := newHost(f, store, nil, "a")
	ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(f, err)
	lethetest.Write(f, filepath.Join(ada.Dir, "MEMORY.md"), "remember\n")
	lethetest.Write(f, filepath.Join(ada.Dir, "workspace", "a b.txt"), "work\n")
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(f, j.Commit(note("small")))
		lethetest.Must(f, j.Epoch("stop", nil))
	})
	var segments []string
	_, err = a.Streams.Each(context.Background(), Stream(ada.Self), streams.At{}, func(_ int, text []byte, err error) error {
		segments = append(segments, string(text))
		return err
	})
	lethetest.Must(f, err)
	return a, ada, segments
}

// What this host keeps of a shared life may be of any bytes.
func FuzzFiles(f *testing.F) {
	a, ada, _ := shares(f, memstore.New())
	ctx := context.Background()
	log, place := lethetest.Read(f, ada.LIFE()), lethetest.Read(f, positionFile(ada))
	list := blobs.Sum([]byte("work\n")).String() + " 600 a b.txt\n"
	lethetest.FuzzReaders(f, ada.Dir, lethetest.Reader{
		Name: "shared.json", File: "shared.json",
		Seeds: []string{
			place, strings.Replace(place, `"n":`, `"n":-`, 1), strings.Replace(place, `"id":"a"`, `"id":"b"`, 1),
			`{"n":1,"mark":{"offset":-1}}`, `{"n":9223372036854775807}`, `{"n":2,"gen":1,"host":{"id":"b"},"mark":{"offset":9223372036854775807}}`,
			`{"n":1,"host":{"id":"b"},"mark":{"offset":7,"sum":"x"},"files":{"../x":"00"},"stale":{"x ../../y":true}}`,
		},
		Read: func(t testing.TB) error {
			lethetest.Must(t, os.WriteFile(ada.LIFE(), []byte(log), 0o600))
			torn, _ := filepath.Glob(ada.LIFE() + ".torn*")
			for _, path := range torn {
				lethetest.Must(t, os.Remove(path))
			}
			tenure, err := a.Lives.Hold(ctx, ada, a.store)
			if err != nil {
				return err
			}
			return tenure.Check(ctx)
		},
	}, lethetest.Reader{
		Name: "workspace.list", File: "workspace.list",
		Seeds: []string{
			list, list + list, list[:70], "x 777 y\n",
			strings.Replace(list, "a b", "../a", 1), strings.Replace(list, "600", "-1", 1),
		},
		Read: func(t testing.TB) error {
			tenure := a.tenure(ctx, ada, a.store)
			defer tenure.close()
			if err := tenure.storeWorkspace(ctx); err != nil {
				return err
			}
			tenure.passOver()
			return tenure.workspace.restore([]byte(lethetest.Read(t, filepath.Join(ada.Dir, "workspace.list"))), tenure.at.Stale,
				func(h blobs.Hash) ([]byte, error) { return tenure.large(ctx, h) })
		},
	})
}

// A segment of a store that is not sealed may be of any bytes: it is refused, or written nowhere but where a life is.
func FuzzSegment(f *testing.F) {
	store := memstore.New()
	_, ada, segments := shares(f, store)
	for _, text := range append(segments, "", "{}\n0\n") {
		f.Add([]byte(text))
		f.Add([]byte(strings.Replace(text, `"offset":`, `"offset":9`, 1)))
		f.Add([]byte(strings.Replace(text, `"offset":`, `"offset":-9`, 1)))
		f.Add([]byte(strings.Replace(text, `MEMORY.md`, `../../key`, 1)))
		f.Add([]byte(strings.Replace(text, `"blobs":`, `"blobs":9223372036854775807`, 1)))
	}
	b := newHost(f, store, nil, "b")
	id := b.Home.Identity(ada.Self, "ada")
	around := func(t *testing.T) (names string) {
		for _, dir := range []string{b.Home.Dir, b.Home.Agents()} {
			entries, err := os.ReadDir(dir)
			lethetest.Must(t, err)
			for _, e := range entries {
				names += e.Name() + "\n"
			}
		}
		return names
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decode(text)
		if err != nil {
			return
		}
		if again, err := decode(s.encode()); err != nil || len(again.Texts) != len(s.Texts) || len(again.Files) != len(s.Files) {
			t.Fatalf("%q is %+v and then %+v, %v", text, s, again, err)
		}
		lethetest.Must(t, os.RemoveAll(id.Dir))
		lethetest.Must(t, os.MkdirAll(id.Dir, 0o700))
		before := around(t)
		for range 2 { // done again it ends the same
			tenure := b.tenure(context.Background(), id, b.store)
			tenure.files.known = map[string]blobs.Hash{}
			if err := tenure.apply(context.Background(), s); err == nil && len(s.Lines) > 0 && !s.Begins {
				lethetest.Must(t, life.Scan(id.LIFE(), func(life.Event, int64) error { return nil }))
			}
			tenure.close()
		}
		if after := around(t); after != before {
			t.Fatalf("%q makes\n%s\nof\n%s", text, after, before)
		}
	})
}
