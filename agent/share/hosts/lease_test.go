package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
)

// A drained host says so itself until it begins again; what it ran is taken at once, and what people have stopped is not.
func TestDrainedAndBack(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t).standsBy()
		b := a.beside("b").standsBy()
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
				return err == nil && len(all) == 2 && all[0].Alike && all[1].Alike && (all[0].Left || all[1].Left) == left
			}
		}
		lethetest.Eventually(t, "both are there", there(false))
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
	})
}

// A host that comes while another one, which believes itself alone, has not looked yet is heard at its first look.
func TestCameBeforeTheFirstLook(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		lethetest.Must(t, a.connect())
		lethetest.Must(t, a.ask(t.Context(), asked{Came: "new"}))
		a.drains = -1
		a.leases.alone.Store(true)
		lethetest.Must(t, a.drained())
		if a.leases.alone.Load() || !a.leases.anew.Load() {
			t.Error("a does not look for who came")
		}
	})
}

// A host that was not there for a month is none.
func TestForgottenHost(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		lethetest.Must(t, a.connect())
		text, _ := json.Marshal(lease{Label: "old", At: time.Now().Add(-forgetAfter - time.Hour)})
		lethetest.Must(t, a.streams.Create(t.Context(), leaseStream("old"), 1, text))
		lethetest.Must(t, a.tell(t.Context(), askedRoom, asked{Came: "old"}))
		defer a.serve()()
		lethetest.Eventually(t, "a is there", func() bool {
			all, err := a.Hosts(t.Context())
			return err == nil && len(all) == 1 && all[0].Here
		})
		text, _ = json.Marshal(lease{Label: "silent", At: time.Now().Add(-time.Hour)})
		lethetest.Must(t, a.streams.Create(t.Context(), leaseStream("old"), 2, text))
		all, err := a.Hosts(t.Context())
		if err != nil || len(all) != 2 || all[0].Away == all[1].Away {
			t.Errorf("a host that is silent is away, and no other: %+v, %v", all, err)
		}
	})
}

// A host that is alone renews its lease more seldom, and says so; it asks for no number that it knows.
func TestLeaseWhileAlone(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		var asks atomic.Int32
		a.streams.Store = watched{a.streams.Store, func(stream string) {
			if stream == leaseStream(a.Host.ID) {
				asks.Add(1)
			}
		}}
		every := func(want time.Duration) func() bool {
			return func() bool {
				g, err := b.sighted(t.Context(), a.Host.ID, sighting{})
				return err == nil && g.Lease.Every == want && g.N > 3
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
	})
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

// A host that cannot serve says why: one that ended without a word would lose its lives to hosts that stand by.
func TestServeTellsWhyItCannot(t *testing.T) {
	t.Parallel()
	a := first(t)
	lethetest.Write(t, filepath.Join(a.home.Dir, "share", "serving.lock", "in the way"), "")
	if err := a.Serve(t.Context(), nil); !errors.Is(err, syscall.EISDIR) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	lethetest.Must(t, a.Serve(ended, nil))
}

// Who only talks in a home shares its rooms, and neither says that the host is there nor keeps a daemon from it.
func TestFollow(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		lethetest.Must(t, b.connect())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Follow(ctx, nil, false) }()
		lethetest.Must(t, b.tell(t.Context(), "dev", "hello"))
		lethetest.Eventually(t, "it is heard", func() bool {
			fi, err := os.Stat(rooms.Path(a.home.Dir, "dev"))
			return err == nil && fi.Size() > 0
		})
		if n, err := b.streams.Newest(t.Context(), leaseStream(a.Host.ID), 0); n > 0 || err != nil || a.served() {
			t.Errorf("a has a lease %d, %v", n, err)
		}
		cancel()
		lethetest.Must(t, <-done)
	})
}

// A bridge by itself says that its host is there, until a daemon does; when that is drained, the bridge ends.
func TestAttend(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		beside := New(&home.Home{Dir: a.home.Dir}, a.conf, a.store, a.log)
		done := make(chan error)
		go func() { done <- beside.Follow(t.Context(), nil, true) }()
		lethetest.Must(t, a.connect())
		there := func(n int) func() bool {
			return func() bool {
				now, err := a.streams.Newest(t.Context(), leaseStream(a.Host.ID), 0)
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
		g, err := a.sighted(t.Context(), a.Host.ID, sighting{})
		if err != nil || !g.Lease.Left {
			t.Errorf("%+v, %v", g, err)
		}
	})
}

