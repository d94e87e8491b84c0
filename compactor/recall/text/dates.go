package text

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"lethe/internal/pattern"
)

// anyYear is the year of a day that is named without one. It has a 29 February.
const anyYear = "0004"

// emitDate emits a day and, if it has a year, the same day of any year: both ways
// of writing it find each other.
func (s *scanner) emitDate(day time.Time, from, to int) {
	if day.Format("2006") != anyYear {
		s.emit(day.Format(time.DateOnly), from, to, Day)
	}
	s.emit(day.Format("--01-02"), from, to, Day)
}

// dottedDay reads a chunk as a day, as in 20.11.2026.
func dottedDay(chunk string) (day time.Time, ok bool) {
	if len(chunk) < len("1.1.2026") {
		return day, false
	}
	hasDay := chunk[0] >= '0' && chunk[0] <= '9'
	hasYear := strings.IndexByte("12", chunk[len(chunk)-4]) >= 0
	if !hasDay || !hasYear {
		return day, false
	}
	day, err := time.Parse("2.1.2006", chunk)
	return day, err == nil
}

// isoDay reads the day that a chunk begins with, as in 2026-11-20T12 and
// 2026/11/20, and reports whether one does.
func isoDay(chunk string) (day time.Time, ok bool) {
	if len(chunk) < isoBytes {
		return day, false
	}
	isDivider := chunk[4] == '-' || chunk[4] == '/'
	goesOn := len(chunk) > isoBytes && chunk[isoBytes] != 'T'
	if !isDivider || goesOn {
		return day, false
	}
	if chunk[7] != chunk[4] {
		return day, false
	}
	day, err := time.Parse(time.DateOnly, strings.ReplaceAll(chunk[:isoBytes], "/", "-"))
	return day, err == nil
}

const isoBytes = len("2026-11-20")

// How people write days and months in words, and how much of a text is looked at.
const (
	dayRE   = `(\d{1,2})(?:st|nd|rd|th)?\b`
	monthRE = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|` +
		`oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?`
	yearRE    = `(?:,? +((?:19|20)\d\d)\b)?`
	dateBytes = 40
)

var (
	inWords = pattern.Lazy(
		`(?i)^(?:` + dayRE + ` +(?:of +)?` + monthRE + `|` + monthRE + ` +(?:the +)?` + dayRE + `)` + yearRE)

	clock = pattern.Lazy(`^[T ][\d.,]*:[\d:.,Z+-]*`)
)

// monthOf is the month whose name a text begins with, 1 to 12, or 0.
func monthOf(text string) int {
	if len(text) < 3 {
		return 0
	}
	small := []byte{text[0] | 0x20, text[1] | 0x20, text[2] | 0x20}
	at := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", string(small))
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
	beginsWithDay := rest[0] >= '0' && rest[0] <= '9'
	if !beginsWithDay && monthOf(rest) == 0 {
		return
	}
	match := inWords().FindStringSubmatch(rest)
	if match == nil {
		return
	}
	day, month, year := cmp.Or(match[1], match[4]), monthOf(cmp.Or(match[2], match[3])), cmp.Or(match[5], anyYear)
	if at, err := time.Parse("2006 1 2", fmt.Sprintf("%s %d %s", year, month, day)); err == nil {
		s.dated = s.at + len(match[0])
		s.emitDate(at, s.at, s.dated)
	}
}

// clock passes over the time of day that follows a day: every line of a log has
// another one, and nobody looks for it.
func (s *scanner) clock(at int) {
	s.at = at + len(clock().FindString(Cut(s.text[at:], dateBytes)))
}

// dayOf reads the day that a token names. Without a year it is the last such day
// before now.
func dayOf(token Token, now time.Time) time.Time {
	day, err := time.ParseInLocation(time.DateOnly, token.Text, now.Location())
	if err == nil {
		return day
	}
	for back := range 9 { // 29 February is not in each year
		day, err = time.ParseInLocation(time.DateOnly, fmt.Sprintf("%04d%s", now.Year()-back, token.Text[1:]), now.Location())
		if err == nil && !day.After(now) {
			break
		}
	}
	return day
}
