package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lethe/home"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/journal"
	"lethe/life/event"
	"lethe/share"
	"lethe/share/lives"
	"lethe/share/rooms"
	"lethe/share/streams"
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
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	ada := a.boot("ada")
	lethetest.Must(t, b.Sync(t.Context()))
	here := b.mirror(ada)
	lethetest.Must(t, a.home.Remove(a.store, ada))
	for n := 1; n <= 9; n++ {
		text, err := a.lives.Streams.Get(t.Context(), lives.Stream(ada.Self), n)
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
}

// A life that has come back is run again.
func TestTakenTwice(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", true).join(a)
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
			return !b.standing.runs[b.all()[0].Self]
		})
		kill()
	}
}

func (h *host) all() []Life {
	all, err := h.Lives()
	lethetest.Must(h, err)
	return all
}

// What was not told when a life was taken is told when it is held; and a line counts that was said before.
func TestToldLater(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	ada := a.boot("ada")
	lethetest.Must(t, b.Sync(t.Context()))
	b.lives.Took = func(home.Identity, int) {}
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

// A drained host says so itself until it begins again; what it ran is taken at once, and what people have stopped is not.
func TestDrainedAndBack(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", true)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", true).join(a)
	ada, bob := a.boot("ada"), a.boot("bob")
	j, err := journal.Hold(a.home, bob, a.store, nil)
	lethetest.Must(t, errors.Join(err, j.Stop("request"), j.Close()))
	j, err = journal.Hold(a.home, ada, a.store, nil)
	lethetest.Must(t, err)
	var runs sync.WaitGroup
	runs.Go(func() {
		lethetest.Eventually(t, "ada is asked", func() bool { return home.Asked(ada, home.WishStop) })
		lethetest.Must(t, errors.Join(j.Stop(home.StopReason(ada)), j.Close()))
	})
	stop := a.serve()
	defer b.serve()()
	there := func(left bool) func() bool {
		return func() bool {
			all, err := b.Hosts(t.Context())
			return err == nil && len(all) == 2 && (all[0].Left || all[1].Left) == left
		}
	}
	lethetest.Eventually(t, "both are there", there(false))
	err = b.Drain(t.Context(), a.Host.Label)
	if !errors.Is(err, home.ErrAmbiguous) || !strings.Contains(err.Error(), a.Host.ID) {
		t.Errorf("two hosts of one name: %v", err)
	}
	lethetest.Must(t, b.Drain(t.Context(), a.Host.ID))
	runs.Wait()
	lethetest.Eventually(t, "a has left", there(true))
	stop()
	lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
	if a.hasRun("ada") {
		t.Error("a drained host has started what it was to leave")
	}
	defer a.serve()()
	lethetest.Eventually(t, "a is back", there(false))
	for _, l := range b.all() {
		if l.Name == "bob" && l.Host.ID != a.Host.ID {
			t.Errorf("what somebody has stopped was taken: %+v", l)
		}
	}
	if a.hasRun("bob") || b.hasRun("bob") {
		t.Error("what somebody has stopped was started")
	}
}

// A host that was not there for a month is none.
func TestForgottenHost(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	lethetest.Must(t, a.connect())
	text, _ := json.Marshal(lease{Label: "old", At: time.Now().Add(-forgetAfter - time.Hour)})
	lethetest.Must(t, a.lives.Streams.Create(t.Context(), leaseStream("old"), 1, text))
	lethetest.Must(t, a.tell(t.Context(), askedRoom, asked{Came: "old"}))
	defer a.serve()()
	lethetest.Eventually(t, "its lease is gone", func() bool {
		n, err := a.Shared.store.Newest(t.Context(), leaseStream("old"), 0)
		return err == nil && n == 0
	})
	lethetest.Eventually(t, "a is there", func() bool {
		all, err := a.Hosts(t.Context())
		return err == nil && len(all) == 1 && all[0].Here
	})
}

