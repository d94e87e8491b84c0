package lives

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share"
	"lethe/cmd/lethe/check"
	"lethe/cmd/lethe/erase"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

const secret = "the word is marzipan"

// left lists where the secret stands.
func left(t *testing.T, store *memstore.Store, hosts ...*host) (places []string) {
	t.Helper()
	names, err := store.List(t.Context(), "")
	lethetest.Must(t, err)
	for _, name := range names {
		newest, _ := store.Newest(t.Context(), name, 0)
		for n := range newest + 1 {
			if bytes.Contains(store.Bytes(name, n), []byte(secret)) {
				places = append(places, name)
			}
		}
	}
	for _, h := range hosts {
		err := filepath.WalkDir(h.Home.Dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.Contains(lethetest.Read(t, path), secret) {
				places = append(places, path)
			}
			return err
		})
		lethetest.Must(t, err)
	}
	return places
}

func (h *host) mirrors(id home.Identity) {
	h.Helper()
	lethetest.Must(h, os.MkdirAll(h.Home.Identity(id.Self, id.Name).Dir, 0o700))
	if _, err := h.hold(id); !errors.As(err, new(*home.ElsewhereError)) {
		h.Fatalf("it cannot be read: %v", err)
	}
}

// An erasure that is cut short at any step leaves a life that can be read. When it has ended, nothing of the text is in
// the store, nor, when they look, at other hosts.
func TestErasedCutShort(t *testing.T) {
	t.Parallel()
	for k, ended := 0, false; !ended; k += lethetest.Sample(7, 3, 1) {
		store := memstore.New()
		a, b := newHost(t, store, nil, "a"), newHost(t, store, nil, "b")
		c, d := newHost(t, store, nil, "c"), newHost(t, store, nil, "d")
		ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada"})
		lethetest.Must(t, err)
		large := strings.Repeat("large ", 100_000) + secret
		lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), large+"\n")
		lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "work"), secret+"\n")
		lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "more"), "work\n")
		a.held(ada, func(j *journal.Journal) {
			a.notes(j, secret, large)
			lethetest.Must(t, j.Stop("request"))
		})
		lethetest.Must(t, b.take(ada))
		there := b.Home.Identity(ada.Self, "ada")
		for _, name := range []string{"LIFE.md.torn-1", "MEMORY.md.here", "jobs/1/log"} {
			lethetest.Write(t, filepath.Join(there.Dir, name), secret)
		}
		lethetest.Must(t, a.take(ada))
		a.held(ada, func(*journal.Journal) {})
		lethetest.Write(t, filepath.Join(ada.Dir, "jobs", "1", "log"), "stays\n")
		position := lethetest.Read(t, positionFile(ada))
		f, err := erase.Find(a.Home, a.store, ada, erase.Request{Text: secret, Workspace: true})
		lethetest.Must(t, err)
		lethetest.Must(t, f.Plan.Save(ada.Dir))
		looked := false
		cuts(store, k/2, k%2 == 1, func(op, stream string) bool {
			if op == "create" && strings.HasSuffix(stream, "/packs") && !looked {
				looked = true
				d.mirrors(ada) // the last one that reads what is to go
			}
			return op == "create" || op == "drop" || op == "delete"
		})
		err = journal.FinishErasure(a.Home, ada, a.Lives.Log)
		store.Fault = nil
		if ended = err == nil; !ended {
			if !errors.Is(err, share.ErrAway) {
				t.Fatal(err)
			}
			c.mirrors(ada)
			lethetest.Must(t, os.WriteFile(positionFile(ada), []byte(position), 0o600)) // it was killed
			lethetest.Must(t, journal.FinishErasure(a.Home, ada, a.Lives.Log))
		}
		if places := left(t, store, a); len(places) > 0 {
			t.Fatalf("cut %d: it stands in %q", k, places)
		}
		b.mirrors(ada)
		c.mirrors(ada)
		d.mirrors(ada)
		lethetest.Holds(t, filepath.Join(ada.Dir, "jobs", "1", "log"), "stays\n")
		if places := left(t, store, b, c, d); len(places) > 0 {
			t.Fatalf("cut %d: it stands in %q", k, places)
		}
		lethetest.Must(t, b.take(ada))
		b.held(ada, func(j *journal.Journal) { b.notes(j, "it goes on") })
		b.sound(ada, "large large", "it goes on")
		lethetest.Holds(t, filepath.Join(there.Dir, "workspace", "more"), "work\n")
		if memory := lethetest.Read(t, filepath.Join(there.Dir, "MEMORY.md")); !strings.HasPrefix(memory, "large ") {
			t.Fatalf("cut %d: it has no MEMORY", k)
		}
	}
}

