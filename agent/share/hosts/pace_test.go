package hosts

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
)

// atPace runs a test in a bubble of its own time with the pace that programs have. It is not beside other tests.
func atPace(t *testing.T, test func(*testing.T)) {
	renew, alone, silent, compare := renewEvery, aloneEvery, silentFor, compareEvery
	defer func() { renewEvery, aloneEvery, silentFor, compareEvery = renew, alone, silent, compare }()
	renewEvery, aloneEvery, silentFor, compareEvery = 24*time.Second, 2*time.Minute, 38*time.Second, 6*time.Hour
	heat(t)
	synctest.Test(t, test)
}

// until waits for something, and returns how long it took. It looks ten times a second.
func until(t *testing.T, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Sleep(100 * time.Millisecond); time.Since(began) > most {
			t.Fatalf("not within %v", most)
		}
	}
	return time.Since(began)
}

// A dead host's lives and its bridge go on elsewhere within 45 s, also if nobody was beside it; a living host keeps them.
func TestTakenInTime(t *testing.T) {
	const most = 45 * time.Second
	for _, beside := range []bool{true, false} {
		for phase := range 5 {
			atPace(t, func(t *testing.T) {
				a := first(t)
				b := a.beside("b").standsBy()
				a.boot("ada")
				lethetest.Must(t, a.Bridge(t.Context(), "telegram").Begin())
				kill := a.serve()
				time.Sleep(10 * time.Minute)
				stop := func() {}
				if beside {
					stop = b.serve()
				}
				time.Sleep(5*time.Minute + time.Duration(phase)*5100*time.Millisecond)
				if b.hasRun("ada") {
					t.Error("b has taken ada from a host that is there")
				}
				kill()
				began := time.Now()
				if !beside {
					stop = b.serve()
				}
				taken := until(t, most, func() bool { return b.hasRun("ada") })
				lethetest.Must(t, b.Bridge(t.Context(), "telegram").Begin())
				if took := time.Since(began); took > most {
					t.Errorf("the bridge goes on after %v", took)
				}
				t.Logf("beside: %v, ada after %v", beside, taken)
				stop()
			})
		}
	}
}

// A host that was alone is found there by one that comes, which takes nothing, at whatever moment it comes.
func TestAloneAndThere(t *testing.T) {
	for phase := range 4 {
		atPace(t, func(t *testing.T) {
			a := first(t).standsBy()
			b := a.beside("b").standsBy()
			a.boot("ada")
			defer a.serve()()
			time.Sleep(10*time.Minute + time.Duration(phase)*33*time.Second)
			stop := b.serve()
			time.Sleep(5 * time.Minute)
			if all, _ := b.Lives(); len(all) != 1 || all[0].Custody > 0 || !a.hasRun("ada") {
				t.Errorf("%+v", all)
			}
			stop() // and comes back when a is alone again
			time.Sleep(5 * time.Minute)
			defer b.serve()()
			time.Sleep(5 * time.Minute)
			if all, _ := b.Lives(); all[0].Custody > 0 {
				t.Errorf("%+v", all)
			}
		})
	}
}

// What a drained host has left goes on elsewhere within 3 s, at whatever moment it is asked.
func TestDrainedInTime(t *testing.T) {
	for phase := range 4 {
		atPace(t, func(t *testing.T) {
			a := first(t)
			b := a.beside("b").standsBy()
			a.boot("ada")
			left := make(chan time.Time, 1)
			go func() {
				if err := a.Serve(t.Context(), nil); err != ErrDrained {
					t.Error(err)
				}
				left <- time.Now()
			}()
			defer b.serve()()
			time.Sleep(5*time.Minute + time.Duration(phase)*2600*time.Millisecond)
			asked := time.Now()
			lethetest.Must(t, b.Drain(t.Context(), a.Host.ID))
			gone := <-left
			until(t, 3*time.Second, func() bool { return b.hasRun("ada") })
			t.Logf("a leaves after %v, ada goes on after %v", gone.Sub(asked), time.Since(gone))
		})
	}
}

// parted is a store that a host reaches while it is not cut.
type parted struct {
	share.Store
	cut *atomic.Bool
}

func (p parted) away() error {
	if p.cut.Load() {
		return share.ErrAway
	}
	return nil
}

func (p parted) Create(ctx context.Context, stream string, n int, data []byte) error {
	if err := p.away(); err != nil {
		return err
	}
	return p.Store.Create(ctx, stream, n, data)
}

func (p parted) Get(ctx context.Context, stream string, n int) ([]byte, error) {
	if err := p.away(); err != nil {
		return nil, err
	}
	return p.Store.Get(ctx, stream, n)
}

func (p parted) Newest(ctx context.Context, stream string, after int) (int, error) {
	if err := p.away(); err != nil {
		return 0, err
	}
	return p.Store.Newest(ctx, stream, after)
}

