package text

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Period is a time that a text names.
type Period struct {
	Since, Until time.Time // Until is not in it
	Words        Span      // bytes of the text that name it
	// Absolute is a date, which means the same whenever it is said. Words such as
	// "last week" may also be what was said.
	Absolute bool
}

// late is how long after something happened it is still talked about.
const late = 14 * 24 * time.Hour

// Fit says how well something said at a time fits a period, 0 to 1: what happened
// in it is told in it, or soon after; sometimes it was announced before.
func (p Period) Fit(at time.Time) float64 {
	switch {
	case at.IsZero():
		return 0
	case at.Before(p.Since):
		if p.Since.Sub(at) <= late/2 {
			return 0.3
		}
		return 0
	case at.Before(p.Until):
		return 1
	}
	if after := at.Sub(p.Until); after < late {
		return 1 - 0.7*float64(after)/float64(late)
	}
	return 0
}

// Bounds returns the time in which anything can fit some periods; zero without
// any.
func Bounds(periods []Period) (since, until time.Time) {
	for _, p := range periods {
		if from := p.Since.Add(-late / 2); since.IsZero() || from.Before(since) {
			since = from
		}
		if to := p.Until.Add(late); to.After(until) {
			until = to
		}
	}
	return since, until
}

// timeForms are the ways to name a time that is no day, those that say more before
// those that say less. A period that overlaps one found before is not taken.
var timeForms = sync.OnceValue(func() []timeForm {
	return []timeForm{
		{true, form(`(?:(first|second|third|fourth|last) +(?:week|weekend|days?) +(?:of|in)|(beginning|start|middle|end) +of|(early|mid|late)) *[- ]` + monthRE + yearRE), partOfMonth},
		{true, form(`(?:in|of|during|since|until|last|around) +` + monthRE + yearRE), month},
		{true, form(`(?:by|this|next) +` + strings.Replace(monthRE, "|may|", "|", 1) + yearRE), month}, // this may be
		{true, form(monthRE + `,? +((?:19|20)\d\d)`), month},
		{true, form(`(?:in|of|during|since|until|by|year) +((?:19|20)\d\d)`), func(m []string, now time.Time) (time.Time, time.Time) {
			y, _ := strconv.Atoi(m[1])
			from := time.Date(y, 1, 1, 0, 0, 0, 0, now.Location())
			return from, from.AddDate(1, 0, 0)
		}},
		{true, form(seasonRE + ` +(?:of +)?((?:19|20)\d\d)`), season},
		{false, form(`(?:in|during|over|since|last|this) +(?:the +)?` + seasonRE), season},
		{false, form(`(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a couple of|a few|several) +(day|week|month|year)s? +ago`), ago},
		{false, form(`(the day before yesterday|yesterday|last night|today|tonight|this morning)`), near},
		{false, form(`(last|past|this) +(week|weekend|month|year)`), around},
		{false, form(`(?:last|on) +(mon|tues|wednes|thurs|fri|satur|sun)day`), weekday},
	}
})

type timeForm struct {
	absolute bool
	re       *regexp.Regexp
	read     func(m []string, now time.Time) (since, until time.Time)
}

