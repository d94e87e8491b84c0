package bridge

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Somebody removes the state of a running bridge, or its lock, and another process
// starts: the first one ends and leaves the files to it.
func TestLockRemoved(t *testing.T) {
	for name, taken := range map[string]bool{"with nobody else": false, "with another process": true} {
		for _, what := range []string{"lock", ""} {
			t.Run(name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { lockRemoved(t, what, taken) })
			})
		}
	}
}

func lockRemoved(t *testing.T, what string, taken bool) {
	home := t.TempDir()
	b := open(t, home)
	b.accept(t, message("1", "ada", "one"))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(t.Context()) }() // ends with the lock
	synctest.Wait()
	if err := os.RemoveAll(inState(home, what)); err != nil {
		t.Fatal(err)
	}
	if taken {
		other := open(t, home)
		other.accept(t, message("2", "ada", "two"))
		other.Trouble(errors.New("not for the first one to touch"))
		other.vital.write(true)
		b.Exchanged() // Run looks at once
	}
	if _, err := b.Accept(t.Context(), "9", message("3", "ada", "three")); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("Accept without the lock: %v", err)
	}
	time.Sleep(checkLock + time.Second)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "removed") {
			t.Errorf("Run without the lock: %v", err)
		}
	default:
		t.Fatal("Run goes on without the lock")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if !taken {
		open(t, home)
	}
	h := health(t, home)
	if h.State != Running || taken != (h.Error == "not for the first one to touch") || !h.Exchanged.IsZero() {
		t.Errorf("health %+v", h)
	}
	for _, l := range lines(t, home, "dev") {
		if l.Text == "three" {
			t.Error("a message that was refused is in the room")
		}
	}
}

// What a clock said that was put back since is not taken for an exchange.
func TestClockPutBack(t *testing.T) {
	for _, c := range []struct {
		ahead, started time.Duration
		want           State
	}{
		{maxAhead - time.Second, 0, Running}, {time.Hour, 0, Deaf}, {time.Hour, time.Hour, Deaf}, {time.Hour, -time.Second, Running},
	} {
		synctest.Test(t, func(t *testing.T) {
			home := t.TempDir()
			b := open(t, home, func(c *Config) { c.Stale = 10 * time.Second })
			if c.started != 0 {
				b.vital.pulse.Started = time.Now().Add(c.started).UTC()
			} else {
				time.Sleep(11 * time.Second)
			}
			b.vital.exchanged(time.Now().Add(c.ahead))
			b.vital.write(true)
			if h := health(t, home); h.State != c.want || h.Exchanged.IsZero() != (c.ahead > maxAhead) {
				t.Errorf("%+v: health %+v", c, h)
			}
			b.Exchanged()
			b.vital.write(true)
			if h := health(t, home); h.State != Running {
				t.Errorf("after an exchange: %+v", h)
			}
		})
	}
}
