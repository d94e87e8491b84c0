package hosts

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

func TestMain(m *testing.M) {
	renewEvery, aloneEvery, silentFor = 50*time.Millisecond, 300*time.Millisecond, 400*time.Millisecond
	lastWait, compareEvery = 500*time.Millisecond, 5*time.Second
	lethetest.AskFaults()
	os.Exit(m.Run())
}

var warm sync.Once

// timed runs a test in a bubble of its own time: on a busy machine a host that is there would be silent.
func timed(t *testing.T, test func(*testing.T)) {
	t.Parallel()
	heat(t)
	synctest.Test(t, test)
}

// heat has what packs texts make channels, which it does when it is first used, and which no bubble may own.
func heat(t *testing.T) {
	warm.Do(func() {
		a := first(t)
		lethetest.Must(t, a.connect())
		stream := leaseStream(a.Host.ID)
		lethetest.Must(t, a.streams.Create(t.Context(), stream, 1, []byte("hello")))
		_, err := a.streams.Get(t.Context(), stream, 1)
		lethetest.Must(t, err)
	})
}

// host is one host of a home in a directory.
type host struct {
	testing.TB
	*Cluster
	store *blobs.Store
	home  home.Home

	standby bool

	mu  sync.Mutex
	ran []string // names of what it was to run
}

func (h *host) hasRun(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.ran, name)
}

func newHost(t testing.TB, store, name string) *host {
	t.Helper()
	dir, err := home.Open(filepath.Join(lethetest.Dir(t), name))
	lethetest.Must(t, err)
	texts, err := blobs.Open(dir.Blobs())
	lethetest.Must(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s := New(&dir, Config{URL: "file://" + store}, texts, log.With("host", name))
	t.Cleanup(func() { s.Close() })
	return &host{TB: t, Cluster: s, store: texts, home: dir}
}

// sighted looks for another host again.
func (h *host) sighted(ctx context.Context, host string, was sighting) (sighting, error) {
	err := h.sight(ctx, host, &was)
	return was, err
}

// first returns a host of a store of its own.
func first(t testing.TB) *host { return newHost(t, lethetest.Dir(t), "a") }

// beside returns another host of the same store, with the same key.
func (h *host) beside(name string) *host {
	h.Helper()
	return newHost(h.TB, strings.TrimPrefix(h.conf.URL, "file://"), name).join(h)
}

func (h *host) standsBy() *host {
	h.standby = true
	return h
}

// run is what a host that stands by has identities do.
func (h *host) run(id home.Identity) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran = append(h.ran, id.Name)
	return nil
}

// join gives a host the key of another one.
func (h *host) join(o *host) *host {
	h.Helper()
	lethetest.Must(h, o.connect())
	key, err := os.ReadFile(seal.File(o.home.Dir))
	lethetest.Must(h, err)
	lethetest.Must(h, seal.Put(h.home.Dir, string(key)))
	return h
}

// serve serves until the test ends, or stop is called.
func (h *host) serve() (stop func()) {
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan error, 1)
	var stands sync.WaitGroup
	if h.standby {
		stands.Go(func() { h.StandBy(ctx, nil, h.run) })
	}
	go func() { done <- h.Serve(ctx, nil) }()
	return func() {
		cancel()
		stands.Wait()
		if err := <-done; err != nil && !errors.Is(err, ErrDrained) {
			h.Error(err)
		}
	}
}

func (h *host) boot(name string) home.Identity {
	h.Helper()
	id, err := home.Boot(h.home, h.store, home.BootOptions{Name: name})
	lethetest.Must(h, err)
	j, err := journal.Hold(h.home, id, h.store, nil)
	lethetest.Must(h, err)
	lethetest.Must(h, j.Commit(journal.Told(event.Note{Why: "lost"}, "note", "text of "+name)))
	lethetest.Must(h, j.Close())
	return id
}

// A host that stands by takes the lives of one that is silent, and not of one that is there, nor what somebody has stopped.
func TestStandby(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		ada, bob := a.boot("ada"), a.boot("bob")
		j, err := journal.Hold(a.home, bob, a.store, nil)
		lethetest.Must(t, err)
		lethetest.Must(t, errors.Join(j.Stop("request"), j.Close()))
		kill := a.serve()
		defer b.serve()()
		lethetest.Eventually(t, "b knows both", func() bool { all, _ := b.Lives(); return len(all) == 2 })
		time.Sleep(2 * silentFor)
		if all, _ := b.Lives(); all[0].Custody+all[1].Custody > 0 {
			t.Errorf("taken from a host that is there: %+v", all)
		}
		kill()
		lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
		if b.hasRun("bob") {
			t.Error("what somebody has stopped was started")
		}
		if _, err := journal.Hold(a.home, ada, a.store, nil); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a opens it: %v", err)
		}
	})
}

