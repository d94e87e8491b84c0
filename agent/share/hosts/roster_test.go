package hosts

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

// mirror has a host have a copy of a life that another one has.
func (h *host) mirror(id home.Identity) home.Identity {
	h.Helper()
	here := h.home.Identity(id.Self, id.Name)
	lethetest.Must(h, os.MkdirAll(here.Dir, 0o700))
	if _, err := journal.Hold(h.home, here, h.store, nil); !errors.As(err, new(*home.ElsewhereError)) {
		h.Fatalf("the life of another host: %v", err)
	}
	return here
}

// A life that was removed is begun anew by no host, and goes from the disks of all, but not while it runs there.
func TestRemoved(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		ada := a.boot("ada")
		lethetest.Must(t, b.Sync(t.Context()))
		here := b.mirror(ada)
		lethetest.Must(t, a.home.Remove(a.store, ada))
		for n := 1; n <= 9; n++ {
			text, err := a.streams.Get(t.Context(), lives.Stream(ada.Self), n)
			if err == nil && !strings.Contains(string(text), `"begins":true`) {
				t.Errorf("segment %d is there: %.99s", n, text)
			}
		}
		if _, err := b.Take(t.Context(), "ada"); !errors.Is(err, home.ErrNotFound) {
			t.Errorf("taken: %v", err)
		}
		for _, err := range []error{b.lives.Take(t.Context(), here, b.store, ""), a.lives.End(t.Context(), ada)} {
			if err != nil && !errors.Is(err, home.ErrNotFound) {
				t.Errorf("%v", err)
			}
		}
		if _, err := journal.Hold(b.home, here, b.store, nil); !errors.Is(err, home.ErrNotFound) {
			t.Errorf("opened: %v", err)
		}
		lock, err := home.Lock(here)
		lethetest.Must(t, err)
		defer b.serve()()
		lethetest.Eventually(t, "it is stopped first", func() bool { return home.Asked(here, home.WishStop) })
		if _, err := os.Stat(here.LIFE()); err != nil {
			t.Errorf("removed while it runs: %v", err)
		}
		lock.Close()
		lethetest.Must(t, a.tell(t.Context(), askedRoom, asked{}))
		lethetest.Eventually(t, "b has no copy", func() bool {
			_, err := os.Stat(here.Dir)
			return errors.Is(err, os.ErrNotExist)
		})
	})
}

// A life that has come back is run again.
func TestTakenTwice(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		defer b.serve()()
		for n := 1; n <= 2; n++ {
			lethetest.Eventually(t, "b runs ada", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return len(b.ran) == n
			})
			kill := a.serve()
			_, err := a.Take(t.Context(), "ada")
			lethetest.Must(t, err)
			lethetest.Eventually(t, "b knows", func() bool {
				b.standing.mu.Lock()
				defer b.standing.mu.Unlock()
				return b.standing.seen[b.all()[0].Self] != started
			})
			kill()
		}
	})
}

func (h *host) all() []Life {
	all, err := h.Lives()
	lethetest.Must(h, err)
	return all
}

// What was not told when a life was taken is told when it is held; and a line counts that was said before.
func TestToldLater(t *testing.T) {
	t.Parallel()
	a := first(t)
	b := a.beside("b")
	ada := a.boot("ada")
	lethetest.Must(t, b.Sync(t.Context()))
	b.lives.OnTaken = func(home.Identity, streams.Host, int) {}
	_, err := b.Take(t.Context(), "ada")
	lethetest.Must(t, err)
	lethetest.Must(t, a.Sync(t.Context()))
	if l := a.all()[0]; l.Host.ID != b.Host.ID || l.Custody != 1 {
		t.Errorf("a knows %+v", l)
	}
	for _, host := range []streams.Host{a.Host, b.Host, a.Host} {
		lethetest.Must(t, a.tell(t.Context(), rosterRoom, Life{Self: ada.Self, Name: "ada", Custody: 2, Host: host}))
	}
	if l := a.all()[0]; l.Host.ID != a.Host.ID {
		t.Errorf("the newest does not count: %+v", l)
	}
}

// A host that died when it had taken a life, and had not told, is found by who is said to have it, and by who takes it.
func TestFoundByOthers(t *testing.T) {
	t.Parallel()
	a := first(t)
	b, c := a.beside("b"), a.beside("c")
	ada := a.boot("ada")
	for k, find := range []func(from string) error{
		func(string) error { _, err := journal.Hold(a.home, ada, a.store, nil); return err },
		func(from string) error { _, err := c.take(t.Context(), c.all()[0], from); return err },
	} {
		lethetest.Must(t, errors.Join(b.Sync(t.Context()), c.Sync(t.Context())))
		tells := b.lives.OnTaken
		b.lives.OnTaken = func(home.Identity, streams.Host, int) {}
		id := b.home.Identity(ada.Self, "ada")
		lethetest.Must(t, os.MkdirAll(id.Dir, 0o700))
		lethetest.Must(t, b.lives.Take(t.Context(), id, b.store, ""))
		b.lives.OnTaken = tells
		if err := find(a.Host.ID); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("%d: %v", k, err)
		}
		lethetest.Must(t, c.Sync(t.Context()))
		if l := c.all()[0]; l.Host.ID != b.Host.ID {
			t.Errorf("%d: c knows %+v", k, l)
		}
		_, err := a.Take(t.Context(), "ada")
		lethetest.Must(t, err)
	}
}

