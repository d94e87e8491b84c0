package trigger

import (
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"time"
)

// offset is how far the clocks of a moment's zone are ahead of UTC.
func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}

// parseAt reads a moment: with an offset as it is, else as the clocks of the zone show it first. A time that is left out
// when clocks are put forward counts as if they had not been yet: 02:30 becomes 03:30.
func parseAt(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		wall, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		before, later := offset(wall.Add(-day).In(zone)), offset(wall.Add(day).In(zone))
		at, other := wall.Add(-before).In(zone), wall.Add(-later).In(zone)
		if offset(at) != before && offset(other) == later {
			return other, nil
		}
		return at, nil
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
func (t Trigger) planned(after time.Time) iter.Seq[time.Time] {
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
func (t Trigger) schedule(after time.Time) iter.Seq[time.Time] {
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
