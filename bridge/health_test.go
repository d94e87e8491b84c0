package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/health"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/internal/status"
)

func healthOf(t testing.TB, home string) health.Health {
	t.Helper()
	all, err := ReadHealth(home)
	if err != nil || len(all) != 1 {
		t.Fatalf("health %+v, %v", all, err)
	}
	return all[0]
}

func TestHealthStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		if all, err := ReadHealth(home); len(all) != 0 || err != nil {
			t.Errorf("health of a home without bridges: %v, %v", all, err)
		}
		b := start(t, home)
		// A directory that the command line made for the policy is no bridge yet.
		lethetest.Must(t, os.MkdirAll(filepath.Join(home, "bridges", "other"), 0o700))
		is := func(want health.State, healthy bool) health.Health {
			t.Helper()
			h := healthOf(t, home)
			if h.State != want || h.Healthy() != healthy || h.PID != os.Getpid() {
				t.Fatalf("health %+v, not %s", h, want)
			}
			return h
		}
		end := b.run(t)
		is(health.Running, true)
		time.Sleep(health.Stale - time.Second)
		is(health.Running, true)
		time.Sleep(2 * time.Second)
		is(health.Deaf, false)
		b.Exchanged()
		heard := time.Now()
		time.Sleep(2 * time.Second)
		if h := is(health.Running, true); !h.Exchanged.Equal(heard) {
			t.Errorf("exchanged at %s, not %s", h.Exchanged, heard)
		}
		time.Sleep(health.Stale)
		is(health.Deaf, false)
		end()
		lethetest.Must(t, errors.Join(b.Close(), b.Close()))
		if h := is(health.Stopped, true); !h.Stopped.Equal(time.Now()) {
			t.Errorf("health %+v", h)
		}
		if _, err := b.Accept("1", message("1", "ada", "x")); err == nil {
			t.Errorf("Accept after Close: %v", err)
		}

		b = start(t, home)
		is(health.Running, true)
		b.accept(t, message("1", "ada", "question"))
		lethetest.Must(t, b.Close())
		agentSays(t, home, "answer")
		if h := is(health.Stopped, false); h.Out != 1 || h.In != 0 {
			t.Errorf("health %+v", h)
		}
		start(t, home).abandon()
		is(health.Dead, false)
		lethetest.Must(t, os.Remove(inState(home, "health.json")))
		if h := healthOf(t, home); h.State != health.Dead || h.Error == "" {
			t.Errorf("health without its file: %+v", h)
		}
	})
}

// A bridge that gave up is dead and says why, until it is opened again.
func TestFail(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	b.Fail(nil)
	b.Fail(errors.New("the token was revoked"))
	b.Fail(errors.New("a consequence"))
	b.Trouble(errors.New("connection reset"))
	b.Exchanged()
	lethetest.Must(t, b.Close())
	if h := healthOf(t, home); h.State != health.Dead || h.Healthy() || h.Error != "the token was revoked" || !h.Stopped.IsZero() || h.ErrorAt.IsZero() {
		t.Errorf("health %+v", h)
	}
	b = start(t, home)
	b.Fail(nil)
	lethetest.Must(t, b.Close())
	if h := healthOf(t, home); h.State != health.Stopped || !h.Healthy() || h.Error != "" {
		t.Errorf("health after a clean run: %+v", h)
	}
}

func TestOpen(t *testing.T) {
	home := t.TempDir()
	w := chat.NewWatcher(0, nil)
	if _, err := Open(Config{Name: "../x", Watcher: w, Home: home}); err == nil {
		t.Error("opened a bridge outside its directory")
	}
	b := start(t, home)
	_, err := Open(Config{Home: home, Name: "pager", Watcher: w})
	if !errors.Is(err, ErrRunning) || err.Error() != fmt.Sprintf("open bridge pager: another process runs it: process %d", os.Getpid()) {
		t.Fatalf("opened twice: %v", err)
	}
	b.abandon()
	// To ask after the bridge does not keep it from being opened.
	var asking sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	asking.Go(func() {
		for ctx.Err() == nil {
			_, _ = ReadHealth(home)
		}
	})
	for range 20 {
		start(t, home).abandon()
	}
	stop()
	asking.Wait()
	for name, mode := range map[string]os.FileMode{"": 0o700, "peers": 0o700, "lock": 0o600, "health.json": 0o600} {
		if fi, err := os.Stat(inState(home, name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, %v", name, fi.Mode(), err)
		}
	}
}

func TestWorking(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "abc")
	lethetest.Must(t, durable.MkdirAll(dir, 0o700))
	if Working(home, "dev") {
		t.Error("somebody works in an empty home")
	}
	s := status.Status{PID: os.Getpid(), State: status.Thinking, Rooms: []string{"dev", "ops"}}
	for name, c := range map[string]struct {
		change   func(*status.Status)
		dev, ops bool
	}{
		"for all":      {func(*status.Status) {}, true, true},
		"for one":      {func(s *status.Status) { s.Answering = []string{"ops"} }, false, true},
		"acting":       {func(s *status.Status) { s.State = status.Acting; s.Answering = []string{"dev"} }, true, false},
		"idle":         {func(s *status.Status) { s.State = status.Idle }, false, false},
		"elsewhere":    {func(s *status.Status) { s.Rooms = []string{"ops"} }, false, true},
		"dead":         {func(s *status.Status) { s.PID = 1 << 30 }, false, false},
		"never lived":  {func(s *status.Status) { s.PID = 0 }, false, false},
		"other's turn": {func(s *status.Status) { s.Answering = []string{"abc"} }, false, false},
	} {
		changed := s
		c.change(&changed)
		lethetest.Must(t, status.Write(dir, changed))
		if dev, ops := Working(home, "dev"), Working(home, "ops"); dev != c.dev || ops != c.ops {
			t.Errorf("%s: working in dev %v, in ops %v", name, dev, ops)
		}
	}
}

