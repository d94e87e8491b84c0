package recall

import (
	"strings"
	"sync"
)

// stem reduces a folded word to what its forms have in common: went and goes to
// go, children to child, studies to studi. It is Porter's second stemmer for
// English (snowballstem.org/algorithms/english), with a table of irregular forms
// before it. Words of other scripts stay as they are. It is pure, takes some
// hundred nanoseconds, and allocates only where letters change.
func stem(word string) string {
	if base, ok := irregular()[word]; ok {
		return base
	}
	return porter(word)
}

// Stem returns how a word stands in the index: folded, and what its forms have in
// common.
func Stem(word string) string { return stem(foldWord(word)) }

// irregular maps a form to the stem of its base.
var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(irregularForms)) {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			forms[w] = porter(words[0])
		}
	}
	return forms
})

// porter is the stemmer by itself.
func porter(word string) string {
	if len(word) < 3 || len(word) > maxToken {
		return word
	}
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	if len(word) <= longestException {
		if s, ok := exceptions[word]; ok {
			return s
		}
	}
	var s stemmer
	s.begin(word)
	s.plural()
	if s.n < len("inning") || s.n > len("proceed") || !final[string(s.b[:s.n])] {
		s.past()
		s.lastY()
		s.derived()
		s.derived3()
		s.suffix()
		s.lastE()
	}
	for i := range s.n {
		if s.b[i] == 'Y' {
			s.b[i] = 'y'
		}
	}
	if s.n <= len(word) && string(s.b[:s.n]) == word[:s.n] {
		return word[:s.n]
	}
	return string(s.b[:s.n])
}

// exceptions are stems that the steps would get wrong, and words that are their
// own.
var exceptions = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

const longestException = len("singly")

// final are words that stay as they are once a plural's s is off.
var final = map[string]bool{
	"inning": true, "outing": true, "canning": true, "herring": true, "earring": true,
	"proceed": true, "exceed": true, "succeed": true,
}

// stemmer holds a word on its way. A y that is a consonant is a Y. r1 and r2 are
// where the regions of those names begin: what follows the first consonant after
// a vowel, and the same again.
type stemmer struct {
	b      [maxToken + 1]byte
	n      int
	r1, r2 int
}

func (s *stemmer) begin(word string) {
	s.n = copy(s.b[:], word)
	for i := range s.n {
		if s.b[i] == 'y' && (i == 0 || vowel(s.b[i-1])) {
			s.b[i] = 'Y'
		}
	}
	s.r1 = s.region(0)
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(word, prefix) {
			s.r1 = len(prefix)
		}
	}
	s.r2 = s.region(s.r1)
}

func (s *stemmer) region(from int) int {
	for i := from + 1; i < s.n; i++ {
		if vowel(s.b[i-1]) && !vowel(s.b[i]) {
			return i + 1
		}
	}
	return s.n
}

func vowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func (s *stemmer) ends(suffix string) bool {
	return s.n >= len(suffix) && string(s.b[s.n-len(suffix):s.n]) == suffix
}

// longest returns the longest of some suffixes that the word ends with; they
// stand in that order.
func (s *stemmer) longest(suffixes []string) string {
	last := s.b[s.n-1]
	for _, x := range suffixes {
		if x[len(x)-1] == last && s.ends(x) {
			return x
		}
	}
	return ""
}

// replace puts something else in the place of the last letters.
func (s *stemmer) replace(letters int, with string) {
	s.n -= letters
	s.n += copy(s.b[s.n:], with)
}

// vowelBefore reports whether there is a vowel among the first n letters.
func (s *stemmer) vowelBefore(n int) bool {
	for i := range max(0, n) {
		if vowel(s.b[i]) {
			return true
		}
	}
	return false
}

// plural takes a plural's ending off.
func (s *stemmer) plural() {
	switch {
	case s.ends("sses"):
		s.n -= 2
	case s.ends("ied"), s.ends("ies"):
		if s.n > 4 {
			s.n -= 2
		} else {
			s.n--
		}
	case s.ends("us"), s.ends("ss"):
	case s.ends("s"):
		if s.vowelBefore(s.n - 2) {
			s.n--
		}
	}
}

var pastEndings = []string{"eedly", "ingly", "edly", "eed", "ing", "ed"}

