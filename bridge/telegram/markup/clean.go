package markup

import (
	"strings"
	"unicode/utf8"
)

// Units returns the length of s in UTF-16 code units, Telegram's measure of all lengths and
// offsets. A byte that is not UTF-8 counts as one.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

func runeUnits(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// foreign reports the characters that Telegram takes out of any text without a word: line and
// paragraph separators, the controls of writing direction, and three marks of overlong lines.
func foreign(r rune) bool {
	return 0x2028 <= r && r <= 0x202E || r == 0x0333 || r == 0x033F || r == ringAbove
}

const ringAbove = 0x030A

// ringed are the letters that a ring above is commonly part of; decomposed they would lose it.
var ringed = map[rune]rune{'a': 'å', 'A': 'Å', 'u': 'ů', 'U': 'Ů', 'w': 'ẘ', 'y': 'ẙ'}

// clean returns s as Telegram would keep it, so that no offset shifts on its side: UTF-8, with
// \n as the only line end and U+FFFD for what is not UTF-8 or a control character. What
// Telegram would remove is removed or put in an equal form. Tabs stay, for the parser.
func clean(s string) string {
	out := make([]byte, 0, len(s))
	var last rune
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == '\r' && i < len(s) && s[i] == '\n':
			continue
		case r == '\r', r == '\v', r == '\f', r == 0x2028, r == 0x2029:
			r = '\n'
		case r == ringAbove && ringed[last] != 0:
			out = out[:len(out)-utf8.RuneLen(last)]
			r = ringed[last]
		case foreign(r), r == 0xFEFF:
			continue
		case r < ' ' && r != '\n' && r != '\t':
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
		last = r
	}
	return string(out)
}

// blank says whether Telegram would take a message of this text for empty, and refuse it.
func blank(s string) bool {
	return !strings.ContainsFunc(s, visible)
}

func visible(r rune) bool {
	switch r {
	case ' ', '\n', '\t', 0xA0, 0x1680, 0x180E, 0x202F, 0x205F, 0x2800, 0x3000, 0xFFFC, 0xFEFF:
		return false
	}
	return !(0x2000 <= r && r <= 0x200F) && !foreign(r) && !(0xE0000 <= r && r <= 0xE007F)
}