// part returns what parts hosts from their store while it is true.
func part(t *testing.T, all ...*host) *atomic.Bool {
	var cut atomic.Bool
	for _, h := range all {
		lethetest.Must(t, h.connect())
		h.streams.Store = parted{h.streams.Store, &cut}
	}
	return &cut
}

// A host that publishes and has nothing to say has not asked the store: it knows no later than before how rooms are.
func TestNothingToSayAsksNobody(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a := first(t)
		cut, changed := part(t, a), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- a.Serve(ctx, changed) }()
		time.Sleep(5*time.Minute + 30*time.Second)
		synced := ReadStatus(a.home.Dir).Synced
		if synced.IsZero() {
			t.Fatal("it was never as all hosts have it")
		}
		cut.Store(true)
		changed <- struct{}{}
		time.Sleep(time.Second)
		if now := ReadStatus(a.home.Dir); !now.Synced.Equal(synced) {
			t.Errorf("without an answer of the store it is as it was %v later", now.Synced.Sub(synced))
		}
		time.Sleep(2 * time.Minute)
		changed <- struct{}{}
		time.Sleep(time.Second)
		if now := ReadStatus(a.home.Dir); now.Away == "" {
			t.Error("it does not say that the store is away")
		}
		cancel()
		lethetest.Must(t, <-served)
	})
}

// A round that fails, and raises what calls for the next one by what it tries to write, waits a second all the same.
func TestTroubleWaits(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a, changed, rounds := first(t), make(chan struct{}, 1), 0
		lethetest.Must(t, a.connect())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		lethetest.Must(t, a.rounds(ctx, changed, func(context.Context, bring) error {
			if rounds++; rounds > 100 {
				cancel()
			}
			select {
			case changed <- struct{}{}:
			default:
			}
			return errors.New("the disk is full")
		}))
		if rounds < 5 || rounds > 20 { // one a second, and one where the store has something
			t.Errorf("%d rounds in 10 s", rounds)
		}
	})
}

// A host that cannot say that it is there tells people once, until it can.
func TestMuteIsToldOnce(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a := first(t)
		var said lethetest.Log
		a.log = slog.New(slog.NewTextHandler(&said, nil))
		cut := part(t, a)
		defer a.serve()()
		for times := range 2 {
			time.Sleep(5 * time.Minute)
			cut.Store(true)
			time.Sleep(10 * time.Minute)
			cut.Store(false)
			lethetest.Equal(t, "told", strings.Count(said.String(), "could not say that it is there"), times+1)
		}
	})
}

// A store that was away for all proves no silence, and who could not see another host for long finds it there although
// it has forgotten the leases between.
func TestAwayIsNoSilence(t *testing.T) {
	for _, seconds := range []time.Duration{60, 62, 2400} {
		away := seconds * time.Second
		for _, all := range []bool{true, false} {
			atPace(t, func(t *testing.T) {
				a := first(t).standsBy()
				b := a.beside("b").standsBy()
				a.boot("ada")
				hosts := []*host{b}
				if all {
					hosts = append(hosts, a)
				}
				cut := part(t, hosts...)
				defer a.serve()()
				defer b.serve()()
				time.Sleep(5 * time.Minute)
				cut.Store(true)
				time.Sleep(away)
				cut.Store(false)
				time.Sleep(5 * time.Minute)
				if lives, _ := b.Lives(); len(lives) != 1 || lives[0].Custody > 0 || b.hasRun("ada") {
					t.Errorf("away %v, for all %v: %+v", away, all, lives)
				}
				g, err := b.sighted(t.Context(), a.Host.ID, sighting{})
				if err != nil || g.silent() || g.Lease.Every != renewEvery {
					t.Errorf("away %v, for all %v: %+v, %v", away, all, g, err)
				}
			})
		}
	}
}

// A host that was silent, and has come back, keeps what goes on there from then on, until it is silent again.
func TestBackIsNotSilent(t *testing.T) {
	for phase := range 4 {
		atPace(t, func(t *testing.T) {
			a := first(t)
			b := a.beside("b").standsBy()
			a.boot("ada")
			defer b.serve()()
			defer a.beside("c").serve()() // so that b is not alone, and is not told that a came
			a.serve()()
			time.Sleep(5 * time.Minute)
			if !b.hasRun("ada") {
				t.Error("b has not taken ada")
			}
			kill := a.serve()
			time.Sleep(time.Duration(phase) * 700 * time.Millisecond)
			_, err := a.Take(t.Context(), "ada")
			lethetest.Must(t, err)
			time.Sleep(5 * time.Minute)
			if lives, _ := b.Lives(); lives[0].Host.ID != a.Host.ID {
				t.Errorf("%+v", lives)
			}
			kill()
			until(t, 45*time.Second, func() bool {
				lives, _ := b.Lives()
				return lives[0].Host.ID == b.Host.ID
			})
		})
	}
}