func form(re string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b` + re + `\b`) }

// Periods finds the times that a text names, which is composed (NFC). now is what
// "yesterday" counts from.
func Periods(text string, now time.Time) []Period {
	var out []Period
	add := func(p Period) {
		if !slices.ContainsFunc(out, p.overlaps) {
			out = append(out, p)
		}
	}
	for t := range Tokens(text) {
		if t.Kind == Day {
			since := dayOf(t, now)
			add(Period{since, since.AddDate(0, 0, 1), Span{t.From, t.To}, true})
		}
	}
	for _, f := range timeForms() {
		for _, at := range f.re.FindAllStringSubmatchIndex(text, -1) {
			m := make([]string, len(at)/2)
			for i := range m {
				if at[2*i] >= 0 {
					m[i] = strings.ToLower(text[at[2*i]:at[2*i+1]])
				}
			}
			since, until := f.read(m, now)
			add(Period{since, until, Span{at[0], at[1]}, f.absolute})
		}
	}
	return out
}

func (p Period) overlaps(o Period) bool {
	return p.Words.From < o.Words.To && o.Words.From < p.Words.To
}

// month reads a month. Without a year it is the last one of that name.
func month(m []string, now time.Time) (since, until time.Time) {
	mon := time.Month(monthOf(m[1]))
	year, err := strconv.Atoi(m[2])
	if err != nil {
		year = now.Year()
		if mon > now.Month() {
			year--
		}
	}
	since = time.Date(year, mon, 1, 0, 0, 0, 0, now.Location())
	return since, since.AddDate(0, 1, 0)
}

// partOfMonth reads a third of a month, or one of its weeks.
func partOfMonth(m []string, now time.Time) (since, until time.Time) {
	since, until = month(m[3:], now)
	switch week := slices.Index([]string{"first", "second", "third", "fourth"}, m[1]); {
	case week >= 0:
		return since.AddDate(0, 0, 7*week), since.AddDate(0, 0, 7*week+7)
	case m[1] == "last":
		return until.AddDate(0, 0, -7), until
	}
	switch cmp.Or(m[2], m[3]) {
	case "beginning", "start", "early":
		until = since.AddDate(0, 0, 10)
	case "middle", "mid":
		since, until = since.AddDate(0, 0, 10), since.AddDate(0, 0, 20)
	default:
		since = since.AddDate(0, 0, 20)
	}
	return since, until
}

const seasonRE = `(spring|summer|autumn|fall|winter)`

// season reads a season, of the northern half of the world. Winter is that which
// begins in a year; without a year a season is the last one of that name.
func season(m []string, now time.Time) (since, until time.Time) {
	first := map[string]time.Month{"spring": time.March, "summer": time.June, "autumn": time.September, "fall": time.September, "winter": time.December}[m[1]]
	year := now.Year()
	if len(m) > 2 {
		year, _ = strconv.Atoi(m[2])
	} else if first > now.Month() {
		year--
	}
	since = time.Date(year, first, 1, 0, 0, 0, 0, now.Location())
	return since, since.AddDate(0, 3, 0)
}

// midnight is when the day of t began.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

var counts = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
	"eight": 8, "nine": 9, "ten": 10, "a couple of": 2, "a few": 3, "several": 4}

// ago reads "three weeks ago": a day's play for days, a unit's for the others.
func ago(m []string, now time.Time) (since, until time.Time) {
	n, known := counts[m[1]]
	if !known {
		n, _ = strconv.Atoi(m[1])
	}
	today := midnight(now)
	switch m[2] {
	case "day":
		since = today.AddDate(0, 0, -n)
		return since, since.AddDate(0, 0, 1)
	case "week":
		since = today.AddDate(0, 0, -7*n-3)
		return since, since.AddDate(0, 0, 7)
	case "month":
		since = today.AddDate(0, -n, -15)
		return since, since.AddDate(0, 1, 0)
	}
	since = time.Date(now.Year()-n, 1, 1, 0, 0, 0, 0, now.Location())
	return since, since.AddDate(1, 0, 0)
}

func near(m []string, now time.Time) (since, until time.Time) {
	back := map[string]int{"the day before yesterday": 2, "yesterday": 1, "last night": 1}[m[1]]
	since = midnight(now).AddDate(0, 0, -back)
	return since, since.AddDate(0, 0, 1)
}

func around(m []string, now time.Time) (since, until time.Time) {
	back := 1
	if m[1] == "this" {
		back = 0
	}
	monday := midnight(now).AddDate(0, 0, -(int(now.Weekday())+6)%7)
	switch m[2] {
	case "week":
		since = monday.AddDate(0, 0, -7*back)
		return since, since.AddDate(0, 0, 7)
	case "weekend":
		since = monday.AddDate(0, 0, 5-7*back)
		return since, since.AddDate(0, 0, 2)
	case "month":
		since = time.Date(now.Year(), now.Month()-time.Month(back), 1, 0, 0, 0, 0, now.Location())
		return since, since.AddDate(0, 1, 0)
	}
	since = time.Date(now.Year()-back, 1, 1, 0, 0, 0, 0, now.Location())
	return since, since.AddDate(1, 0, 0)
}

// weekday reads the last day of that name before today.
func weekday(m []string, now time.Time) (since, until time.Time) {
	for back := 1; back <= 7; back++ {
		since = midnight(now).AddDate(0, 0, -back)
		if strings.HasPrefix(strings.ToLower(since.Weekday().String()), m[1]) {
			break
		}
	}
	return since, since.AddDate(0, 0, 1)
}