// past takes the endings of the past and of the -ing form off, and mends what is
// left.
func (s *stemmer) past() {
	x := s.longest(pastEndings)
	switch x {
	case "":
		return
	case "eed", "eedly":
		if s.n-len(x) >= s.r1 {
			s.replace(len(x), "ee")
		}
		return
	}
	if !s.vowelBefore(s.n - len(x)) {
		return
	}
	s.n -= len(x)
	switch {
	case s.ends("at"), s.ends("bl"), s.ends("iz"):
		s.replace(0, "e")
	case s.doubled():
		s.n--
	case s.r1 >= s.n && s.shortSyllable(s.n):
		s.replace(0, "e")
	}
}

func (s *stemmer) doubled() bool {
	if s.n < 2 || s.b[s.n-1] != s.b[s.n-2] {
		return false
	}
	return strings.IndexByte("bdfgmnprt", s.b[s.n-1]) >= 0
}

// shortSyllable reports whether the first n letters end in a short syllable.
func (s *stemmer) shortSyllable(n int) bool {
	switch {
	case n == 2:
		return vowel(s.b[0]) && !vowel(s.b[1])
	case n > 2:
		c := s.b[n-1]
		return !vowel(c) && c != 'w' && c != 'x' && c != 'Y' && vowel(s.b[n-2]) && !vowel(s.b[n-3])
	}
	return false
}

func (s *stemmer) lastY() {
	if s.n > 2 && (s.b[s.n-1] == 'y' || s.b[s.n-1] == 'Y') && !vowel(s.b[s.n-2]) {
		s.b[s.n-1] = 'i'
	}
}

var (
	derivedEndings = []string{
		"ational", "fulness", "iveness", "ization", "ousness", "biliti", "lessli", "tional", "alism", "aliti", "ation", "entli", "fulli",
		"iviti", "ousli", "abli", "alli", "anci", "ator", "enci", "izer", "bli", "ogi", "li",
	}
	derivedTo = map[string]string{
		"tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize", "ization": "ize",
		"ational": "ate", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al", "alli": "al", "fulness": "ful",
		"ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble", "bli": "ble", "fulli": "ful", "lessli": "less",
	}
)

// derived shortens the endings of derived words.
func (s *stemmer) derived() {
	x := s.longest(derivedEndings)
	at := s.n - len(x)
	if x == "" || at < s.r1 {
		return
	}
	switch x {
	case "ogi":
		if at > 0 && s.b[at-1] == 'l' {
			s.n--
		}
	case "li":
		if at > 0 && strings.IndexByte("cdeghkmnrt", s.b[at-1]) >= 0 {
			s.n = at
		}
	default:
		s.replace(len(x), derivedTo[x])
	}
}

var derived3Endings = []string{"ational", "tional", "alize", "ative", "icate", "iciti", "ical", "ness", "ful"}

// derived3 goes on with the endings that derived leaves.
func (s *stemmer) derived3() {
	x := s.longest(derived3Endings)
	at := s.n - len(x)
	if x == "" || at < s.r1 {
		return
	}
	switch x {
	case "tional":
		s.n -= 2
	case "ational":
		s.replace(len(x), "ate")
	case "alize":
		s.n -= 3
	case "icate", "iciti", "ical":
		s.replace(len(x), "ic")
	case "ful", "ness":
		s.n = at
	case "ative":
		if at >= s.r2 {
			s.n = at
		}
	}
}

var suffixes = []string{"ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize", "ous", "al", "er", "ic"}

// suffix takes a last ending off long words.
func (s *stemmer) suffix() {
	x := s.longest(suffixes)
	at := s.n - len(x)
	if x == "" || at < s.r2 {
		return
	}
	if x == "ion" && (at == 0 || s.b[at-1] != 's' && s.b[at-1] != 't') {
		return
	}
	s.n = at
}

func (s *stemmer) lastE() {
	at := s.n - 1
	if at < 0 {
		return
	}
	switch s.b[at] {
	case 'e':
		if at >= s.r2 || at >= s.r1 && !s.shortSyllable(at) {
			s.n--
		}
	case 'l':
		if at >= s.r2 && at > 0 && s.b[at-1] == 'l' {
			s.n--
		}
	}
}
