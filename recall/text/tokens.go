package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind says what a token is taken from.
type Kind uint8

const (
	Word  Kind = iota // a word of letters or of digits
	Ident             // a whole identifier: a path, a_b, camelCase, sha256
	Part              // a word inside the identifier that came just before
	Run               // some characters of a script without spaces
	Day               // a date in any form: 2026-11-20, or --11-20 for any year
)

// Token is one thing to look for in a text.
type Token struct {
	Text     string // folded: lower case, without diacritics
	From, To int    // bytes of the text; those of runs and days overlap others
	Kind     Kind
}

// Counts reports whether a token adds to the length of a text. Parts of what has
// been counted, and days, do not.
func (t Token) Counts() bool { return t.Kind != Part && t.Kind != Day }

// literal reports whether a token stands in the index as it is.
func (t Token) literal() bool {
	return t.Kind == Run || t.Kind == Day || t.Kind == Ident && !letters(t.Text)
}

// letters reports whether an identifier is a word all the same: YouTube is
// found by youtube.
func letters(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// maxToken bounds a token's text, in bytes: what is longer is data, of which the
// beginning has to do.
const maxToken = 64

// Tokens cuts a text into tokens, in order: the same for what is indexed, asked
// and ranked. The positions are those in the composed form (NFC) of the text.
// Refs (◱…◲) and escapes (◰0) are passed over. An identifier comes whole and then
// in its parts, if it has any; a date in words comes before these words.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		s := scanner{text: norm.NFC.String(text), yield: yield}
		for s.at < len(s.text) && !s.stopped {
			s.next()
		}
	}
}

type scanner struct {
	text    string
	at      int // the next byte
	dated   int // where the last date ends
	yield   func(Token) bool
	stopped bool
}

func (s *scanner) emit(text string, from, to int, kind Kind) {
	if len(text) > maxToken {
		text = Cut(text, maxToken)
	}
	if text != "" && !s.stopped {
		s.stopped = !s.yield(Token{text, from, to, kind})
	}
}

// Cut returns at most n bytes of s, in whole characters.
func Cut(s string, n int) string {
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
	var words []Span
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
			s.emit(foldWord(s.text[w.From:w.To]), w.From, w.To, Word)
		}
		return
	}
	s.emit(foldWord(s.text[from:to]), from, to, Ident)
	for _, w := range words {
		s.parts(w, len(words) > 1)
	}
}

// word takes one word. An apostrophe between letters belongs to it.
func (s *scanner) word(sh *shape) Span {
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
	return Span{from, s.at}
}

// letterAfter reports whether a letter follows n bytes on.
func (s *scanner) letterAfter(n int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(len(s.text), s.at+n):])
	return unicode.IsLetter(r)
}

// parts emits what an identifier's word is made of: camelCase is cut before a
// capital that begins a word. A word that is the whole identifier is not said
// twice.
func (s *scanner) parts(w Span, several bool) {
	text := s.text[w.From:w.To]
	from, last := 0, rune(0)
	for i, r := range text {
		if i > from && unicode.IsUpper(r) {
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if unicode.IsLower(last) || unicode.IsUpper(last) && unicode.IsLower(next) {
				s.emit(foldWord(text[from:i]), w.From+from, w.From+i, Part)
				from = i
			}
		}
		last = r
	}
	if from > 0 || several {
		s.emit(foldWord(text[from:]), w.From+from, w.To, Part)
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
			s.emit(s.text[at[i]:at[i+1]], at[i], at[i+1], Run)
		}
		j := i + n
		if j >= len(at) {
			if i > 0 || len(at)-1 == 1 && unicode.Is(unicode.Han, r) {
				continue
			}
			j = len(at) - 1 // the whole run is shorter than a piece
		}
		s.emit(Fold(s.text[at[i]:at[j]]), at[i], at[j], Run)
	}
}
