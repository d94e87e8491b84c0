package trigger

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"
	"time"
)

// offset returns the lead of a moment's zone over UTC.
func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}

// parseAt reads a moment: with an offset as it is, else as the clocks of the zone show it first. A time that is left
// out when clocks are put forward counts as if they had not been yet: 02:30 becomes 03:30.
func parseAt(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, "2006-01-02T15:04:05"} {
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
	first, second, _ := strings.Cut(text, "-")
	start, startErr := time.Parse("15:04", strings.TrimSpace(first))
	end, endErr := time.Parse("15:04", strings.TrimSpace(second))
	switch {
	case startErr != nil, endErr != nil, start.Equal(end):
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

// For returns the trigger of an identity. The identity and the trigger's name fix the first moment of
// an every.
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
		var end time.Time // of the quiet hours that put a time off
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

// Next returns the first time after a moment; zero if there is no such time, as for watch and mail.
func (t Trigger) Next(after time.Time) time.Time {
	for at := range t.schedule(after) {
		return at
	}
	return time.Time{}
}

// Missed returns the times of the schedule after last, the newest that was obeyed, up to now
// inclusive. due is the newest of these, zero if it is older than Grace; n counts the others. After a
// clock was put back there are no such times until it has passed last.
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

// cron holds the sets of five fields, a bit a value.
type cron struct {
	minute, hour, dom, month, dow uint64
	either                        bool // day of the month and weekday are both given: either will do
	everyHour                     bool // it follows the clock, whatever hour that shows
}

type field struct {
	name     string
	min, max int
	size     int // of the cycle: weekday 7 is weekday 0
	words    string
}

var fields = []field{
	{name: "minute", max: 59, size: 60},
	{name: "hour", max: 23, size: 24},
	{name: "day", min: 1, max: 31, size: 31},
	{name: "month", min: 1, max: 12, size: 12, words: "janfebmaraprmayjunjulaugsepoctnovdec"},
	{name: "weekday", max: 7, size: 7, words: "sunmontuewedthufrisat"},
}

var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

func parseCron(text string) (c cron, err error) {
	if full, ok := nicknames[strings.ToLower(text)]; ok {
		text = full
	}
	list := strings.Fields(text)
	if len(list) != len(fields) {
		return c, errors.New(
			"write five fields, minute hour day month weekday, such as \"0 9 * * 1-5\", or @hourly, @daily, @weekly, @monthly, @yearly",
		)
	}
	for i, set := range []*uint64{&c.minute, &c.hour, &c.dom, &c.month, &c.dow} {
		if *set, err = fields[i].parse(strings.ToLower(list[i])); err != nil {
			return c, err
		}
	}
	c.either = list[2][0] != '*' && list[4][0] != '*'
	c.everyHour = c.hour == 1<<24-1
	return c, nil
}

// parse reads a list of *, a, a-b, each with /step behind * or a-b.
func (f field) parse(text string) (set uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		span, by, stepped := strings.Cut(part, "/")
		lo, hi, step := f.min, f.min+f.size-1, 1
		if span != "*" {
			from, to, isRange := strings.Cut(span, "-")
			if lo, err = f.value(from); err != nil {
				return 0, err
			}
			if hi = lo; isRange {
				if hi, err = f.value(to); err != nil {
					return 0, err
				}
			} else if stepped {
				return 0, fmt.Errorf("%s %.60q: write */%.9s or %.9s-%d/%.9[3]s", f.name, part, by, span, f.max)
			}
		}
		if stepped {
			step, err = strconv.Atoi(by)
			inBounds := step >= 1 && step <= f.size
			if err != nil || !inBounds {
				return 0, fmt.Errorf("%s %.60q: the step is a number from 1 to %d", f.name, part, f.size)
			}
		}
		if hi < lo { // 22-2, fri-mon
			hi += f.size
		}
		for v := lo; v <= hi; v += step {
			set |= 1 << (f.min + (v-f.min)%f.size)
		}
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	at := strings.Index(f.words, text)
	isWord := len(text) == 3 && at >= 0
	if isWord && at%3 == 0 {
		return f.min + at/3, nil
	}
	n, err := strconv.Atoi(text)
	inBounds := n >= f.min && n <= f.max
	if err != nil || !inBounds {
		return 0, fmt.Errorf("%s %.60q is not from %d to %d", f.name, text, f.min, f.max)
	}
	return n, nil
}

// on reports whether the day is one of the cron's.
func (c cron) on(date time.Time) bool {
	if !has(c.month, int(date.Month())) {
		return false
	}
	dayFits, weekdayFits := has(c.dom, date.Day()), has(c.dow, int(date.Weekday()))
	if c.either {
		return dayFits || weekdayFits
	}
	return dayFits && weekdayFits
}

func has(set uint64, v int) bool { return set>>v&1 == 1 }

// longestPause bounds the pause of a cron: 29 February 1896 to 1904, and a week.
const longestPause = (8*366 + 7) * day

// times yields the times of the cron after a moment, in order and each once.
func (c cron) times(after time.Time, zone *time.Location) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at := after.In(zone).Truncate(time.Minute).Add(time.Minute)
		for last := at; at.Before(last.Add(longestPause)); {
			comes, next := c.look(at)
			if comes {
				if last = at; !yield(at) {
					return
				}
			}
			at = next
		}
	}
}

// look tells whether the cron comes at a minute, and when to look again: hours and days that are not the cron's are
// passed over, unless the clocks change there.
func (c cron) look(at time.Time) (comes bool, next time.Time) {
	now, was := offset(at), offset(at.Add(-day))
	change := now - was
	changed := change != 0 && offset(at.Add(-change.Abs())) == was // so lately that what is shown was shown, or left out
	wall := at.UTC().Add(now)
	comes = c.shows(wall)
	switch {
	case !changed || c.everyHour:
	case change < 0: // the clocks show it again
		comes = false
	default:
		comes = comes || c.shows(at.UTC().Add(was))
	}
	pause := time.Minute
	if !c.on(wall) {
		pause = day - wall.Sub(wall.Truncate(day))
	} else if !has(c.hour, wall.Hour()) {
		pause = time.Hour - wall.Sub(wall.Truncate(time.Hour))
	}
	if changed || offset(at.Add(pause)) != now {
		pause = time.Minute
	}
	return comes, at.Add(pause)
}

// shows reports whether a clock shows a time of the cron.
func (c cron) shows(wall time.Time) bool {
	inTime := has(c.hour, wall.Hour()) && has(c.minute, wall.Minute())
	return inTime && c.on(wall)
}
