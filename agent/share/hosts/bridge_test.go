package hosts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

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

// Where the directory of a file cannot be made for sure, its end is not written in place of all of it.
func TestBridgePlaceEndsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	a := first(t)
	at := a.Bridge(t.Context(), "telegram")
	lethetest.Must(t, at.place("inbox.jsonl", []byte("one\n"), 0))
	mended := lethetest.Break(t, a.home.Dir, func(_ durable.Stage, op, path string) error {
		if op == "syncdir" && filepath.Base(path) == "bridges" {
			return syscall.EIO
		}
		return nil
	})
	if err := at.place("inbox.jsonl", []byte("two\n"), 4); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	mended()
	lethetest.Holds(t, filepath.Join(at.dir(), "inbox.jsonl"), "one\n")
	lethetest.Must(t, at.place("inbox.jsonl", []byte("two\n"), 4))
	lethetest.Holds(t, filepath.Join(at.dir(), "inbox.jsonl"), "one\ntwo\n")
}

// A bridge knows its own text for its own after a lost answer, and no line of it stands twice.
func TestBridgeLosesAnAnswer(t *testing.T) {
	t.Parallel()
	a := first(t)
	b := a.beside("b")
	loses := &lossy{Store: a.streams.Store, stream: "bridges/telegram"}
	a.streams.Store = loses
	inbox := func(h *host) string { return filepath.Join(h.home.Dir, "bridges", "telegram", "inbox.jsonl") }
	lethetest.Must(t, durable.MkdirAll(filepath.Dir(inbox(a)), 0o700))
	lethetest.Must(t, durable.WriteFile(inbox(a), []byte("first\n"), 0o600))
	at := a.Bridge(t.Context(), "telegram")
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
	lethetest.Must(t, a.Bridge(t.Context(), "telegram").Begin()) // as after a kill
	lethetest.Holds(t, inbox(a), "first\none\ntwo\nthree\n")
	lethetest.Must(t, b.Bridge(t.Context(), "telegram").Begin())
	lethetest.Holds(t, inbox(b), "first\none\ntwo\nthree\n")
}

// Any host changes who may speak. The one that has the bridge keeps it, and writes nothing that rests on the older list; a
// host that takes the bridge has the newest one.
func TestPeopleAreChangedByAnyHost(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b, c := a.beside("b"), a.beside("c")
		people := func(h *host) string { return filepath.Join(h.home.Dir, "bridges", "telegram", peopleFile) }
		change := func(h *host, from, to string) error {
			return h.Bridge(t.Context(), "telegram").Change(func() ([]byte, error) {
				lethetest.Holds(t, people(h), from)
				return []byte(to), nil
			})
		}
		lethetest.Must(t, durable.MkdirAll(filepath.Dir(people(a)), 0o700))
		lethetest.Must(t, durable.WriteFile(people(a), []byte("one"), 0o600))
		at := a.Bridge(t.Context(), "telegram")
		lethetest.Must(t, at.Begin())
		kill := a.serve()
		lethetest.Must(t, change(b, "one", "two"))
		if err := at.Wrote("peers/42.json", []byte("{}"), 0); !errors.Is(err, errPeople) {
			t.Errorf("something rests on the older list: %v", err)
		}
		lethetest.Holds(t, people(a), "two")
		lethetest.Must(t, at.Wrote("peers/42.json", []byte("{}"), 0))
		lethetest.Must(t, change(a, "two", "three")) // beside the process that has the bridge
		lethetest.Must(t, at.Wrote("peers/42.json", []byte("{}"), 0))
		lethetest.Must(t, change(b, "three", "four"))
		lethetest.Must(t, at.Refresh())
		lethetest.Holds(t, people(a), "four")
		lethetest.Must(t, at.Wrote("peers/42.json", []byte("{}"), 0))

		loses := &lossy{Store: b.streams.Store, stream: "bridges/telegram"}
		b.streams.Store = loses
		loses.lose.Store(true)
		if err := change(b, "four", "five"); !errors.Is(err, share.ErrAway) {
			t.Errorf("the answer is not lost: %v", err)
		}
		kill()
		next := c.Bridge(t.Context(), "telegram")
		lethetest.Must(t, next.Begin())
		lethetest.Holds(t, people(c), "five")
		lethetest.Must(t, change(a, "five", "six")) // a command reads the book, and the stale process still does not write
		if err := at.Wrote("peers/42.json", []byte("stale"), 0); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a stale host writes: %v", err)
		}
		lethetest.Must(t, next.Refresh())
		lethetest.Holds(t, people(c), "six")
	})
}

// Who may speak is known to a bridge that begins later, at whichever host.
func TestPeopleBeforeTheBridge(t *testing.T) {
	t.Parallel()
	a := first(t)
	b := a.beside("b")
	lethetest.Must(t, a.Bridge(t.Context(), "telegram").Change(func() ([]byte, error) { return []byte("one"), nil }))
	lethetest.Must(t, b.Bridge(t.Context(), "telegram").Begin())
	lethetest.Holds(t, filepath.Join(b.home.Dir, "bridges", "telegram", peopleFile), "one")
}

// A host that has found another one silent takes its bridge at once, and does not wait a second time.
func TestBridgeIsTakenAtOnce(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		lethetest.Must(t, a.Bridge(t.Context(), "telegram").Begin())
		kill := a.serve()
		defer b.serve()()
		lethetest.Eventually(t, "b knows ada", func() bool { all, _ := b.Lives(); return len(all) == 1 })
		kill()
		lethetest.Eventually(t, "b has taken ada", func() bool { return b.hasRun("ada") })
		began := time.Now()
		lethetest.Must(t, b.Bridge(t.Context(), "telegram").Begin())
		if took := time.Since(began); took > renewEvery {
			t.Errorf("it waits for %v once more", took)
		}
	})
}

// A bridge that waits for another host ends with the drain of its own, also if that has a daemon, and takes nothing then.
func TestWaitingBridgeIsDrained(t *testing.T) {
	for _, daemon := range []bool{true, false} {
		atPace(t, func(t *testing.T) {
			a := first(t)
			b := a.beside("b")
			a.boot("ada")
			lethetest.Must(t, a.Bridge(t.Context(), "telegram").Begin())
			kill := a.serve()
			defer kill()
			if daemon {
				defer b.serve()()
			}
			beside := New(&home.Home{Dir: b.home.Dir}, b.conf, b.store, b.log)
			defer beside.Close()
			lethetest.Must(t, beside.connect())            // which names it
			ctx, cancel := context.WithCancel(t.Context()) // as the command of a bridge does
			drained, ended := make(chan error, 1), make(chan error, 1)
			go func() {
				drained <- beside.Follow(ctx, nil, true)
				cancel()
			}()
			go func() { ended <- beside.Bridge(ctx, "telegram").Begin() }()
			time.Sleep(5 * time.Minute)
			began := time.Now()
			lethetest.Must(t, a.Drain(t.Context(), beside.Host.ID))
			if err := <-drained; err != ErrDrained {
				t.Errorf("%v", err)
			}
			select {
			case err := <-ended:
				if took := time.Since(began); !errors.As(err, new(*home.ElsewhereError)) || took > 15*time.Second {
					t.Errorf("the bridge ends after %v with %v", took, err)
				}
			case <-time.After(time.Minute):
				kill()
				t.Errorf("the bridge goes on waiting, and then begins with %v", <-ended)
			}
		})
	}
}
