package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldWord folds a word, without its apostrophes: Jon's is jon, don't is dont.
func foldWord(s string) string {
	s = fold(s)
	if strings.IndexByte(s, '\'') < 0 {
		return s
	}
	s = strings.TrimSuffix(s, "'s")
	return strings.ReplaceAll(s, "'", "")
}

// fold makes a text lower case and takes diacritics off where the letter below
// is Latin or Greek, much as unicode61 does with remove_diacritics 2. What is
// folded already shares its memory.
func fold(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && !('A' <= s[i] && s[i] <= 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	marked := true // the letter before is one that loses its marks
	for _, r := range s[i:] {
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
			marked = true
			continue
		}
		if marked && unicode.Is(unicode.Mn, r) {
			continue
		}
		r, marked = foldRune(r)
		b.WriteRune(r)
	}
	return b.String()
}

// foldRune folds one character that is not ASCII. marked says that marks after
// it go as well.
func foldRune(r rune) (folded rune, marked bool) {
	switch r {
	case '’':
		return '\'', true
	case 'ς':
		return 'σ', true
	case 'ё', 'Ё':
		return 'е', true
	}
	r = unicode.ToLower(r)
	if r > 0x2fff && (r < 0xff00 || r > 0xffef) { // nothing below but whole characters
		return r, false
	}
	marked = unicode.In(r, unicode.Latin, unicode.Greek)
	if wide := r >= 0xff00; marked || wide {
		var buf [utf8.UTFMax]byte
		form := norm.NFD
		if wide {
			form = norm.NFKD
		}
		if d := form.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition(); d != nil {
			base, _ := utf8.DecodeRune(d)
			for again := form.Properties(d).Decomposition(); again != nil; again = form.Properties(again).Decomposition() {
				base, _ = utf8.DecodeRune(again)
			}
			return unicode.ToLower(base), marked || base < utf8.RuneSelf
		}
	}
	return r, marked
}