// A host that is alone renews its lease more seldom, and says so; it asks for no number that it knows.
func TestLeaseWhileAlone(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	var asks atomic.Int32
	a.Shared.store = watched{a.Shared.store, func(stream string) {
		if stream == leaseStream(a.Host.ID) {
			asks.Add(1)
		}
	}}
	every := func(want time.Duration) func() bool {
		return func() bool {
			g, err := b.sight(t.Context(), a.Host.ID, sighting{})
			return err == nil && g.Every == want && g.n > 3
		}
	}
	lethetest.Must(t, b.connect())
	defer a.serve()()
	lethetest.Eventually(t, "it is alone", every(aloneEvery))
	if n := asks.Load(); n != 1 {
		t.Errorf("it has asked %d times for the number of its lease", n)
	}
	defer b.serve()()
	lethetest.Eventually(t, "it is not alone", every(renewEvery))
}

// watched is a store that tells of each question for the newest text.
type watched struct {
	share.Store
	asked func(stream string)
}

func (w watched) Newest(ctx context.Context, stream string, after int) (int, error) {
	w.asked(stream)
	return w.Store.Newest(ctx, stream, after)
}

// Who only talks in a home shares its rooms, and neither says that the host is there nor keeps a daemon from it.
func TestFollow(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	lethetest.Must(t, b.connect())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Follow(ctx, nil, false) }()
	lethetest.Must(t, b.tell(t.Context(), "dev", "hello"))
	lethetest.Eventually(t, "it is heard", func() bool {
		fi, err := os.Stat(rooms.Path(a.home.Dir, "dev"))
		return err == nil && fi.Size() > 0
	})
	if n, err := b.Shared.store.Newest(t.Context(), leaseStream(a.Host.ID), 0); n > 0 || err != nil || a.served() {
		t.Errorf("a has a lease %d, %v", n, err)
	}
	cancel()
	lethetest.Must(t, <-done)
}

// A bridge by itself says that its host is there, until a daemon does; when that is drained, the bridge ends.
func TestAttend(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	beside := New(&home.Home{Dir: a.home.Dir}, a.conf, a.store, a.log)
	done := make(chan error)
	go func() { done <- beside.Follow(t.Context(), nil, true) }()
	lethetest.Must(t, a.connect())
	there := func(n int) func() bool {
		return func() bool {
			now, err := a.Shared.store.Newest(t.Context(), leaseStream(a.Host.ID), 0)
			return err == nil && now >= n
		}
	}
	lethetest.Eventually(t, "the host is there", there(2))
	stop := a.serve()
	defer stop()
	lethetest.Eventually(t, "the daemon has looked", func() bool { ids, _ := a.known(); return len(ids) > 0 && a.served() })
	lethetest.Must(t, a.Drain(t.Context(), a.Host.ID))
	if err := <-done; !errors.Is(err, ErrDrained) {
		t.Errorf("the bridge ends with %v", err)
	}
	g, err := a.sight(t.Context(), a.Host.ID, sighting{})
	if err != nil || !g.Left {
		t.Errorf("%+v, %v", g, err)
	}
}

// lossy is a store that loses the answer to the next text that it creates in a stream.
type lossy struct {
	share.Store
	stream string
	lose   atomic.Bool
}

func (l *lossy) Create(ctx context.Context, stream string, n int, data []byte) error {
	err := l.Store.Create(ctx, stream, n, data)
	if err == nil && stream == l.stream && l.lose.CompareAndSwap(true, false) {
		err = fmt.Errorf("create: %w", share.ErrAway)
	}
	return err
}

