package bridge

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// What somebody says to end a flood does not wait behind it, and is said once,
// also through a crash.
func TestCommandsPassAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		limit := func(c *Config) {
			c.Flood = Flood{User: Rate{2, 20 * time.Second}, Room: Rate{2, 200 * time.Second}}
		}
		b := open(t, home, limit)
		var flood []Message
		for i := range 20 {
			flood = append(flood, message(fmt.Sprint(i), "ada", fmt.Sprint("line ", i)))
		}
		b.accept(t, flood...)
		stop := message("stop", "ada", "/stop ")
		if delayed := b.accept(t, stop, stop); len(delayed) != 0 {
			t.Errorf("a command is delayed: %+v", delayed)
		}
		want := []string{"ada: line 0", "ada: line 1", "ada: /stop "}
		equal(t, "the room", texts(t, home, "dev"), want)
		b.abandon()
		b = open(t, home, limit)
		b.accept(t, stop)
		b.settleNow()
		equal(t, "the room", texts(t, home, "dev"), append(want, "ada: line 2", "ada: line 3"))
		// A flood of commands has the limit of a user, and is no way around it.
		var stops []Message
		for i := range 6 {
			stops = append(stops, message(fmt.Sprint("stop ", i), "ada", "/status"))
		}
		nobody := message("nobody", "ada", "/stop")
		nobody.Key = ""
		delayed := b.accept(t, append(stops, nobody)...)
		if got := texts(t, home, "dev"); len(got) != 5+2+1 || slices.Contains(got[5:], "ada: line 4") {
			t.Fatalf("the room after many commands: %q", got)
		}
		if len(delayed) != 0 { // ada knows that her lines wait
			t.Errorf("delayed again: %+v", delayed)
		}
		b.run(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		got := texts(t, home, "dev")
		all := len(got)
		slices.Sort(got)
		if n := len(slices.Compact(got)); all != 20+1+6+1 || n != 20+3 || b.inbox.bytes != 0 {
			t.Errorf("%d lines are in the room, %d different ones, and %d bytes wait", all, n, b.inbox.bytes)
		}
	})
}

// Thousands of lines of one user wait, and somebody else's passes.
func TestBurstHoldsUpNobody(t *testing.T) {
	home := t.TempDir()
	b := open(t, home, func(c *Config) { c.Flood.User = Rate{1, time.Hour} })
	const lines = 4000
	var burst []Message
	for i := range lines {
		burst = append(burst, message(fmt.Sprint(i), "ada", fmt.Sprint("line ", i)))
	}
	for chunk := range slices.Chunk(burst, 100) {
		b.accept(t, chunk...)
	}
	b.accept(t, message("b", "bob", "may I?"))
	equal(t, "the room", texts(t, home, "dev"), []string{"ada: line 0", "bob: may I?"})
	if h := health(t, home); h.In != lines-1 {
		t.Errorf("%d lines wait", h.In)
	}
}
