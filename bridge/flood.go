package bridge

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// flow is the queues before the flood limits. A line passes the limit of its
// user first and then that of its room; before each it waits behind the lines
// that got there earlier. So the lines of a user in a room stay in order, and a
// flooder's lines wait before his own limit, not before that of the room, where
// they would hold up everybody. A command for the harness waits for nothing but
// the commands of its user: /stop is not to come behind a flood that it is to end.
//
// It knows no clock: each call says what time it is, and times never run back.
type flow struct {
	limits       Flood
	users, rooms map[string]*lane
	commands     map[string]*lane // by user, each with the limit of a user
}

// lane is the queue before one limit.
type lane struct {
	limit *rate.Limiter // nil: none
	wait  []*item
	head  time.Time // when the first of wait may pass
	last  time.Time // of the newest reservation, since they must not run back
}

func newFlow(limits Flood) *flow {
	return &flow{limits: limits, users: map[string]*lane{}, rooms: map[string]*lane{}, commands: map[string]*lane{}}
}

func (r Rate) check() error {
	if r.Lines < 0 || r.Lines > 0 && r.Per <= 0 {
		return fmt.Errorf("flood limit of %d lines per %s makes no sense", r.Lines, r.Per)
	}
	return nil
}

// every is how far apart lines pass once the burst is used up.
func (r Rate) every() time.Duration {
	if r.Lines == 0 {
		return 0
	}
	return r.Per / time.Duration(r.Lines)
}

func (r Rate) limiter() *rate.Limiter {
	if r.Lines == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Every(r.every()), r.Lines)
}

func laneOf(lanes map[string]*lane, name string, r Rate) *lane {
	l := lanes[name]
	if l == nil {
		l = &lane{limit: r.limiter()}
		lanes[name] = l
	}
	return l
}

// add puts it at the end of its user's queue. A line that counts for nobody
// goes on to its room.
func (f *flow) add(now time.Time, it *item) {
	if it.command {
		limit := f.limits.User
		if it.Key == "" {
			limit = Rate{}
		}
		laneOf(f.commands, it.Key, limit).push(now, it)
		return
	}
	if it.Key == "" {
		laneOf(f.rooms, it.Room, f.limits.Room).push(now, it)
		return
	}
	laneOf(f.users, it.Key, f.limits.User).push(now, it)
}

func (l *lane) push(at time.Time, it *item) {
	l.wait = append(l.wait, it)
	if len(l.wait) == 1 {
		l.reserve(at)
	}
}

// reserve decides when the first line passes, which stands there since at.
func (l *lane) reserve(at time.Time) {
	l.head = at
	if l.limit == nil {
		return
	}
	if at.Before(l.last) {
		at = l.last
	}
	l.last = at
	l.head = at.Add(l.limit.ReserveN(at, 1).DelayFrom(at))
}

func (l *lane) pop() (*item, time.Time) {
	it, at := l.wait[0], l.head
	l.wait = l.wait[1:]
	if len(l.wait) > 0 {
		// Reckoned from when this one could pass, not from when somebody looked:
		// a late look costs nobody a turn.
		l.reserve(at)
	}
	return it, at
}

// due takes out the lines that may be posted by now, in order.
func (f *flow) due(now time.Time) (out []*item) {
	for {
		l, user := f.first()
		if l == nil || l.head.After(now) {
			f.prune(now)
			return out
		}
		it, at := l.pop()
		if user {
			laneOf(f.rooms, it.Room, f.limits.Room).push(at, it)
			continue
		}
		out = append(out, it)
	}
}

// first is the lane whose head passes first; of two at the same time, the one
// of the line that came first.
func (f *flow) first() (first *lane, user bool) {
	for _, lanes := range []map[string]*lane{f.users, f.rooms, f.commands} {
		for _, l := range lanes {
			if len(l.wait) == 0 {
				continue
			}
			if first == nil || l.head.Before(first.head) ||
				l.head.Equal(first.head) && l.wait[0].seq < first.wait[0].seq {
				first = l
			}
		}
	}
	return first, first != nil && first == f.users[first.wait[0].Key]
}

// next is when due has something again; zero for never.
func (f *flow) next() time.Time {
	if l, _ := f.first(); l != nil {
		return l.head
	}
	return time.Time{}
}

// manyLanes is from when on idle ones are looked for.
const manyLanes = 1000

// prune forgets limits that are as good as new.
func (f *flow) prune(now time.Time) {
	for _, lanes := range []map[string]*lane{f.users, f.rooms, f.commands} {
		if len(lanes) < manyLanes {
			continue
		}
		for name, l := range lanes {
			if len(l.wait) == 0 && (l.limit == nil || l.limit.TokensAt(now) >= float64(l.limit.Burst())) {
				delete(lanes, name)
			}
		}
	}
}

// until estimates how long the first line of key that waits for room still
// waits: exact at the head of a queue, behind it reckoned at the pace of the limit.
func (f *flow) until(now time.Time, key, room string) time.Duration {
	mine := func(it *item) bool { return it.Key == key && it.Room == room }
	tail := now
	if l := f.rooms[room]; l != nil {
		for i, it := range l.wait {
			at := l.head.Add(time.Duration(i) * f.limits.Room.every())
			if mine(it) {
				return max(0, at.Sub(now))
			}
			tail = at.Add(f.limits.Room.every())
		}
	}
	for _, lanes := range []map[string]*lane{f.users, f.commands} {
		l := lanes[key]
		if l == nil {
			continue
		}
		for i, it := range l.wait {
			if !mine(it) {
				continue
			}
			at := l.head.Add(time.Duration(i) * f.limits.User.every())
			if tail.After(at) && !it.command {
				at = tail
			}
			return max(0, at.Sub(now))
		}
	}
	return 0
}
