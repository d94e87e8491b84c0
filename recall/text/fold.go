package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldWord folds a word, without its apostrophes: Jon's is jon, don't is dont.
func foldWord(s string) string {
	s = Fold(Cut(s, 4*maxToken)) // no more of it is kept, and wide letters become many
	if strings.IndexByte(s, '\'') < 0 {
		return s
	}
	s = strings.TrimSuffix(s, "'s")
	return strings.ReplaceAll(s, "'", "")
}

// Fold composes a text, makes it lower case and takes off what people leave out
// when they type: diacritics of Latin and Greek, points of Arabic and Hebrew,
// stress marks of Cyrillic. Ligatures and wide letters become the usual ones. What
// is folded already shares its memory.
func Fold(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && !('A' <= s[i] && s[i] <= 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	if isASCII(s[i:]) {
		return strings.ToLower(s)
	}
	if !norm.NFC.IsNormalString(s) {
		return Fold(norm.NFC.String(s))
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	marked := true // the letter before is one that loses its marks
	for _, r := range s[i:] {
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
			marked = true
		case marked && unicode.Is(unicode.Mn, r):
		default:
			marked = foldRune(&b, r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// spelt has letters that decompose into nothing, and that are often typed
// otherwise.
var spelt = map[rune]string{
	'’': "'", 'ς': "σ", 'ё': "е", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ı': "i",
	'\u0640': "", 'ى': "ي", 'ة': "ه", // Arabic: the stroke that makes a word longer, and two ends of words
}

// foldRune folds one character that is not ASCII, and reports whether marks after
// it go as well.
func foldRune(b *strings.Builder, r rune) (marked bool) {
	r = unicode.ToLower(r)
	if s, ok := spelt[r]; ok {
		b.WriteString(s)
		return true
	}
	if r > 0x2fff && r < 0xf900 || r > 0xffef { // whole characters and nothing else
		b.WriteRune(r)
		return false
	}
	if r >= 0xf900 { // ligatures, wide and narrow forms
		for _, d := range norm.NFKC.String(string(r)) {
			switch {
			case d < utf8.RuneSelf:
				if asciiWord[d] {
					b.WriteRune(unicode.ToLower(d))
					marked = true
				}
			case d >= 0xf900 || !wordRune(d):
				if wordRune(d) {
					b.WriteRune(unicode.ToLower(d))
				}
			default:
				marked = foldRune(b, d)
			}
		}
		return marked
	}
	if unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew) {
		var buf [utf8.UTFMax]byte
		if d := norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition(); d != nil {
			r, _ = utf8.DecodeRune(d)
			for again := norm.NFD.Properties(d).Decomposition(); again != nil; again = norm.NFD.Properties(again).Decomposition() {
				r, _ = utf8.DecodeRune(again)
			}
		}
		if r = unicode.ToLower(r); spelt[r] != "" {
			b.WriteString(spelt[r])
			return true
		}
		b.WriteRune(r)
		return true
	}
	b.WriteRune(r)
	return unicode.Is(unicode.Cyrillic, r)
}
