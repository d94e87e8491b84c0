package telegram

import (
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
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
		chats, second, minute int64 // messages at most
		group                 bool
	}{{1, 4, 63, false}, {1, 6, 20, true}, {200, 30, 2000, false}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPace(1)
			var times []time.Time
			for i := range int64(200) {
				chat := i%c.chats + 1
				if c.group {
					chat = -chat
				}
				lethetest.Must(t, p.wait(t.Context(), chat))
				times = append(times, time.Now())
			}
			if s, m := most(times, time.Second), most(times, time.Minute); s > int(c.second) || m > int(c.minute) {
				t.Errorf("%+v: %d in a second, %d in a minute", c, s, m)
			}
		})
	}
}
