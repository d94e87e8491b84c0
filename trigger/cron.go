package trigger

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

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
	for part := range strings.SplitSeq(text, ",") {
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
			if step, err = strconv.Atoi(by); err != nil || step < 1 || step > f.size {
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
	if at := strings.Index(f.words, text); len(text) == 3 && at >= 0 && at%3 == 0 {
		return f.min + at/3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%s %.60q is not from %d to %d", f.name, text, f.min, f.max)
	}
	return n, nil
}

// on reports whether the day is one of the cron's.
func (c cron) on(date time.Time) bool {
	dom, dow := has(c.dom, date.Day()), has(c.dow, int(date.Weekday()))
	return has(c.month, int(date.Month())) && (dom && dow || c.either && (dom || dow))
}

func has(set uint64, v int) bool { return set>>v&1 == 1 }

// longestPause is how long a cron may pause: 29 February 1896 to 1904, and a week.
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

// shows reports whether what a clock shows is a time of the cron.
func (c cron) shows(wall time.Time) bool {
	return c.on(wall) && has(c.hour, wall.Hour()) && has(c.minute, wall.Minute())
}
