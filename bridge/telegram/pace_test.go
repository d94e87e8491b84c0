package telegram

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge"
)

// What Telegram is known to take is never exceeded, and a chat that waits makes no
// other wait.
func TestPace(t *testing.T) {
	most := func(times []time.Time, span time.Duration) (n int) {
		for i, at := range times {
			k := i
			for k < len(times) && times[k].Sub(at) < span {
				k++
			}
			n = max(n, k-i)
		}
		return n
	}
	for _, c := range []struct {
		chat        int64
		second, min int
	}{{7, 4, 63}, {-7, 6, 20}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPace(telegramRates)
			var times []time.Time
			for range 100 {
				if err := p.wait(t.Context(), c.chat); err != nil {
					t.Fatal(err)
				}
				times = append(times, time.Now())
			}
			if n := most(times, time.Second); n > c.second {
				t.Errorf("chat %d: %d in a second", c.chat, n)
			}
			if n := most(times, time.Minute); n > c.min {
				t.Errorf("chat %d: %d in a minute", c.chat, n)
			}
			began := time.Now()
			if err := p.wait(t.Context(), 8); err != nil || time.Since(began) > time.Second {
				t.Errorf("another chat waited %s, %v", time.Since(began), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPace(telegramRates)
		var times []time.Time
		for chat := range int64(200) {
			if err := p.wait(t.Context(), chat+1); err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Now())
		}
		if n := most(times, time.Second); n > 30 {
			t.Errorf("%d in a second over all", n)
		}
		_ = p.hold(1, 10*time.Second)
		_ = p.hold(1, time.Second)
		var later *bridge.LaterError
		if err := p.wait(t.Context(), 1); !errors.As(err, &later) || later.After != 10*time.Second {
			t.Errorf("after a hold: %v", err)
		}
		time.Sleep(10 * time.Second)
		if err := errors.Join(p.wait(t.Context(), 1), p.wait(t.Context(), 2)); err != nil {
			t.Error(err)
		}
	})
}
