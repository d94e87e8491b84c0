package text

import (
	"fmt"
	"strings"
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
// 2026/11/20, and returns its length, or 0.
func isoDay(s string) (date, int) {
	if len(s) < 10 || s[4] != '-' && s[4] != '/' || s[7] != s[4] || len(s) > 10 && s[10] != 'T' {
		return date{}, 0
	}
	d := date{digits(s[:4]), digits(s[5:7]), digits(s[8:10])}
	if d.year <= 0 || !d.valid() {
		return date{}, 0
	}
	return d, 10
}

// digits reads a number of some digits, -1 if it is none.
func digits(s string) int {
	n := 0
	for i := range len(s) {
		if c := s[i]; c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// date emits the date in words that begins where the scanner stands, if one does:
// 17 August 2025, the 5th of May, Dec. 24th. It takes nothing, since its words are
// words all the same.
func (s *scanner) date() {
	c := s.text[s.at]
	if s.at < s.dated || c >= 0x80 || c > '9' && !monthStart(s.text[s.at:]) {
		return
	}
	var d date
	r := dateReader{s.text[s.at:]}
	ok := false
	if c <= '9' {
		ok = r.day(&d) && r.space() && (!r.word("of") || r.space()) && r.month(&d)
		r.word(".")
	} else {
		ok = r.month(&d)
		r.word(".")
		ok = ok && r.space() && (!r.word("the") || r.space()) && r.day(&d)
	}
	if !ok || !d.valid() {
		return
	}
	r.year(&d)
	s.dated = len(s.text) - len(r.rest)
	s.emitDate(d, s.at, s.dated)
}

// dateReader reads the pieces of a date from the beginning of a text.
type dateReader struct{ rest string }

// number takes up to n digits that no letter or digit follows but what ordinals
// end in.
func (r *dateReader) number(n int, ordinal bool) int {
	i := 0
	for i < len(r.rest) && i < n && '0' <= r.rest[i] && r.rest[i] <= '9' {
		i++
	}
	if i == 0 {
		return -1
	}
	v, rest := digits(r.rest[:i]), r.rest[i:]
	if ordinal && len(rest) >= 2 {
		switch strings.ToLower(rest[:2]) {
		case "st", "nd", "rd", "th":
			rest = rest[2:]
		}
	}
	days := ordinal && len(rest) > 1 && rest[0] == '-' && '0' <= rest[1] && rest[1] <= '9' // 17-19: the first
	if !days && rest != "" && (rest[0] >= 0x80 || asciiWord[rest[0]] || connector(rest[0]) && len(rest) > 1 && asciiWord[rest[1]&0x7f]) {
		return -1
	}
	r.rest = rest
	return v
}

func (r *dateReader) day(d *date) bool {
	d.day = r.number(2, true)
	return d.day > 0
}

// year takes a year, if there is one.
func (r *dateReader) year(d *date) {
	back := r.rest
	r.word(",")
	if r.space() && len(r.rest) >= 4 && (r.rest[0] == '1' && r.rest[1] == '9' || r.rest[0] == '2' && r.rest[1] == '0') {
		if y := r.number(4, false); y >= 1900 {
			d.year = y
			return
		}
	}
	r.rest = back
}

// space takes blanks; it is false when there are none.
func (r *dateReader) space() bool {
	n := len(r.rest)
	r.rest = strings.TrimLeft(r.rest, " \t")
	return len(r.rest) < n
}

// word takes a word, or a sign.
func (r *dateReader) word(w string) bool {
	if len(r.rest) < len(w) || !strings.EqualFold(r.rest[:len(w)], w) {
		return false
	}
	r.rest = r.rest[len(w):]
	return true
}

// monthStart reports whether a text can begin with the name of a month. Most words
// are told apart by that.
func monthStart(s string) bool {
	if len(s) < 3 {
		return false
	}
	switch string([]byte{s[0] | 0x20, s[1] | 0x20, s[2] | 0x20}) {
	case "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec":
		return true
	}
	return false
}

// month takes the name of a month, or its first three letters.
func (r *dateReader) month(d *date) bool {
	n := 0
	for n < len(r.rest) && (r.rest[n]|0x20 >= 'a' && r.rest[n]|0x20 <= 'z') {
		n++
	}
	if n < 3 || n > len("september") || n < len(r.rest) && (r.rest[n] >= 0x80 || asciiWord[r.rest[n]]) {
		return false
	}
	for i, name := range monthNames {
		if name[0] == r.rest[0]|0x20 && (n == 3 || n == len(name) || n == 4 && i == 8) && strings.EqualFold(r.rest[:n], name[:n]) {
			d.month, r.rest = i+1, r.rest[n:]
			return true
		}
	}
	return false
}