// What the other side asks to wait for is not late, nor is a peer that takes nothing
// until somebody acts there.
func TestWhatIsLate(t *testing.T) {
	gateway, blocked := errors.New("bad gateway"), fmt.Errorf("%w: blocked", ErrUnreachable)
	for name, c := range map[string]struct {
		first, then error
		late        bool
	}{
		"told to wait":                      {nil, &LaterError{4 * time.Minute, errors.New("too many requests")}, false},
		"told to wait, not how long":        {nil, &LaterError{0, errors.New("too many requests")}, false},
		"unreachable":                       {nil, blocked, false},
		"unreachable, with trouble between": {gateway, blocked, false},
		"fails":                             {nil, gateway, true},
		"told to wait, and fails":           {&LaterError{2 * time.Minute, errors.New("too many requests")}, gateway, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := t.TempDir()
				log := &captured{}
				b := start(t, home, func(c *Config) { c.Log = log.logger() })
				b.run(t)
				b.accept(t, message("1", "ada", "question"))
				agentSays(t, home, "answer")
				b.deliver(t, ada, &script{answer: func(_ context.Context, n int, _ string) error {
					if n == 1 && c.first != nil {
						return c.first
					}
					return c.then
				}})
				look := func(after time.Duration) health.Health {
					time.Sleep(after)
					b.Exchanged()
					time.Sleep(2 * time.Second)
					return healthOf(t, home)
				}
				if h := look(4 * time.Minute); !h.Healthy() || h.Out != 1 || !strings.Contains(h.Error, "send to peer p-ada: ") {
					t.Errorf("before the time: %+v", h)
				}
				if h := look(27 * time.Minute); h.Late.IsZero() == c.late || h.Healthy() == c.late {
					t.Errorf("health %+v", h)
				}
				if n := log.count("cannot send to peer p-ada"); c.late && n != 1 || strings.HasPrefix(name, "told to wait") && !c.late && n > 0 {
					t.Errorf("the log says:\n%s", log)
				}
			})
		})
	}
}

// What cannot be known is not healthy.
func TestUnknown(t *testing.T) {
	path := func(home string) string { return inState(home, "health.json") }
	for name, c := range map[string]struct {
		spoil func(home string) error
		want  string // in Error
	}{
		"missing":    {func(home string) error { return os.Remove(path(home)) }, "health.json"},
		"garbage":    {func(home string) error { return os.WriteFile(path(home), []byte("{\x00"), 0o600) }, "invalid character"},
		"empty":      {func(home string) error { return os.WriteFile(path(home), []byte("{}"), 0o600) }, "nothing of a bridge"},
		"a pipe":     {func(home string) error { return pipe(path(home)) }, "not a regular file"},
		"lock, pipe": {func(home string) error { return pipe(inState(home, "lock")) }, "lock: not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			start(t, home)
			lethetest.Must(t, c.spoil(home))
			h := healthOf(t, home)
			if h.State != health.Unknown || h.Healthy() || !h.Runs() || !strings.Contains(h.Error, c.want) {
				t.Errorf("health %+v, %q", h, h.Error)
			}
		})
	}
}

// A bridge that could not be opened is dead, and says why.
func TestCouldNotOpen(t *testing.T) {
	home := t.TempDir()
	noToken := errors.New("no token")
	Failed(home, "pager", noToken)
	if _, err := os.Stat(inState(home, "")); err == nil {
		t.Error("a bridge that was never opened has a directory")
	}
	lethetest.Must(t, start(t, home).Close())
	Failed(home, "pager", noToken)
	if h := healthOf(t, home); h.State != health.Dead || h.Error != "no token" {
		t.Errorf("health %+v", h)
	}
	lethetest.Must(t, os.Mkdir(inState(home, "inbox.jsonl"), 0o700))
	if _, err := Open(Config{Home: home, Name: "pager", Watcher: idle()}); err == nil {
		t.Fatal("opened with a directory for an inbox")
	}
	if h := healthOf(t, home); h.State != health.Dead || !strings.Contains(h.Error, "inbox.jsonl") {
		t.Errorf("health %+v", h)
	}
	lethetest.Must(t, os.Remove(inState(home, "inbox.jsonl")))
	start(t, home)
	Failed(home, "pager", noToken) // another process has it
	if h := healthOf(t, home); h.State != health.Running || h.Error != "" {
		t.Errorf("health %+v", h)
	}
}