// A host that is drained stops what it runs, and one that stands by takes it at once.
func TestDrain(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		done := make(chan error, 1)
		go func() { done <- a.Serve(t.Context(), nil) }()
		defer b.serve()()
		lethetest.Eventually(t, "both are there", func() bool { all, err := b.Hosts(t.Context()); return err == nil && len(all) == 2 })
		lethetest.Must(t, b.Drain(t.Context(), a.Host.ID))
		if err := <-done; !errors.Is(err, ErrDrained) {
			t.Errorf("a ends with %v", err)
		}
		lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
	})
}

// A copy of a home is another host: it does not go on with the lives of the one that it was copied from.
func TestCopyOfTheHome(t *testing.T) {
	t.Parallel()
	a := first(t)
	ada := a.boot("ada")
	copied := filepath.Join(lethetest.Dir(t), "copy")
	lethetest.Must(t, os.CopyFS(copied, os.DirFS(a.home.Dir)))
	h := home.Home{Dir: copied}
	s := New(&h, a.conf, a.store, a.log)
	defer s.Close()
	if _, err := journal.Hold(h, h.Identity(ada.Self, "ada"), a.store, nil); !errors.As(err, new(*home.ElsewhereError)) {
		t.Errorf("the copy goes on: %v", err)
	}
}

// noLoss is for stores that have lost nothing.
func noLoss(t testing.TB) func(error) { return func(what error) { t.Errorf("lost: %v", what) } }

// A home comes back from the store: all of it from silent hosts, nothing from those that are there, or as it was at a time.
func TestRestore(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		ada := a.boot("ada")
		line := []byte("[USER:ann 2026-11-20T12:57:16Z] hello\n")
		_, _, err := chat.Append(chat.Path(a.home.Dir, "dev"), line)
		lethetest.Must(t, err)
		lethetest.Must(t, a.rooms.Sync(t.Context()))
		then := time.Now()
		time.Sleep(5 * time.Millisecond)
		j, err := journal.Hold(a.home, ada, a.store, nil)
		lethetest.Must(t, err)
		lethetest.Must(t, j.Commit(journal.Told(event.Note{Why: "lost"}, "later", "later")))
		lethetest.Must(t, j.Close())
		_, _, err = chat.Append(chat.Path(a.home.Dir, "dev"), line)
		lethetest.Must(t, err)
		lethetest.Must(t, a.rooms.Sync(t.Context()))

		kill := a.serve()
		lethetest.Eventually(t, "a is there", func() bool { all, err := a.Hosts(t.Context()); return err == nil && len(all) > 0 })
		var got []Restored
		tell := func(r Restored) { got = append(got, r) }
		b := a.beside("b")
		lethetest.Must(t, b.Restore(t.Context(), tell, noLoss(t)))
		if len(got) != 1 || got[0].Here {
			t.Errorf("restored from a host that is there: %+v", got)
		}
		lethetest.Holds(t, chat.Path(b.home.Dir, "dev"), string(line)+string(line))
		kill()
		lethetest.Must(t, b.Restore(t.Context(), tell, noLoss(t)))
		log := lethetest.Read(t, b.home.Identity(ada.Self, "ada").LIFE())
		if rest, is := strings.CutPrefix(log, lethetest.Read(t, ada.LIFE())); !got[1].Here || !is ||
			!strings.Contains(rest, "received custody=1") {
			t.Errorf("%+v, and then: %s", got[1], rest)
		}

		c := a.beside("c")
		lethetest.Must(t, c.RestoreAt(t.Context(), c.store, then, tell, noLoss(t)))
		lethetest.Holds(t, chat.Path(c.home.Dir, "dev"), string(line))
		there := c.home.Identity(ada.Self, "ada")
		c.home.Shared = nil
		s, err := home.Fold(there, c.store)
		if text := lethetest.Read(t, there.LIFE()); err != nil || s.Custody != 1 || strings.Contains(text, "later") {
			t.Errorf("%v, custody %d:\n%s", err, s.Custody, text)
		}
	})
}

