package text

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/internal/pattern"
)

// Period is a time that a text names: a day, a month or a year.
type Period struct {
	Since, Until time.Time // Until is not in it
	// Words are the bytes of the text that name it and nothing else; empty for "last week", which may also be looked
	// for.
	Words Span
	Said  bool // a day as said, "three days ago": lines of that day are meant, or such as say these words
}

// late bounds the time after an event that people still talk about it; slip, how far a day as said may be off.
const (
	late = 14 * 24 * time.Hour
	slip = 48 * time.Hour
)

// Fit returns the fit of a moment to a period, 0 to 1: people tell an event at its
// time or soon after; sometimes they announce it before.
func (p Period) Fit(at time.Time) float64 {
	late := late
	if p.Said {
		late = slip
	}
	tooEarly := p.Since.Sub(at) > late/2
	tooLate := at.Sub(p.Until) >= late
	switch {
	case at.IsZero(), tooEarly, tooLate:
		return 0
	case at.Before(p.Since) || !at.Before(p.Until):
		return 0.5
	}
	return 1
}

// Bounds returns the first and the last moment that fit any of the periods; zero without a period.
func Bounds(periods []Period) (all Times) {
	for _, p := range periods {
		all.Add(p.Since.Add(-late / 2))
		all.Add(p.Until.Add(late))
	}
	return all
}

// monthOrYear finds a month or a year behind a word that makes it a time ("may" and "march" are
// words, too), and a month before its year.
var monthOrYear = pattern.Lazy(`(?i)\b(?:` +
	`(?:in|of|during|since|until|by|last|around|early|mid|late)[ -]+(?:` + monthRE + yearRE + `|((?:19|20)\d\d)\b)` +
	`|` + monthRE + `,? +((?:19|20)\d\d)\b)`)

// recently maps the names of the days just before today to their number: a generous one, since Fit is no sharper.
var recently = map[string]int{"yesterday": 1, "last week": 14, "last month": 62}

// counted finds a day by how long ago it was, or the last one of its name.
var counted = pattern.Lazy(
	`(?i)\b(\d{1,3}|a|two|three|four|five|six|seven|eight|nine|ten) (day|week)s? ago\b|` +
		`\blast ((?:sun|mon|tues|wednes|thurs|fri|satur)day)\b|\bthis morning\b`)

var numbers = strings.Fields("0 a two three four five six seven eight nine ten")

// spoken returns the day that a match of counted names.
func spoken(match []string, today time.Time) (day time.Time) {
	n, err := strconv.Atoi(match[1])
	if err != nil {
		n = max(0, slices.Index(numbers, match[1]))
	}
	if match[2] == "week" {
		n *= 7
	}
	day = today.AddDate(0, 0, -n)
	for weekday := ""; match[3] != weekday; weekday = strings.ToLower(day.Weekday().String()) {
		day = day.AddDate(0, 0, -1)
	}
	return day
}

// Periods finds the times that a text names, which is composed (NFC): its days, and where these do
// not stand, its months and years. Without a year, a day or a month is the last one before now.
func Periods(text string, now time.Time) (out []Period) {
	add := func(since, until time.Time, from, to int, said bool) {
		overlaps := func(p Period) bool { return p.Words.From < to && from < p.Words.To }
		if !slices.ContainsFunc(out, overlaps) {
			out = append(out, Period{since, until, Span{from, to}, said})
		}
	}
	for token := range Tokens(text) {
		if token.Kind == Day {
			since := dayOf(token, now)
			add(since, since.AddDate(0, 0, 1), token.From, token.To, false)
		}
	}
	for _, at := range monthOrYear().FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string { return text[max(0, at[2*i]):max(0, at[2*i+1])] }
		month := time.Month(monthOf(cmp.Or(group(1), group(4))))
		year, err := strconv.Atoi(cmp.Or(group(2), group(3), group(5)))
		if err != nil {
			year = now.Year()
			if month > now.Month() {
				year--
			}
		}
		since := time.Date(year, max(month, 1), 1, 0, 0, 0, 0, now.Location())
		until := since.AddDate(0, 1, 0)
		if month == 0 {
			until = since.AddDate(1, 0, 0)
		}
		add(since, until, at[0], at[1], false)
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for _, at := range counted().FindAllStringIndex(text, 4) {
		day := spoken(counted().FindStringSubmatch(strings.ToLower(text[at[0]:at[1]])), today)
		add(day, day.AddDate(0, 0, 1), at[0], at[1], true)
	}
	for words, days := range recently {
		if strings.Contains(strings.ToLower(text), words) {
			out = append(out, Period{Since: today.AddDate(0, 0, -days), Until: today})
		}
	}
	return out
}
