package recall

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind says what a token is a piece of.
type tokenKind uint8

const (
	wordToken  tokenKind = iota // a word of letters or of digits
	identToken                  // a whole identifier: a path, a_b, camelCase, sha256
	partToken                   // a word inside the identifier that came just before
	runToken                    // a piece of a run of a script without spaces
	dateToken                   // a day, however it is written: 2026-11-20, or --11-20 of any year
)

// token is one thing to look for in a text.
type token struct {
	text     string // folded: lower case, without diacritics
	from, to int    // bytes of the text that it stands for; those of runs and of dates overlap others
	kind     tokenKind
}

// maxToken bounds a token's text, in bytes: what is longer is data, of which the
// beginning has to do.
const maxToken = 64

// scan cuts a text into tokens, in order: the same for what is indexed, for what
// is asked and for what is ranked. Refs (◱…◲) and escapes are passed over. An
// identifier comes whole and then, where it has any, in its parts; a date in words
// comes before them.
func scan(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		composed(text).scan(yield)
	}
}

// scan cuts a spelling into tokens that stand for bytes of what it was made of.
func (p spelling) scan(yield func(token) bool) {
	s := scanner{text: p.text, yield: yield}
	if len(p.turns) > 0 {
		s.yield = func(t token) bool {
			t.from, t.to = p.from(t.from), p.from(t.to)
			return t.from == t.to || yield(t) // a mark that one character was taken apart to stands nowhere
		}
	}
	for s.at < len(s.text) && !s.stopped {
		s.next()
	}
}

type scanner struct {
	text    string
	at      int // the next byte
	dated   int // where the last date ends
	yield   func(token) bool
	stopped bool
}

func (s *scanner) emit(text string, from, to int, kind tokenKind) {
	if len(text) > maxToken {
		text = cutBytes(text, maxToken)
	}
	if text != "" && !s.stopped {
		s.stopped = !s.yield(token{text, from, to, kind})
	}
}

// cutBytes returns at most n bytes of s, in whole characters.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// next takes what begins at s.at: a chunk, a run, a ref, or a character that is
// nothing to look for.
func (s *scanner) next() {
	if c := s.text[s.at]; c < utf8.RuneSelf {
		if !asciiWord[c] {
			s.at++
			return
		}
		s.chunk()
		return
	}
	r, n := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case r == '◱':
		s.at += n
		if i := strings.IndexAny(s.text[s.at:], "◲\n"); i >= 0 {
			s.at += i
		}
	case r == '◰': // an escape, with its digit
		s.at += n
		if s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '4' {
			s.at++
		}
	case gramsOf(r) > 0:
		s.run(gramsOf(r))
	case wordRune(r):
		s.chunk()
	default:
		s.at += n
	}
}

var asciiWord = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return is
}()

// wordRune reports whether r can stand in a word: letters, numbers, marks and
// private use, as in FTS5's unicode61.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiWord[r]
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co)
}

// connector reports whether c can hold an identifier together.
func connector(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == '/' || c == '\\' || c == '@'
}

// shape is what a chunk has been seen to hold.
type shape struct {
	digits, letters bool
	code            bool // a connector other than a hyphen, or capitals where a word has none
	joined          bool // any connector
}

// chunk takes words, and connectors with a word on both sides: one word, or one
// identifier.
func (s *scanner) chunk() {
	from := s.at
	s.date()
	var words []span
	var sh shape
	for {
		w := s.word(&sh)
		words = append(words, w)
		if s.at+1 >= len(s.text) || !connector(s.text[s.at]) {
			break
		}
		r, _ := utf8.DecodeRuneInString(s.text[s.at+1:])
		if !wordRune(r) || gramsOf(r) > 0 {
			break
		}
		sh.joined = true
		sh.code = sh.code || s.text[s.at] != '-'
		s.at++
	}
	if d, n := isoDay(s.text[from:s.at]); n > 0 {
		s.emitDate(d, from, from+n)
		s.clock(from + n)
		return
	}
	to := s.at
	mixed := sh.digits && sh.letters
	if !sh.code && !mixed && !(sh.joined && sh.digits) { // words, hyphenated or not
		for _, w := range words {
			s.emit(foldWord(s.text[w.from:w.to]), w.from, w.to, wordToken)
		}
		return
	}
	s.emit(foldWord(s.text[from:to]), from, to, identToken)
	for _, w := range words {
		s.parts(w, len(words) > 1)
	}
}