// Of two lives that were booted under one name while their hosts were apart, the second one is not shared.
func TestOneName(t *testing.T) {
	t.Parallel()
	a := first(t)
	b := a.beside("b")
	other, err := home.Boot(b.home, b.store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	a.boot("ada")
	_, err = journal.Hold(b.home, other, b.store, nil)
	if err == nil {
		t.Fatal("it is shared")
	}
	lethetest.Words(t, err.Error(), a.Host.Label+" has another life of that name", "lethe fork ada --name NAME")
	if n, err := b.streams.Newest(t.Context(), lives.Stream(other.Self), 0); n > 0 || err != nil {
		t.Errorf("it has a stream: %d, %v", n, err)
	}
	if err := b.alike(home.Identity{Self: other.Self, Name: a.all()[0].Self[:6]}); err != nil {
		t.Errorf("the beginning of a hash is taken for a name: %v", err)
	}
}

// What does not run is shared, too.
func TestSharesWhatDoesNotRun(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		ada, err := home.Boot(a.home, a.store, home.BootOptions{Name: "ada"})
		lethetest.Must(t, err)
		defer a.serve()()
		lethetest.Eventually(t, "it is shared", func() bool { _, told := a.find(ada.Self); return told })
	})
}

// What was erased elsewhere while nothing served here goes from this disk later, once; of what this host has nothing is to go.
func TestRereadLater(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		ada := a.boot("ada")
		here := b.mirror(ada)
		own := b.boot("bob")
		lock, err := home.Lock(own) // it runs
		lethetest.Must(t, err)
		defer lock.Close()
		obeyed := func(self string) (read bool) {
			t.Helper()
			j, err := journal.Hold(a.home, ada, a.store, nil)
			lethetest.Must(t, err)
			lethetest.Must(t, errors.Join(j.Commit(journal.Told(event.Note{Why: "lost"}, "more", "more")), j.Close()))
			lethetest.Must(t, a.tell(t.Context(), askedRoom, asked{Reread: self, From: a.Host.ID}))
			lethetest.Must(t, b.Sync(t.Context()))
			defer b.serve()()
			lethetest.Eventually(t, "it was obeyed", func() bool {
				text, _ := os.ReadFile(b.askedFile())
				n, _ := strconv.Atoi(string(text))
				fi, err := os.Stat(rooms.Path(b.home.Dir, askedRoom))
				return err == nil && int64(n) == fi.Size()
			})
			return lethetest.Read(t, here.LIFE()) == lethetest.Read(t, ada.LIFE())
		}
		if obeyed(own.Self) {
			t.Error("another life was read anew")
		}
		if !obeyed(here.Self) {
			t.Error("it was not read anew")
		}
		if obeyed(own.Self) {
			t.Error("it was read anew twice")
		}
	})
}

// What was removed later is told, and the rest is as it was.
func TestRestoreWithoutTheRemoved(t *testing.T) {
	t.Parallel()
	a := first(t)
	bob := a.boot("bob")
	a.boot("ada")
	then := time.Now()
	lethetest.Must(t, a.home.Remove(a.store, bob))
	c := a.beside("c")
	got := map[string]Restored{}
	lethetest.Must(t, c.RestoreAt(t.Context(), c.store, then, func(r Restored) { got[r.Name] = r }, noLoss(t)))
	if !got["ada"].Here || got["bob"].Here || !strings.Contains(got["bob"].Why, "it was removed") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(c.home.Identity(bob.Self, "bob").Dir); err == nil {
		t.Error("half of bob is there")
	}
}

// A host that had a life for a moment, and never served, is one of the hosts: a copy of the life may be on its disk.
func TestHadALifeForAMoment(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		a.boot("ada")
		_, err := b.Take(t.Context(), "ada")
		lethetest.Must(t, err)
		time.Sleep(2 * silentFor)
		all, err := b.Hosts(t.Context())
		lethetest.Must(t, err)
		if i := slices.IndexFunc(all, func(host Seen) bool { return host.ID == a.Host.ID }); i < 0 || !all[i].Away {
			t.Errorf("%+v", all)
		}
	})
}
