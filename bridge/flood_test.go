package bridge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// play feeds a flow with lines "key room" at seconds, and returns when each
// passed, in order.
type event struct {
	at        time.Duration
	key, room string
}

func play(limits Flood, in []event, step time.Duration) (out []event, order []int) {
	f := newFlow(limits)
	for i, e := range in {
		now := noon.Add(e.at)
		for next := f.next(); !next.IsZero() && next.Before(now); next = f.next() {
			out, order = drain(f, next.Add(step), out, order)
		}
		f.add(now, &item{taken: taken{about: about{Key: e.key, Room: e.room}}, seq: i})
		out, order = drain(f, now, out, order)
	}
	for next := f.next(); !next.IsZero(); next = f.next() {
		out, order = drain(f, next, out, order)
	}
	return out, order
}

func drain(f *flow, now time.Time, out []event, order []int) ([]event, []int) {
	for _, it := range f.due(now) {
		out = append(out, event{now.Sub(noon), it.Key, it.Room})
		order = append(order, it.seq)
	}
	return out, order
}

func TestBurstIsFreeThenOneByOne(t *testing.T) {
	in := make([]event, 6)
	for i := range in {
		in[i] = event{0, "ada", "dev"}
	}
	out, order := play(Flood{User: Rate{3, 30 * time.Second}}, in, 0)
	var at []time.Duration
	for _, e := range out {
		at = append(at, e.at.Round(time.Millisecond)/time.Second)
	}
	if !slices.Equal(at, []time.Duration{0, 0, 0, 10, 20, 30}) || !slices.IsSorted(order) {
		t.Fatalf("lines passed after %v s in order %v", at, order)
	}
	if out, _ := play(Flood{}, in, 0); out[5].at != 0 {
		t.Fatalf("without a limit the last line waits %s", out[5].at)
	}
}

// Three users keep a room at its limit with all that theirs allow. A fourth waits
// for his turn in the room and not for their backlog.
func TestFloodersDoNotHoldUpOthers(t *testing.T) {
	limits := Flood{User: Rate{20, time.Minute}, Room: Rate{30, 30 * time.Second}}
	var in []event
	for range 300 {
		for _, key := range []string{"a", "b", "c"} {
			in = append(in, event{0, key, "dev"})
		}
	}
	in = append(in, event{2 * time.Minute, "quiet", "dev"})
	out, _ := play(limits, in, 0)
	i := slices.IndexFunc(out, func(e event) bool { return e.key == "quiet" })
	// Over the two minutes the three were allowed 20 + 40 each, the room 30 + 120:
	// thirty of their lines are before it at most.
	if wait := out[i].at - 2*time.Minute; wait > 31*time.Second {
		t.Fatalf("the quiet user's line waits for %s", wait)
	}
	if last := out[len(out)-1]; last.at < 13*time.Minute {
		t.Fatalf("the backlog is over after %s: nothing was tested", last.at)
	}
}

// What docs/bridges.md says of the largest backlog of one user, at the limits that the
// Telegram bridge has by default: he needs as long to make it, and others do not wait.
func TestBacklogOfOneUser(t *testing.T) {
	limits := Flood{User: Rate{30, time.Minute}, Room: Rate{120, time.Minute}}
	in := slices.Repeat([]event{{0, "flooder", "dev"}}, maxWaiting)
	in = append(in, event{time.Hour, "ada", "dev"})
	out, _ := play(limits, in, 0)
	if last := out[len(out)-1]; last.at.Truncate(time.Minute) != 5*time.Hour+32*time.Minute {
		t.Errorf("the backlog is over after %s", last.at)
	}
	if i := slices.IndexFunc(out, func(e event) bool { return e.key == "ada" }); out[i].at > time.Hour+time.Second {
		t.Errorf("somebody else waits for %s", out[i].at-time.Hour)
	}
}