// span is a range of bytes of a text.
type span struct{ from, to int }

// word takes one word. An apostrophe between letters belongs to it.
func (s *scanner) word(sh *shape) span {
	from := s.at
	capitals, small := 0, 0 // the last run of each
	for s.at < len(s.text) {
		r, n := rune(s.text[s.at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s.text[s.at:])
		}
		if (r == '\'' || r == '’') && s.at > from && s.letterAfter(n) {
			s.at += n
			capitals, small = 0, 0
			continue
		}
		if !wordRune(r) || gramsOf(r) > 0 {
			break
		}
		s.at += n
		switch {
		case '0' <= r && r <= '9':
			sh.digits = true
			continue
		case unicode.IsUpper(r):
			sh.code = sh.code || small > 0 // camelCase
			capitals, small = capitals+1, 0
		case unicode.IsLower(r):
			small++
			sh.code = sh.code || capitals > 2 && small > 1 // HTTPServer, but not CDs
			if small > 1 {
				capitals = 0
			}
		}
		sh.letters = true
	}
	return span{from, s.at}
}

// letterAfter reports whether a letter follows n bytes on.
func (s *scanner) letterAfter(n int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(len(s.text), s.at+n):])
	return unicode.IsLetter(r)
}

// parts emits what an identifier's word is made of: camelCase is cut before a
// capital that begins a word. A word that is the whole identifier is not said
// twice.
func (s *scanner) parts(w span, several bool) {
	text := s.text[w.from:w.to]
	from, last := 0, rune(0)
	for i, r := range text {
		if i > from && unicode.IsUpper(r) {
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if unicode.IsLower(last) || unicode.IsUpper(last) && unicode.IsLower(next) {
				s.emit(foldWord(text[from:i]), w.from+from, w.from+i, partToken)
				from = i
			}
		}
		last = r
	}
	if from > 0 || several {
		s.emit(foldWord(text[from:]), w.from+from, w.to, partToken)
	}
}

// clock passes over the time of day that follows a day: every line of a log has
// another one, and nobody looks for it.
func (s *scanner) clock(at int) {
	s.at = at
	if at >= len(s.text) || s.text[at] != 'T' && s.text[at] != ' ' {
		return
	}
	end := at + 1
	for end < len(s.text) && strings.IndexByte("0123456789:.,", s.text[end]) >= 0 {
		end++
	}
	if strings.IndexByte(s.text[at:end], ':') < 0 {
		return
	}
	for end < len(s.text) && strings.IndexByte("0123456789:Z+-", s.text[end]) >= 0 {
		end++
	}
	s.at = end
}

// Runs of scripts without spaces are looked for in pieces: pairs for scripts
// with many characters, trigrams for the others. Korean has spaces, but glues to
// its words what other languages write apart.
const (
	pairs    = 2
	trigrams = 3
)

// gramsOf returns how long the pieces of r's script are, 0 for a script with
// spaces.
func gramsOf(r rune) int {
	switch {
	case r < 0x0e00:
		return 0
	case r < 0x0f00: // Thai, Lao
		return trigrams
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo), r == 'ー':
		if r <= 0x11ff { // single letters of Hangul
			return 0
		}
		return pairs
	case unicode.In(r, unicode.Khmer, unicode.Myanmar):
		return trigrams
	}
	return 0
}

// run takes a run of one such script: all its pieces, and each Chinese character
// by itself, since many are words.
func (s *scanner) run(n int) {
	var at []int // where its characters begin
	end := s.at
	for i, r := range s.text[s.at:] {
		if gramsOf(r) != n {
			break
		}
		at = append(at, s.at+i)
		end = s.at + i + utf8.RuneLen(r)
	}
	s.at = end
	at = append(at, end)
	for i := 0; i < len(at)-1 && !s.stopped; i++ {
		r, _ := utf8.DecodeRuneInString(s.text[at[i]:])
		if unicode.Is(unicode.Han, r) {
			s.emit(s.text[at[i]:at[i+1]], at[i], at[i+1], runToken)
		}
		j := i + n
		if j >= len(at) {
			if i > 0 || len(at)-1 == 1 && unicode.Is(unicode.Han, r) {
				continue
			}
			j = len(at) - 1 // the whole run is shorter than a piece
		}
		s.emit(fold(s.text[at[i]:at[j]]), at[i], at[j], runToken)
	}
}