// A bridge knows its own text for its own after a lost answer, and no line of it stands twice.
func TestBridgeLosesAnAnswer(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	loses := &lossy{Store: a.Shared.store, stream: "bridges/telegram"}
	a.lives.Streams.Store = loses
	inbox := func(h *host) string { return filepath.Join(h.home.Dir, "bridges", "telegram", "inbox.jsonl") }
	lethetest.Must(t, durable.MkdirAll(filepath.Dir(inbox(a)), 0o700))
	lethetest.Must(t, durable.WriteFile(inbox(a), []byte("first\n"), 0o600))
	at := a.Bridge("telegram")
	lethetest.Must(t, at.Begin())
	write := func(line string) error {
		from, _, err := durable.Append(inbox(a), []byte(line), 0o600)
		lethetest.Must(t, err)
		return at.Wrote("inbox.jsonl", []byte(line), from)
	}
	loses.lose.Store(true)
	if err := write("one\n"); !errors.Is(err, share.ErrAway) {
		t.Errorf("the answer is not lost: %v", err)
	}
	lethetest.Must(t, write("two\n"))
	loses.lose.Store(true)
	if err := write("three\n"); err == nil {
		t.Error("the answer is not lost")
	}
	lethetest.Must(t, a.Bridge("telegram").Begin()) // as after a kill
	lethetest.Holds(t, inbox(a), "first\none\ntwo\nthree\n")
	lethetest.Must(t, b.Bridge("telegram").Begin())
	lethetest.Holds(t, inbox(b), "first\none\ntwo\nthree\n")
}

// Of two lives that were booted under one name while their hosts were apart, the second one is not shared.
func TestOneName(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
	other, err := home.Boot(b.home, b.store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	a.boot("ada")
	_, err = journal.Hold(b.home, other, b.store, nil)
	if err == nil || !strings.Contains(err.Error(), a.Host.Label+" has another life of that name") {
		t.Errorf("shared: %v", err)
	}
	if n, err := b.Shared.store.Newest(t.Context(), lives.Stream(other.Self), 0); n > 0 || err != nil {
		t.Errorf("it has a stream: %d, %v", n, err)
	}
}

// What does not run is shared, too.
func TestSharesWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	ada, err := home.Boot(a.home, a.store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	defer a.serve()()
	lethetest.Eventually(t, "it is shared", func() bool { return a.told(ada.Self) })
}

// What was erased elsewhere while nothing served here goes from this disk later, once; of what this host has nothing is to go.
func TestRereadLater(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b", false).join(a)
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
}

// Processes of a host that begin together are one host.
func TestOneHost(t *testing.T) {
	t.Parallel()
	dir := lethetest.Dir(t)
	ids := make([]streams.Host, 8)
	var all sync.WaitGroup
	for k := range ids {
		all.Go(func() { ids[k], _ = thisHost(dir) })
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id.ID == "" {
			t.Errorf("%v", ids)
		}
	}
}

// What was removed later is told, and the rest is as it was.
func TestRestoreWithoutTheRemoved(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	bob := a.boot("bob")
	a.boot("ada")
	then := time.Now()
	lethetest.Must(t, a.home.Remove(a.store, bob))
	c := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "c", false).join(a)
	got := map[string]Restored{}
	lethetest.Must(t, c.RestoreAt(t.Context(), c.store, then, func(r Restored) { got[r.Name] = r }))
	if !got["ada"].Here || got["bob"].Here || !strings.Contains(got["bob"].Why, "it was removed") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(c.home.Identity(bob.Self, "bob").Dir); err == nil {
		t.Error("half of bob is there")
	}
}

// A home says that its store is away, and that it is back.
func TestAway(t *testing.T) {
	t.Parallel()
	a := newHost(t, lethetest.Dir(t), "a", false)
	lethetest.Must(t, a.connect())
	dir := strings.TrimPrefix(a.conf.URL, "file://")
	store, err := share.Open(a.conf.URL, 50*time.Millisecond)
	lethetest.Must(t, err)
	a.Shared.store, a.lives.Streams.Store = store, store
	defer a.serve()()
	lethetest.Must(t, os.Rename(dir, dir+"-gone"))
	lethetest.Eventually(t, "it is away", a.Away)
	if err := a.Refresh(t.Context()); err != nil {
		t.Errorf("while a process serves: %v", err)
	}
	lethetest.Must(t, os.Rename(dir+"-gone", dir))
	lethetest.Eventually(t, "it is back", func() bool { return !a.Away() })
}
