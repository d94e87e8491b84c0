package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Sending fails while fetching goes well: one line in the log when it begins and one
// when it ends, however often the other side is fetched from, and the bridge is not
// healthy once a line has waited for long.
func TestSendingFailsFetchingDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		log := &captured{}
		b := open(t, home, func(c *Config) { c.Log, c.Listens = log.logger(), true })
		b.run(t)
		fetch := time.NewTicker(20 * time.Second)
		defer fetch.Stop()
		go func() { // ends with the test's bubble
			for {
				select {
				case <-t.Context().Done():
					return
				case <-fetch.C:
					b.Exchanged()
				}
			}
		}()
		b.Exchanged()
		b.accept(t, message("1", "ada", "question"), message("2", "bob", "question"))
		agentSays(t, home, "answer")
		var down atomic.Bool
		down.Store(true)
		s := &script{answer: func(context.Context, int, string) error {
			if down.Load() {
				return errors.New("500 internal server error")
			}
			return nil
		}}
		b.deliver(t, ada, s)
		b.deliver(t, Peer{"p-bob", "dev"}, &script{})
		time.Sleep(4*time.Minute + 50*time.Second)
		if h := health(t, home); h.State != Running || !h.Healthy() || h.Error != "peer p-ada: 500 internal server error" {
			t.Errorf("before the time: %+v", h)
		}
		time.Sleep(2 * time.Minute)
		h := health(t, home)
		if h.State != Running || h.Healthy() || h.Late.IsZero() || h.Out != 1 || h.Error != "peer p-ada: 500 internal server error" {
			t.Errorf("a line waits for 6 min: %+v", h)
		}
		if !strings.Contains(h.Ailment(), "late") {
			t.Errorf("the bridge is %q", h.Ailment())
		}
		if log.count("cannot send to pager") != 1 || log.count("reaches pager") > 0 || log.count("sends to pager again") > 0 {
			t.Errorf("the log says:\n%s", log)
		}
		down.Store(false)
		time.Sleep(2 * time.Minute)
		equal(t, "sent", s.got(), []string{"answer"})
		if h := health(t, home); !h.Healthy() || !h.Late.IsZero() {
			t.Errorf("after it was sent: %+v", h)
		}
		if log.count("cannot send to pager") != 1 || log.count("sends to pager again") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// What the other side asks to wait for is not late, nor is a peer that takes nothing
// until somebody acts there; a request without an answer is.
func TestWhatIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(ctx context.Context, n int, text string) error
		late   bool
	}{
		"told to wait": {func(context.Context, int, string) error {
			return &LaterError{4 * time.Minute, errors.New("too many requests")}
		}, false},
		"told to wait, not how long": {func(context.Context, int, string) error {
			return &LaterError{0, errors.New("too many requests")}
		}, false},
		"unreachable": {func(context.Context, int, string) error { return &UnreachableError{errors.New("blocked")} }, false},
		"unreachable, with trouble between": {func(_ context.Context, n int, _ string) error {
			if n == 2 {
				return errors.New("bad gateway")
			}
			return &UnreachableError{errors.New("blocked")}
		}, false},
		"hangs": {func(ctx context.Context, _ int, _ string) error { <-ctx.Done(); return ctx.Err() }, true},
		"told to wait, and fails": {func(_ context.Context, n int, _ string) error {
			if n == 1 {
				return &LaterError{2 * time.Minute, errors.New("too many requests")}
			}
			return errors.New("bad gateway")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := t.TempDir()
				b := open(t, home, func(c *Config) { c.Stale = time.Hour })
				b.run(t)
				b.accept(t, message("1", "ada", "question"))
				agentSays(t, home, "answer")
				b.deliver(t, ada, &script{answer: c.answer})
				time.Sleep(31 * time.Minute)
				if h := health(t, home); h.Late.IsZero() == c.late || h.Healthy() == c.late {
					t.Errorf("health %+v", h)
				}
			})
		})
	}
}

// A line that cannot get into its room is late, too.
func TestLateInward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		b := open(t, home, func(c *Config) { c.Stale = time.Hour })
		b.run(t)
		path := roomPath(t, home)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		b.accept(t, message("1", "ada", "hello"))
		time.Sleep(7 * time.Minute)
		if h := health(t, home); h.Late.IsZero() || h.Healthy() || h.In != 1 {
			t.Errorf("health %+v", h)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		if h := health(t, home); !h.Healthy() || h.In != 0 {
			t.Errorf("health %+v", h)
		}
	})
}