// Whatever comes when: each line passes once, no limit is exceeded in any span of
// time, and the lines of a user in a room keep their order.
func TestFlowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Rate {
			return Rate{rapid.IntRange(0, 4).Draw(t, name), time.Duration(rapid.IntRange(1, 20).Draw(t, name+" per")) * time.Second}
		}
		limits := Flood{User: draw("user"), Room: draw("room")}
		n := rapid.IntRange(1, 60).Draw(t, "lines")
		in := make([]event, n)
		at := time.Duration(0)
		for i := range in {
			at += time.Duration(rapid.IntRange(0, 3000).Draw(t, "gap")) * time.Millisecond
			in[i] = event{at, rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "key"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "room")}
		}
		step := time.Duration(rapid.IntRange(0, 5000).Draw(t, "late")) * time.Millisecond
		out, order := play(limits, in, 0)
		if len(out) != n {
			t.Fatalf("%d of %d lines passed", len(out), n)
		}
		pace(t, limits.Room, out, func(e event) string { return e.room })
		inOrder(t, in, order)
		// A look that comes late keeps the order too, and loses nothing.
		late, order := play(limits, in, step)
		if len(late) != n {
			t.Fatalf("%d of %d lines passed with late looks", len(late), n)
		}
		inOrder(t, in, order)
		if limits.Room.Lines == 0 {
			pace(t, limits.User, out, func(e event) string { return e.key })
		}
	})
}

// pace checks that in any span no more lines passed than the burst and the time
// allow.
func pace(t *rapid.T, r Rate, out []event, of func(event) string) {
	if r.Lines == 0 {
		return
	}
	at := map[string][]time.Duration{}
	for _, e := range out {
		if of(e) != "" {
			at[of(e)] = append(at[of(e)], e.at)
		}
	}
	for name, times := range at {
		for i := range times {
			for j := i; j < len(times); j++ {
				may := float64(r.Lines) + float64(times[j]-times[i]+time.Millisecond)/float64(r.every())
				if float64(j-i+1) > may {
					t.Fatalf("%q: %d lines within %s at %+v", name, j-i+1, times[j]-times[i], r)
				}
			}
		}
	}
}

func inOrder(t *rapid.T, in []event, order []int) {
	last := map[string]int{}
	for _, i := range order {
		who := in[i].key + " " + in[i].room
		if before, ok := last[who]; ok && before > i {
			t.Fatalf("line %d of %s passed after line %d", i, who, before)
		}
		last[who] = i
	}
}

func TestFlowForgetsIdleLimits(t *testing.T) {
	f := newFlow(Flood{User: Rate{1, time.Second}, Room: Rate{1, time.Millisecond}})
	now := noon
	for i := range 5 * manyLanes {
		now = now.Add(10 * time.Millisecond)
		f.add(now, &item{taken: taken{about: about{Key: fmt.Sprint(i), Room: "dev"}}, seq: i})
		if got := len(f.due(now)); got != 1 {
			t.Fatalf("%d lines passed", got)
		}
	}
	if len(f.users) > manyLanes {
		t.Fatalf("%d limits are kept for users who said one line each", len(f.users))
	}
}

func TestUntil(t *testing.T) {
	f := newFlow(Flood{User: Rate{1, 10 * time.Second}, Room: Rate{1, 4 * time.Second}})
	add := func(i int, key, room string) {
		f.add(noon, &item{taken: taken{about: about{Key: key, Room: room}}, seq: i})
	}
	add(1, "ada", "dev")
	add(2, "ada", "dev")
	add(3, "bob", "dev")
	add(4, "ada", "ops")
	f.due(noon)
	for _, c := range []struct {
		key, room string
		want      time.Duration
	}{{"ada", "dev", 10 * time.Second}, {"bob", "dev", 4 * time.Second}, {"ada", "ops", 20 * time.Second}, {"eve", "dev", 0}} {
		if got := f.until(noon, c.key, c.room); got != c.want {
			t.Errorf("%s in %s waits %s, not %s", c.key, c.room, got, c.want)
		}
	}
}