// Hosts that spend at once see what each other has put aside.
func TestLedger(t *testing.T) {
	t.Parallel()
	a := first(t)
	b := a.beside("b")
	books := make([]*budget.Ledger, 2)
	for k, h := range []*host{a, b} {
		books[k] = budget.NewLedger(h.home.Dir)
		books[k].Remote = h.Ledger()
	}
	account := func(self string, usd budget.USD) budget.Account {
		own := budget.Account{Self: self, Name: self}
		own.Hold(1, usd, "2026-11-20")
		return own
	}
	lethetest.Must(t, books[0].Replace([]budget.Account{account("one", 1)}))
	if err := books[1].Put(account("two", 2)); !errors.Is(err, budget.ErrChanged) {
		t.Errorf("written over what was not read: %v", err)
	}
	lethetest.Must(t, books[1].Read())
	lethetest.Must(t, books[1].Put(account("two", 2)))
	lethetest.Must(t, books[0].Read())
	lethetest.Must(t, books[0].Replace([]budget.Account{books[0].Accounts["two"], account("one", 5)}))
	c := a.beside("c")
	late := budget.NewLedger(c.home.Dir)
	late.Remote = c.Ledger()
	for _, l := range []*budget.Ledger{books[1], late} {
		lethetest.Must(t, l.Read())
		if len(l.Accounts) != 2 || l.Accounts["one"].Holds[0].USD != 5 || l.Accounts["two"].Holds[0].USD != 2 {
			t.Errorf("%+v", l.Accounts)
		}
	}
}

// A bridge is at one host; another one goes on with its files when that one is silent, and then that one can write no more.
func TestBridge(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		there := func(h *host, name string) string {
			return filepath.Join(h.home.Dir, "bridges", "telegram", name)
		}
		write := func(h *host, bridge *Bridge, name, text string, appended bool) error {
			err, at := durable.MkdirAll(filepath.Dir(there(h, name)), 0o700), int64(0)
			if err == nil && appended {
				at, _, err = durable.Append(there(h, name), []byte(text), 0o600)
			} else if err == nil {
				err = durable.WriteFile(there(h, name), []byte(text), 0o600)
			}
			return errors.Join(err, bridge.Wrote(name, []byte(text), at))
		}
		at := a.Bridge(t.Context(), "telegram")
		lethetest.Must(t, at.Begin())
		kill := a.serve()
		lethetest.Must(t, write(a, at, "inbox.jsonl", "one\n", true))
		lethetest.Must(t, write(a, at, "peers/42.json", "{}\n", false))
		lethetest.Must(t, write(a, at, "inbox.jsonl", strings.Repeat("x", streams.MaxText)+"\n", true))
		next := b.Bridge(t.Context(), "telegram")
		began := make(chan error, 1)
		go func() { began <- next.Begin() }()
		time.Sleep(5 * silentFor)
		if len(began) > 0 {
			t.Errorf("two hosts have a bridge: %v", <-began)
		}
		kill()
		lethetest.Must(t, <-began)
		for _, name := range []string{"inbox.jsonl", "peers/42.json"} {
			lethetest.Holds(t, there(b, name), lethetest.Read(t, there(a, name)))
		}
		if err := write(a, at, "peers/42.json", "stale\n", false); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a stale host writes: %v", err)
		}
		if err := <-at.Lost; !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("it is told %v", err)
		}
		for range wholeEvery + 1 {
			lethetest.Must(t, write(b, next, "peers/42.json", "{\"n\":1}\n", false))
		}
		c := a.beside("c")
		lethetest.Must(t, c.Bridge(t.Context(), "telegram").Begin())
		lethetest.Holds(t, there(c, "peers/42.json"), "{\"n\":1}\n")
		lethetest.Holds(t, there(c, "inbox.jsonl"), lethetest.Read(t, there(b, "inbox.jsonl")))
	})
}

// The roster takes no line that is none, and the newest of a life counts.
func TestRoster(t *testing.T) {
	t.Parallel()
	a := first(t)
	lethetest.Must(t, a.connect())
	self := strings.Repeat("ab", 32)
	for _, l := range []Life{{Self: self, Name: "ada", Custody: 1}, {Self: self, Name: "ada", Custody: 0},
		{Self: "x", Name: "bob"}, {Self: self, Name: "../x", Custody: 9}} {
		lethetest.Must(t, a.tell(t.Context(), rosterRoom, l))
	}
	all, err := a.Lives()
	if err != nil || len(all) != 1 || all[0].Custody != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if slices.Contains(chat.All(a.home.Dir), rosterRoom) {
		t.Error("people see a room of the hosts")
	}
	if _, err := os.Stat(rooms.Path(a.home.Dir, rosterRoom)); err != nil {
		t.Error(err)
	}
}
