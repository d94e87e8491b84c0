package trigger

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

func offset(at time.Time, zone *time.Location) int64 {
	_, off := at.In(zone).Zone()
	return int64(off)
}

// instants are when clocks that change from one offset to another, or do not, show a local time
// (in seconds, as if in UTC): once, twice, or not at all. A time that is left out when clocks are put
// forward counts as if they had not been yet: 02:30 becomes 03:30.
func instants(wall, before, later int64, zone *time.Location) (first, second int64, exists bool) {
	first, second = wall-before, wall-later
	if before == later {
		return first, first, true
	}
	shown := func(unix, off int64) bool { return offset(time.Unix(unix, 0), zone) == off }
	switch a, b := shown(first, before), shown(second, later); {
	case a && b:
		return first, second, true
	case b:
		return second, second, true
	default:
		return first, first, a
	}
}

// parseAt reads a moment: with an offset as it is, else as the clocks of the zone show it first.
func parseAt(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		if wall, err := time.Parse(form, text); err == nil {
			first, _, _ := instants(wall.Unix(), offset(wall.Add(-day), zone), offset(wall.Add(day), zone), zone)
			return time.Unix(first, 0).In(zone), nil
		}
	}
	return time.Time{}, fmt.Errorf(
		"at = %.60q: write a date and a time, such as \"2026-11-23 09:00\" or \"2026-11-23T09:00:00+01:00\"",
		text,
	)
}

func parseQuiet(text string) (from, to int, err error) {
	a, b, _ := strings.Cut(text, "-")
	start, err1 := time.Parse("15:04", strings.TrimSpace(a))
	end, err2 := time.Parse("15:04", strings.TrimSpace(b))
	if err1 != nil || err2 != nil || start.Equal(end) {
		return 0, 0, fmt.Errorf("quiet = %.60q: write two times of the day, such as \"22:00-07:00\"", text)
	}
	return start.Hour()*60 + start.Minute(), end.Hour()*60 + end.Minute(), nil
}

func (t Trigger) isQuiet(at time.Time) bool {
	local := at.In(t.Zone)
	now := local.Hour()*60 + local.Minute()
	if t.from <= t.to {
		return t.from <= now && now < t.to
	}
	return now >= t.from || now < t.to
}

// Loud is at, or the end of the quiet hours that it falls into.
func (t Trigger) Loud(at time.Time) time.Time {
	for t.isQuiet(at) { // minute by minute: right whatever the clocks are put to meanwhile
		at = at.Truncate(time.Minute).Add(time.Minute)
	}
	return at
}

// For sets whose trigger it is. It decides, for each identity and name for good, from which
// moments an every counts.
func (t Trigger) For(self string) Trigger {
	h := fnv.New64a()
	h.Write([]byte(self + "/" + t.Name)) // never fails
	t.seed = h.Sum64()
	return t
}

// planned yields the times after a moment, quiet hours aside.
func (t Trigger) planned(after time.Time) func(func(time.Time) bool) {
	switch {
	case t.Cron != "":
		return t.cron.times(after, t.Zone)
	case t.Every > 0:
		every := int64(t.Every / time.Second)
		phase := int64(t.seed % uint64(every))
		return func(yield func(time.Time) bool) {
			for at := after.Unix(); ; {
				at += every - ((at-phase)%every+every)%every
				if !yield(time.Unix(at, 0).In(t.Zone)) {
					return
				}
			}
		}
	}
	return func(yield func(time.Time) bool) {
		if t.At.After(after) {
			yield(t.At)
		}
	}
}

// schedule yields the times after a moment. What falls into quiet hours comes at their end, once.
func (t Trigger) schedule(after time.Time) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		start := after
		for t.isQuiet(start) {
			start = start.Add(-time.Minute)
		}
		var end time.Time // of what was put off
		for at := range t.planned(start) {
			if at.Before(end) {
				continue
			}
			if end = t.Loud(at); end.After(after) {
				if after = end; !yield(end) {
					return
				}
			}
		}
	}
}

// Next is the first time after a moment; zero when there is none, as for watch and mail.
func (t Trigger) Next(after time.Time) time.Time {
	for at := range t.schedule(after) {
		return at
	}
	return time.Time{}
}

// Missed tells what has come since the last time of the schedule that was obeyed, up to now
// and with it: due is the newest time, zero when that is older than Grace; n counts the others. A clock that
// was put back finds nothing, until it has passed last.
func (t Trigger) Missed(last, now time.Time) (n int, due time.Time) {
	for at := range t.schedule(last) {
		if at.After(now) {
			break
		}
		n, due = n+1, at
	}
	if due.IsZero() || now.Sub(due) > t.Grace {
		return n, time.Time{}
	}
	return n - 1, due
}
