package recall

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spelling is a text as it is read, with where each part of it stands in the text
// that it was made of.
type spelling struct {
	text  string
	turns []turn // in order; none when the two are the same
}

// turn says that what stands at one byte of a spelling stands at another byte of
// the text.
type turn struct{ at, from int }

// from returns where a byte of the spelling stands in the text.
func (s spelling) from(at int) int {
	i := sort.Search(len(s.turns), func(i int) bool { return s.turns[i].at > at })
	if i == 0 {
		return at
	}
	from := s.turns[i-1].from + at - s.turns[i-1].at
	if i < len(s.turns) { // what became longer ends where it ended
		from = min(from, s.turns[i].from)
	}
	return from
}

// speller makes a spelling.
type speller struct {
	out   strings.Builder
	turns []turn
}

// put adds what text[from:to] is read as.
func (s *speller) put(read string, from, to int) {
	s.turns = append(s.turns, turn{s.out.Len(), from}, turn{s.out.Len() + len(read), to})
	s.out.WriteString(read)
}

// composed reads a text with letters and their marks as one, which is how words
// are compared: Korean can come as single letters, й as и with a breve.
func composed(text string) spelling {
	at := norm.NFC.QuickSpanString(text)
	if at == len(text) || norm.NFC.IsNormalString(text) {
		return spelling{text: text}
	}
	var s speller
	s.out.WriteString(text[:at])
	for at < len(text) {
		n := max(1, norm.NFC.NextBoundaryInString(text[at:], true))
		if part := norm.NFC.String(text[at : at+n]); part != text[at:at+n] {
			s.put(part, at, at+n)
		} else {
			s.out.WriteString(part)
		}
		at += n
	}
	return spelling{s.out.String(), s.turns}
}

// unquoted reads JSON with what its strings say in place of their escapes. What is
// no escape stays.
func unquoted(text string) spelling {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return spelling{text: text}
	}
	var s speller
	last := 0
	for ; at >= 0 && at < len(text); at = next(text, at) {
		read, n := readEscape(text[at:])
		if n == 0 {
			at++
			continue
		}
		s.out.WriteString(text[last:at])
		s.put(read, at, at+n)
		at += n
		last = at
	}
	s.out.WriteString(text[last:])
	return spelling{s.out.String(), s.turns}
}

// next returns where the next escape may begin, or the end.
func next(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\\'); i >= 0 {
		return at + i
	}
	return len(text)
}

// readEscape returns what an escape at the beginning of a text says, and its
// length: 0 when there is none.
func readEscape(text string) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return text[1:2], 2
	case 'n', 'r':
		return "\n", 2
	case 't', 'b', 'f':
		return " ", 2
	case 'u':
		r, ok := readUnit(text)
		if !ok {
			return "", 0
		}
		if utf16.IsSurrogate(r) {
			low, ok := readUnit(text[6:])
			if both := utf16.DecodeRune(r, low); ok && both != utf8.RuneError {
				return string(both), 12
			}
		}
		return string(r), 6
	}
	return "", 0
}

// readUnit reads \u and four digits.
func readUnit(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
