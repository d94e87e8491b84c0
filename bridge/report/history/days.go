package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/life"
	"lethe/life/event"
)

// Day sums the calls of a local day.
type Day struct {
	Date string // 2026-11-20
	event.Tokens
}

// Days sums the calls of a life by days, the newest first, of at most so many days. It reads the part of LIFE that
// has these days.
func Days(id home.Identity, zone *time.Location, most int) (list []Day, older bool, err error) {
	days := map[string]event.Tokens{}
	_, err = life.ReadBack(id.LIFE(), 0, func(line life.Event, _ int64) (more bool) {
		used, ok := usedBy(line)
		if !ok {
			return true
		}
		date := cmp.Or(used.Day, line.At.In(zone).Format(time.DateOnly))
		if _, known := days[date]; !known && len(days) == most {
			older = true
			return false
		}
		sum := days[date]
		sum.Add(used)
		days[date] = sum
		return true
	})
	for _, date := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		list = append(list, Day{date, days[date]})
	}
	return list, older, id.Unread(err)
}

// usedBy returns the tokens that a line tells of, if it tells of any.
func usedBy(line life.Event) (used event.Tokens, ok bool) {
	if reply, ok := event.As[event.Reply](line); ok {
		return reply.Tokens, true
	}
	spent, ok := event.As[event.Spent](line)
	return spent.Tokens, ok
}