// Whoever takes a life ends an erasure of it that its host did not live to end, once. Where the plan did not reach the
// store, that host says so, and ends the erasure with the life.
func TestErasedTakenOver(t *testing.T) {
	t.Parallel()
	for k, ended := 0, false; !ended; k += lethetest.Sample(5, 2, 1) {
		store := memstore.New()
		a, b, c := newHost(t, store, nil, "a"), newHost(t, store, nil, "b"), newHost(t, store, nil, "c")
		ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada"})
		lethetest.Must(t, err)
		lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), secret+"\n")
		a.held(ada, func(j *journal.Journal) { a.notes(j, secret, strings.Repeat("large ", 100_000)+secret) })
		lethetest.Must(t, b.take(ada))
		there := b.Home.Identity(ada.Self, "ada")
		lethetest.Write(t, filepath.Join(there.Dir, "jobs", "1", "log"), secret)
		lethetest.Write(t, filepath.Join(there.Dir, ".tmp-1"), secret) // a process died before it had its name
		died := filepath.Join(b.Home.Blobs(), "abc", ".tmp-2")
		lethetest.Write(t, died, secret)
		lethetest.Must(t, os.Chtimes(died, time.Time{}, time.Now().Add(-time.Hour)))
		lethetest.Must(t, a.take(ada))
		a.held(ada, func(*journal.Journal) {})
		c.mirrors(ada)
		position := lethetest.Read(t, positionFile(ada))
		cuts(store, k/2, k%2 == 1, func(op, stream string) bool { return op == "create" || op == "drop" || op == "delete" })
		var decided error
		a.held(ada, func(j *journal.Journal) {
			f, err := erase.Find(a.Home, a.store, ada, erase.Request{Text: secret})
			lethetest.Must(t, err)
			decided = j.Decide(f.Plan)
		})
		if decided == nil {
			decided = journal.FinishErasure(a.Home, ada, a.Lives.Log)
		}
		store.Fault = nil
		ended = decided == nil
		if k%3 == 0 {
			lethetest.Must(t, os.WriteFile(positionFile(ada), []byte(position), 0o600)) // it was killed
		}
		lethetest.Must(t, b.take(ada))
		b.held(ada, func(j *journal.Journal) { b.notes(j, "it goes on") })
		err = journal.FinishErasure(a.Home, ada, a.Lives.Log)
		if k == 0 { // the plan did not reach the store
			if err == nil || !strings.Contains(err.Error(), "lethe take ada ends it") {
				t.Fatalf("what is to be done is not told: %v", err)
			}
			lethetest.Must(t, a.take(ada))
			a.held(ada, func(*journal.Journal) {})
			b.mirrors(ada)
		} else if err != nil {
			t.Fatalf("cut %d: %v", k, err)
		}
		c.mirrors(ada)
		if places := left(t, store, a, b, c); len(places) > 0 {
			t.Fatalf("cut %d: it stands in %q", k, places)
		}
		for _, h := range []*host{a, b, c} {
			if id := h.Home.Identity(ada.Self, "ada"); id.Erasing() != nil {
				t.Fatalf("cut %d: %s does not know that it has ended", k, h.Host.Label)
			}
		}
		if k == 0 {
			lethetest.Must(t, b.take(ada))
			b.held(ada, func(*journal.Journal) {})
		}
		b.sound(ada, "large large", "it goes on")
		if told := strings.Count(lethetest.Read(t, there.LIFE()), "something was erased"); told != 1 {
			t.Fatalf("cut %d: it is told %d times", k, told)
		}
	}
}

// A check says which lives are mirrors, and finds no fault with them.
func TestCheckMirror(t *testing.T) {
	t.Parallel()
	_, a, b, ada := two(t)
	a.held(ada, func(j *journal.Journal) {
		a.notes(j, "one")
		lethetest.Must(t, j.Stop("request"))
	})
	b.mirrors(ada)
	r, err := check.Home(b.Home, b.store, check.Options{})
	if err != nil || len(r.Findings) > 0 || len(r.Proofs) != 1 || !r.Proofs[0].Mirror {
		t.Errorf("%+v, %v", r, err)
	}
}

// A bucket that lost what is old, as by a rule that expires it, has it again at the next opening.
func TestStoreLostTheBeginning(t *testing.T) {
	t.Parallel()
	a := newHost(t, memstore.New(), nil, "a")
	ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	a.held(ada, func(j *journal.Journal) {
		a.Streams.Store = memstore.New()
		a.notes(j, "one")
	})
	a.held(ada, func(*journal.Journal) {})
	b := newHost(t, a.Streams.Store, nil, "b")
	lethetest.Must(t, b.take(ada))
	b.sound(ada, "one")
}
