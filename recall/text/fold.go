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
	return strings.ReplaceAll(strings.TrimSuffix(s, "'s"), "'", "")
}

// Fold composes a text of words, makes it lower case and takes off what people leave
// out when they type: diacritics of Latin and Greek, points of Arabic and Hebrew,
// stress marks of Cyrillic. Ligatures and wide letters become the usual ones. What
// is folded already shares its memory.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	unmarked := true // the letter before is one that loses its marks
	for _, r := range norm.NFKC.String(s) {
		if unmarked && unicode.Is(unicode.Mn, r) {
			continue
		}
		unmarked = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew)
		if unmarked {
			r, _ = utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		}
		r = unicode.ToLower(r)
		if wordRune(r) || r < utf8.RuneSelf && connector(byte(r)) || strings.ContainsRune("'’", r) {
			b.WriteRune(r)
			unmarked = unmarked || r < utf8.RuneSelf || unicode.Is(unicode.Cyrillic, r)
		}
	}
	return spelt.Replace(b.String())
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// spelt has letters that decompose into nothing, and that are often typed otherwise, each before how. The last three
// are Arabic: the stroke that makes a word longer, and two ends of words.
var spelt = strings.NewReplacer(
	strings.Split("’ ' ς σ ё е ß ss æ ae œ oe ø o ł l đ d ı i \u0640  \u0649 \u064a \u0629 \u0647", " ")...)
