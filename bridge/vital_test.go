package bridge

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		log := &captured{}
		b := open(t, home, func(c *Config) { c.Log = log.logger() })
		b.run(t)
		b.Exchanged()
		b.Trouble(nil)
		for range 63 {
			b.Trouble(errors.New("502 bad gateway"))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if h := health(t, home); h.Error != "502 bad gateway" || time.Since(h.ErrorAt) > 3*time.Second {
			t.Errorf("health %+v", h)
		}
		b.Exchanged()
		if log.count("cannot reach pager") != 1 || log.count("reaches pager again") != 1 || log.count("after=1m3s") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
		// Two errors that alternate, for five minutes.
		for range 150 {
			b.Trouble(errors.New("timeout"))
			time.Sleep(time.Second)
			b.Trouble(errors.New("409 conflict"))
			time.Sleep(time.Second)
		}
		if n := log.count("still cannot reach pager"); n < 3 || n > 6 {
			t.Errorf("the change is logged %d times:\n%s", n, log)
		}
		b.Exchanged()
		// Fetching fails, sending works: a trouble that begins and ends all the time.
		before := log.count("pager")
		for range 150 {
			b.Trouble(errors.New("409 conflict"))
			time.Sleep(time.Second)
			b.Exchanged()
			time.Sleep(time.Second)
		}
		if n := log.count("pager") - before; n > 12 {
			t.Errorf("a trouble that flickers is logged %d times:\n%s", n, log)
		}
	})
}

// Being told to wait shows as the newest error. It is no trouble: the bridge runs, and
// the log has no warning.
func TestToldToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		log := &captured{}
		b := open(t, home, func(c *Config) { c.Log, c.Stale = log.logger(), time.Minute })
		b.run(t)
		s := &script{answer: func(_ context.Context, n int, _ string) error {
			if n == 1 {
				return &LaterError{35 * time.Second, errors.New("pager asks to wait 35s")}
			}
			return nil
		}}
		if err := b.Move(ada); err != nil {
			t.Fatal(err)
		}
		agentSays(t, home, "hello")
		b.deliver(t, ada, s)
		time.Sleep(time.Second)
		synctest.Wait()
		h := health(t, home)
		if h.State != Running || !h.Healthy() || h.Error != "peer p-ada: pager asks to wait 35s" || log.count("WARN") > 0 {
			t.Errorf("health %+v, log:\n%s", h, log)
		}
	})
}

// health.json is written once a second at most, and not at all when nothing happens.
func TestHealthIsWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		b := open(t, home)
		b.run(t)
		writes := func(do func()) (n int) {
			last := time.Time{}
			for range 500 {
				do()
				time.Sleep(20 * time.Millisecond)
				synctest.Wait()
				b.vital.mu.Lock()
				if at := b.vital.wrote; !at.Equal(last) {
					n, last = n+1, at
				}
				b.vital.mu.Unlock()
			}
			return n
		}
		if n := writes(b.Exchanged); n < 9 || n > 12 {
			t.Errorf("written %d times in 10 s", n)
		}
		time.Sleep(2 * time.Second)
		if n := writes(func() {}); n > 1 {
			t.Errorf("written %d times in 10 s in which nothing happened", n)
		}
		// A directory in its place: that is told once, and nothing else fails.
		log := &captured{}
		b.vital.log = log.logger()
		path := inState(home, "health.json")
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		writes(b.Exchanged)
		if log.count("health cannot be written") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
}
