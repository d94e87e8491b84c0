package trigger

import (
	"errors"
	"fmt"
	"slices"
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

// searchDays is how long a cron may pause: 29 February 1896 to 1904, and a week.
const searchDays = 8*366 + 7

// times yields the times of the cron after a moment, in order and each once. It goes from day
// to day of the calendar, and asks for each hour and minute there when the zone's clocks show them.
func (c cron) times(after time.Time, zone *time.Location) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		y, m, d := after.In(zone).Date()
		last := after.Unix()
		var waiting []int64
		for pause, date := 0, time.Date(y, m, d-2, 0, 0, 0, 0, time.UTC); pause < searchDays; pause, date = pause+1, date.AddDate(0, 0, 1) {
			if len(waiting) == 0 && !c.on(date) {
				continue
			}
			before, later := offset(date.Add(-day), zone), offset(date.Add(2*day), zone)
			slices.Sort(waiting)
			for len(waiting) > 0 && waiting[0] < date.Unix()-max(before, later) { // nothing of this day or of those after it comes before
				if waiting[0] > last {
					if last, pause = waiting[0], 0; !yield(time.Unix(last, 0).In(zone)) {
						return
					}
				}
				waiting = waiting[1:]
			}
			if c.on(date) {
				waiting = c.onDay(waiting, date.Unix(), before, later, zone)
			}
		}
	}
}

// onDay adds when the clocks of a zone show the hours and minutes of the cron on a day, given
// as if in UTC, with the offsets that are in force a day before and a day after it.
func (c cron) onDay(to []int64, date, before, later int64, zone *time.Location) []int64 {
	for h := range 24 {
		for m := range 60 {
			if !has(c.hour, h) || !has(c.minute, m) {
				continue
			}
			wall := date + int64(h)*3600 + int64(m)*60
			first, second, exists := instants(wall, before, later, zone)
			if exists || !c.everyHour {
				to = append(to, first)
			}
			if second != first && c.everyHour {
				to = append(to, second)
			}
		}
	}
	return to
}
