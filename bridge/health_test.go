package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/status"
)

func health(t testing.TB, home string) Health {
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
		b := open(t, home, func(c *Config) { c.Stale = time.Minute })
		// A directory that the command line made for the policy is no bridge yet.
		if err := os.MkdirAll(filepath.Join(home, "bridges", "other"), 0o700); err != nil {
			t.Fatal(err)
		}
		is := func(want State, healthy bool) Health {
			t.Helper()
			synctest.Wait()
			h := health(t, home)
			if h.State != want || h.Healthy() != healthy || h.PID != os.Getpid() {
				t.Fatalf("health %+v, not %s", h, want)
			}
			return h
		}
		end := b.run(t)
		is(Running, true)
		time.Sleep(59 * time.Second)
		is(Running, true)
		time.Sleep(2 * time.Second)
		if h := is(Deaf, false); !h.Exchanged.IsZero() || h.Stale != time.Minute {
			t.Errorf("health %+v", h)
		}
		b.Exchanged()
		heard := time.Now()
		if h := is(Running, true); !h.Exchanged.Equal(heard) {
			t.Errorf("exchanged at %s, not %s", h.Exchanged, heard)
		}
		time.Sleep(61 * time.Second)
		is(Deaf, false)
		b.Exchanged()
		end()

		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if h := is(Stopped, true); !h.Stopped.Equal(time.Now()) {
			t.Errorf("health %+v", h)
		}
		if err := b.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
		if _, err := b.Accept(t.Context(), ""); err != nil && !errors.Is(err, errClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
		if _, err := b.Accept(t.Context(), "1", message("1", "ada", "x")); !errors.Is(err, errClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
		if err := b.Run(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("Run after Close: %v", err)
		}

		b = open(t, home)
		is(Running, true)
		b.accept(t, message("1", "ada", "question"))
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		is(Stopped, true)
		agentSays(t, home, "answer")
		if h := is(Stopped, false); h.Out != 1 || h.In != 0 {
			t.Errorf("health %+v", h)
		}
		b = open(t, home)
		b.abandon()
		is(Dead, false)
		if err := os.Remove(inState(home, "health.json")); err != nil {
			t.Fatal(err)
		}
		if h := health(t, home); h.State != Dead || h.Error == "" {
			t.Errorf("health without its file: %+v", h)
		}
	})
}

// A bridge that gave up is dead and says why, until it is opened again.
func TestFail(t *testing.T) {
	home := t.TempDir()
	b := open(t, home)
	b.Fail(nil)
	b.Fail(errors.New("the token was revoked"))
	b.Fail(errors.New("a consequence"))
	b.Trouble(errors.New("connection reset"))
	b.Exchanged()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if h := health(t, home); h.State != Dead || h.Healthy() || h.Error != "the token was revoked" || !h.Stopped.IsZero() || h.ErrorAt.IsZero() {
		t.Errorf("health %+v", h)
	}
	if err := open(t, home).Close(); err != nil {
		t.Fatal(err)
	}
	if h := health(t, home); h.State != Stopped || !h.Healthy() || h.Error != "" {
		t.Errorf("health after a clean run: %+v", h)
	}
	b = open(t, home)
	b.Fail(nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if h := health(t, home); h.State != Stopped {
		t.Errorf("health after a failure with nil: %+v", h)
	}
}

// That sending goes well does not hide that nothing is heard.
func TestListens(t *testing.T) {
	for _, listens := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			home := t.TempDir()
			b := open(t, home, func(c *Config) { c.Stale, c.Listens = time.Minute, listens })
			b.run(t)
			s := &script{}
			b.catchUp(t, ada, s)
			b.Trouble(errors.New("another program fetches too"))
			time.Sleep(2 * time.Minute)
			agentSays(t, home, "can you hear me?")
			b.deliver(t, ada, s)
			settled()
			equal(t, fmt.Sprint("sent, listens ", listens), s.got(), []string{"can you hear me?"})
			want := Running
			if listens {
				want = Deaf
			}
			if h := health(t, home); h.State != want {
				t.Errorf("listens %v: health %+v", listens, h)
			}
		})
	}
}

func TestOneProcess(t *testing.T) {
	home := t.TempDir()
	b := open(t, home)
	_, err := Open(Config{Home: home, Name: "pager", Watcher: chat.NewWatcher(0, nil)})
	var running *RunningError
	if !errors.As(err, &running) || running.PID != os.Getpid() || running.Bridge != "pager" {
		t.Fatalf("opened twice: %v", err)
	}
	// Who asks after the bridge does not keep it from being opened.
	b.abandon()
	stop, asked := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(asked)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = ReadHealth(home)
			}
		}
	}()
	for range 20 {
		open(t, home).abandon()
	}
	close(stop)
	<-asked
	for name, mode := range map[string]os.FileMode{"": 0o700, "peers": 0o700, "lock": 0o600, "health.json": 0o600} {
		if fi, err := os.Stat(inState(home, name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, %v", name, fi.Mode(), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	w := chat.NewWatcher(0, nil)
	for name, c := range map[string]Config{
		"name": {Name: "../x", Watcher: w}, "watcher": {Name: "x"},
		"negative": {Name: "x", Watcher: w, Flood: Flood{User: Rate{Lines: -1}}},
		"no time":  {Name: "x", Watcher: w, Flood: Flood{Room: Rate{Lines: 1}}},
	} {
		c.Home = t.TempDir()
		if b, err := Open(c); err == nil {
			b.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

// What crashed writes left is removed; what another process may be writing is not.
func TestSweep(t *testing.T) {
	home := t.TempDir()
	open(t, home).abandon()
	for _, name := range []string{".tmp-new", ".tmp-old", "peers/.tmp-new"} {
		if err := os.WriteFile(inState(home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(inState(home, ".tmp-old"), old, old); err != nil {
		t.Fatal(err)
	}
	open(t, home)
	for name, kept := range map[string]bool{".tmp-new": true, ".tmp-old": false, "peers/.tmp-new": false} {
		if _, err := os.Stat(inState(home, name)); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOutIsBounded(t *testing.T) {
	home := t.TempDir()
	b := open(t, home)
	if err := b.Move(ada); err != nil {
		t.Fatal(err)
	}
	b.abandon()
	line := "[AGENT:lethe 2026-11-20T12:00:00Z] spam\n"
	room := strings.Repeat(line, maxCount+5)
	if err := os.MkdirAll(chat.Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(chat.Path(home, "dev"), []byte(room), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := health(t, home); h.Out != maxCount {
		t.Errorf("%d lines wait", h.Out)
	}
}

func TestWorking(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "abc")
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
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
		if err := status.Write(dir, changed); err != nil {
			t.Fatal(err)
		}
		if dev, ops := Working(home, "dev"), Working(home, "ops"); dev != c.dev || ops != c.ops {
			t.Errorf("%s: working in dev %v, in ops %v", name, dev, ops)
		}
	}
}
