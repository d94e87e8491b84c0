package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// date is a day that a text names; year is 0 where it names none.
type date struct{ year, month, day int }

func (d date) valid() bool {
	return 1 <= d.month && d.month <= 12 && 1 <= d.day && d.day <= 31
}

// emitDate emits a day and, if it has a year, the same day of any year: both ways
// of writing it find each other.
func (s *scanner) emitDate(d date, from, to int) {
	if d.year > 0 {
		s.emit(fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day), from, to, Day)
	}
	s.emit(fmt.Sprintf("--%02d-%02d", d.month, d.day), from, to, Day)
}

// isoDay reads the day that a chunk begins with, as in 2026-11-20T12 and
// 2026/11/20, and reports whether one does.
func isoDay(s string) (d date, ok bool) {
	if len(s) < isoBytes || s[4] != '-' && s[4] != '/' || s[7] != s[4] || len(s) > isoBytes && s[isoBytes] != 'T' {
		return d, false
	}
	year, err1 := strconv.ParseUint(s[:4], 10, 0)
	month, err2 := strconv.ParseUint(s[5:7], 10, 0)
	day, err3 := strconv.ParseUint(s[8:isoBytes], 10, 0)
	d = date{int(year), int(month), int(day)}
	return d, err1 == nil && err2 == nil && err3 == nil && d.year > 0 && d.valid()
}

const isoBytes = len("2026-11-20")

// How people write days and months in words, and how much of a text is looked at.
const (
	dayRE     = `(\d{1,2})(?:st|nd|rd|th)?\b`
	monthRE   = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?`
	yearRE    = `(?:,? +((?:19|20)\d\d)\b)?`
	dateBytes = 40
)

var (
	dayFirst   = lazily(`(?i)^` + dayRE + ` +(?:of +)?` + monthRE + yearRE)
	monthFirst = lazily(`(?i)^` + monthRE + ` +(?:the +)?` + dayRE + yearRE)
	clock      = lazily(`^[T ][\d.,]*:[\d:.,Z+-]*`)
)

func lazily(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

// monthOf is the month whose name a text begins with, 1 to 12, or 0.
func monthOf(s string) int {
	if len(s) < 3 {
		return 0
	}
	at := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", string([]byte{s[0] | 0x20, s[1] | 0x20, s[2] | 0x20}))
	if at < 0 || at%3 != 0 {
		return 0
	}
	return at/3 + 1
}

// date emits the date in words that begins where the scanner stands, if one does:
// 17 August 2025, the 5th of May, Dec. 24th. It takes nothing, since its words are
// words all the same.
func (s *scanner) date() {
	if s.at < s.dated {
		return
	}
	rest := Cut(s.text[s.at:], dateBytes)
	var m []string
	var month, day string
	switch {
	case '0' <= rest[0] && rest[0] <= '9':
		if m = dayFirst().FindStringSubmatch(rest); m != nil {
			day, month = m[1], m[2]
		}
	case monthOf(rest) > 0:
		if m = monthFirst().FindStringSubmatch(rest); m != nil {
			month, day = m[1], m[2]
		}
	}
	if m == nil {
		return
	}
	d := date{month: monthOf(month)}
	d.day, _ = strconv.Atoi(day) // digits, by the pattern
	d.year, _ = strconv.Atoi(m[3])
	if d.valid() {
		s.dated = s.at + len(m[0])
		s.emitDate(d, s.at, s.dated)
	}
}

// clock passes over the time of day that follows a day: every line of a log has
// another one, and nobody looks for it.
func (s *scanner) clock(at int) {
	s.at = at + len(clock().FindString(Cut(s.text[at:], dateBytes)))
}

// dayOf reads the day that a token names. Without a year it is the last such day
// before now.
func dayOf(t Token, now time.Time) time.Time {
	var d date
	if _, err := fmt.Sscanf(t.Text, "--%02d-%02d", &d.month, &d.day); err != nil {
		d, _ = isoDay(t.Text)
		return time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, now.Location())
	}
	at := time.Date(now.Year(), time.Month(d.month), d.day, 0, 0, 0, 0, now.Location())
	if at.After(now) {
		at = at.AddDate(-1, 0, 0)
	}
	return at
}