// A full inbox shows as long as it is full, and the log tells its beginning and end.
func TestFullInboxShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		log := &captured{}
		b := open(t, home, func(c *Config) {
			c.Log, c.Listens, c.Stale = log.logger(), true, time.Hour
			c.Flood.User = Rate{1, 2 * time.Second}
		})
		b.inbox.most = 100
		b.run(t)
		flood := func(from, to int) {
			var batch []Message
			for i := from; i < to; i++ {
				batch = append(batch, message(fmt.Sprint(i), "eve", fmt.Sprint("spam ", i)))
			}
			b.accept(t, batch...)
		}
		flood(0, 90)
		synctest.Wait()
		if h := health(t, home); !h.Healthy() || !h.Full.IsZero() {
			t.Errorf("not full yet: %+v", h)
		}
		ended := make(chan struct{})
		go func() { // ends when all that is in
			defer close(ended)
			for i := 90; i < 400; i += 20 {
				flood(i, i+20)
				time.Sleep(30 * time.Second) // somebody fetches more
			}
		}()
		for range 20 {
			time.Sleep(30 * time.Second)
			if h := health(t, home); h.State != Running || h.Healthy() || h.Full.IsZero() || !strings.Contains(h.Error, "full with 100 lines, most of them of eve") {
				t.Fatalf("full: %+v", h)
			}
		}
		<-ended
		time.Sleep(5 * time.Minute)
		if h := health(t, home); !h.Healthy() || !h.Full.IsZero() {
			t.Errorf("not full any more: %+v", h)
		}
		if log.count("the inbox is full") != 1 || log.count("the inbox has room again") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
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
		"another's":  {func(home string) error { return os.WriteFile(inState(home, "lock"), []byte("1\n"), 0o600) }, "earlier process"},
		"lock, pipe": {func(home string) error { return pipe(inState(home, "lock")) }, "lock: not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			open(t, home)
			if err := c.spoil(home); err != nil {
				t.Fatal(err)
			}
			// A process that has just begun has had no time to write the file.
			old := time.Now().Add(-3 * time.Minute)
			if err := os.Chtimes(inState(home, "lock"), old, old); err != nil {
				t.Fatal(err)
			}
			h := health(t, home)
			if h.State != Unknown || h.Healthy() || !h.Runs() || !strings.Contains(h.Error, c.want) {
				t.Errorf("health %+v, %q", h, h.Error)
			}
		})
	}
}

// A process that cannot write how it fares does not keep its last good word.
func TestHealthThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		b := open(t, home)
		b.run(t)
		b.Exchanged()
		synctest.Wait()
		good, err := os.ReadFile(inState(home, "health.json"))
		if err != nil {
			t.Fatal(err)
		}
		for range 10 { // it says that it lives, also when nothing happens but exchanges that it cannot write
			time.Sleep(time.Minute)
			b.Exchanged()
			synctest.Wait()
			if h := health(t, home); !h.Healthy() {
				t.Fatalf("health %+v", h)
			}
		}
		if err := os.WriteFile(inState(home, "health.json"), good, 0o600); err != nil {
			t.Fatal(err)
		}
		h := health(t, home)
		if h.State != Unknown || h.Healthy() || !strings.Contains(h.Error, "was written 10m0s ago") {
			t.Errorf("health %+v", h)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if h := health(t, home); h.State != Running {
			t.Errorf("written again: %+v", h)
		}
	})
}

// A bridge that could not be opened is dead, and says why.
func TestCouldNotOpen(t *testing.T) {
	home := t.TempDir()
	if err := Failed(home, "pager", errors.New("no token")); err != nil {
		t.Errorf("never opened: %v", err)
	}
	if _, err := os.Stat(inState(home, "")); err == nil {
		t.Error("a bridge that was never opened has a directory")
	}
	if err := open(t, home).Close(); err != nil {
		t.Fatal(err)
	}
	if err := Failed(home, "pager", errors.New("no token")); err != nil {
		t.Error(err)
	}
	if h := health(t, home); h.State != Dead || h.Healthy() || h.Error != "no token" {
		t.Errorf("health %+v", h)
	}
	if err := os.Mkdir(inState(home, "inbox.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := Open(Config{Home: home, Name: "pager", Watcher: idle()}); err == nil {
		b.Close()
		t.Fatal("opened with a directory for an inbox")
	}
	if err := os.Remove(inState(home, "inbox.jsonl")); err != nil {
		t.Fatal(err)
	}
	if h := health(t, home); h.State != Dead || !strings.HasPrefix(h.Error, "open bridge pager: ") || !strings.Contains(h.Error, "inbox.jsonl") {
		t.Errorf("health %+v", h)
	}
	b := open(t, home)
	if err := Failed(home, "pager", errors.New("no token")); !errors.As(err, new(*RunningError)) {
		t.Errorf("another process has it: %v", err)
	}
	if h := health(t, home); h.State != Running || h.Error != "" {
		t.Errorf("health %+v", h)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