// A bridge on a host without a daemon ends, too, when somebody drains the host, and others see that it has left.
func TestAttendAloneIsDrained(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b")
		a.boot("ada")
		lethetest.Must(t, b.Sync(t.Context()))
		lethetest.Must(t, b.tell(t.Context(), askedRoom, asked{Drain: a.Host.ID})) // said before it began
		done := make(chan error, 1)
		go func() { done <- a.Follow(t.Context(), nil, true) }()
		var err error
		lethetest.Eventually(t, "the host is there", func() bool {
			g, err := b.sighted(t.Context(), a.Host.ID, sighting{})
			return err == nil && g.N > 2
		})
		lethetest.Eventually(t, "the bridge ends", func() bool {
			lethetest.Must(t, b.Drain(t.Context(), a.Host.ID))
			select {
			case err = <-done:
				return true
			default:
				return false
			}
		})
		g, serr := b.sighted(t.Context(), a.Host.ID, sighting{})
		if !errors.Is(err, ErrDrained) || serr != nil || !g.Lease.Left {
			t.Errorf("the bridge ends with %v, and the others see %+v, %v", err, g, serr)
		}
	})
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

// A home says that its store is away, and that it is back.
func TestAway(t *testing.T) {
	t.Parallel()
	a := first(t)
	lethetest.Must(t, a.connect())
	dir := strings.TrimPrefix(a.conf.URL, "file://")
	store, err := share.Open(a.conf.URL, 50*time.Millisecond)
	lethetest.Must(t, err)
	a.streams.Store = store
	defer a.serve()()
	lethetest.Must(t, os.Rename(dir, dir+"-gone"))
	lethetest.Eventually(t, "it is away", a.Away)
	if err := a.Refresh(t.Context()); err != nil {
		t.Errorf("while a process serves: %v", err)
	}
	lethetest.Must(t, os.Rename(dir+"-gone", dir))
	lethetest.Eventually(t, "it is back", func() bool { return !a.Away() })
}

// A host whose disk is full says no more that it is there, so that another one takes its lives, until it has room.
func TestFullDisk(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		defer a.serve()()
		defer b.serve()()
		lethetest.Eventually(t, "b knows ada", func() bool { all, _ := b.Lives(); return len(all) == 1 })
		mended := lethetest.Break(t, a.home.Dir, func(_ durable.Stage, op, _ string) error {
			if op == "reserve" {
				return syscall.ENOSPC
			}
			return nil
		})
		lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
		mended()
		before := ReadStatus(a.home.Dir).Renewed
		lethetest.Eventually(t, "a is there again", func() bool { return ReadStatus(a.home.Dir).Renewed.After(before) })
	})
}

// slow is a store that takes lives only when it is let.
type slow struct {
	share.Store
	let chan struct{}
}

func (s slow) Create(ctx context.Context, stream string, n int, data []byte) error {
	if strings.HasPrefix(stream, "lives/") {
		<-s.let
	}
	return s.Store.Create(ctx, stream, n, data)
}

// A host goes on saying that it is there while it takes lives over.
func TestLeaseDuringTakeover(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		lethetest.Must(t, b.connect())
		s := slow{b.streams.Store, make(chan struct{})}
		b.streams.Store = s
		defer b.serve()()
		time.Sleep(2 * silentFor) // it has begun to
		before, err := a.sighted(t.Context(), b.Host.ID, sighting{})
		lethetest.Must(t, err)
		lethetest.Eventually(t, "b is there", func() bool {
			now, err := a.sighted(t.Context(), b.Host.ID, before)
			return err == nil && now.N > before.N+2
		})
		if b.hasRun("ada") {
			t.Error("the store was not slow")
		}
		close(s.let)
		lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
	})
}

// Who ends does not wait for a store that is away.
func TestEndWhileAway(t *testing.T) {
	t.Parallel()
	a := first(t)
	ada := a.boot("ada")
	dir := strings.TrimPrefix(a.conf.URL, "file://")
	lethetest.Must(t, os.Rename(dir, dir+"-gone"))
	ctx, cancel := context.WithCancel(t.Context())
	a.Until(ctx)
	time.AfterFunc(10*time.Millisecond, cancel)
	began := time.Now()
	_, _, posted := a.Post("dev", []byte("[USER:ann 2026-11-20T12:57:16Z] hello\n"), chat.Mark{})
	_, held := journal.Hold(a.home, ada, a.store, nil)
	pulled := a.Ledger().Pull(func([]byte, bool) error { return nil })
	for _, err := range []error{posted, held, pulled} {
		if !errors.Is(err, share.ErrAway) {
			t.Errorf("%v", err)
		}
	}
	if took := time.Since(began); took > 10*time.Second { // and not 15
		t.Errorf("it took %v", took)
	}
}

// A host whose key is another one than before leaves what it said of itself to be read by the others.
func TestLeaseOfAnotherKey(t *testing.T) {
	t.Parallel()
	a := first(t)
	lethetest.Must(t, a.connect())
	lethetest.Must(t, a.say(t.Context(), time.Minute, false))
	keys := a.streams.Keys
	var err error
	a.streams.Keys, err = seal.Load(lethetest.Dir(t), nil, true)
	lethetest.Must(t, err)
	a.leases.renewed = 0
	if err := a.say(t.Context(), time.Minute, false); !errors.Is(err, seal.ErrKey) {
		t.Error(err)
	}
	a.streams.Keys = keys
	_, err = a.sighted(t.Context(), a.Host.ID, sighting{})
	lethetest.Must(t, err)
}
