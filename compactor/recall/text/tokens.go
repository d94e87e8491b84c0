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
	isCode := t.Kind == Ident && !letters(t.Text)
	return isCode || t.Kind == Run || t.Kind == Day
}

// letters reports whether an identifier is a word all the same: YouTube is
// found by youtube.
func letters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && (r < 'a' || r > 'z') })
}

// maxToken bounds a token's text, in bytes: what is longer is data, of which the
// beginning has to do.
const maxToken = 64

// refBytes is more than a ref is long.
const refBytes = 512

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
	text = Cut(text, maxToken)
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
	r, n := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case r == '◱':
		s.at += n
		if i := strings.IndexAny(Cut(s.text[s.at:], refBytes), "◲\n"); i >= 0 {
			s.at += i
		}
	case r == '◰': // an escape, with its digit
		s.at += n
		if s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '4' {
			s.at++
		}
	case unspaced(r):
		s.run()
	case wordRune(r):
		s.chunk()
	default:
		s.at += n
	}
}

// wordRune reports whether r can stand in a word: letters, numbers, marks and
// private use, as in FTS5's unicode61.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		small := r | 0x20
		return '0' <= r && r <= '9' || 'a' <= small && small <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co)
}

// connector reports whether c can hold an identifier together.
func connector(c byte) bool {
	return strings.IndexByte(`_-./\@`, c) >= 0
}

// chunk takes words, and connectors with a word on both sides: one word, or one
// identifier.
func (s *scanner) chunk() {
	from := s.at
	s.date()
	var buf [8]Span
	parts := buf[:0]
	words, code := 0, false // code has a connector other than a hyphen
	var has contents
	for {
		w := s.word(&has)
		if has.capitals {
			parts = s.humps(parts, w)
		} else {
			parts = append(parts, w)
		}
		words++
		if s.at+1 >= len(s.text) || !connector(s.text[s.at]) {
			break
		}
		if r, _ := utf8.DecodeRuneInString(s.text[s.at+1:]); !wordRune(r) || unspaced(r) {
			break
		}
		code = code || s.text[s.at] != '-'
		s.at++
	}
	to := s.at
	if d, ok := isoDay(s.text[from:to]); ok {
		s.emitDate(d, from, from+isoBytes)
		s.clock(from + isoBytes)
		return
	}
	if d, ok := dottedDay(s.text[from:to]); ok {
		s.emitDate(d, from, to)
		return
	}
	isMixed := has.digits && (has.others || words > 1)
	hasHumps := len(parts) > words
	ident := code || hasHumps || isMixed
	if !ident { // words, hyphenated or not
		for _, w := range parts {
			s.emit(foldWord(s.text[w.From:w.To]), w.From, w.To, Word)
		}
		return
	}
	s.emit(foldWord(s.text[from:to]), from, to, Ident)
	if len(parts) > 1 { // a word that is the whole identifier is not said twice
		for _, w := range parts {
			s.emit(foldWord(s.text[w.From:w.To]), w.From, w.To, Part)
		}
	}
}

// contents are what a chunk has been seen to hold.
type contents struct {
	digits, others bool
	capitals       bool // other than at the beginning of a word
}

// word takes one word. An apostrophe between letters belongs to it.
func (s *scanner) word(has *contents) Span {
	from := s.at
	for s.at < len(s.text) {
		r, n := rune(s.text[s.at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s.text[s.at:])
		}
		switch {
		case (r == '\'' || r == '’') && s.at > from && s.letterAfter(n):
		case !wordRune(r) || unspaced(r):
			return Span{from, s.at}
		case '0' <= r && r <= '9':
			has.digits = true
		default:
			has.others = true
			has.capitals = has.capitals || s.at > from && unicode.IsUpper(r)
		}
		s.at += n
	}
	return Span{from, s.at}
}

// humps appends the words that camelCase and HTTPServer are made of: each begins
// with a capital behind a small letter, or with the last of some capitals before
// two small letters, unlike in CDs.
func (s *scanner) humps(parts []Span, w Span) []Span {
	text := []rune(s.text[w.From:w.To])
	small := func(i int) bool { return i < len(text) && unicode.IsLower(text[i]) }
	at := w.From
	for i, r := range text {
		isCapital := i > 0 && unicode.IsUpper(r)
		endsCapitals := isCapital && unicode.IsUpper(text[i-1]) && small(i+1) && small(i+2)
		if endsCapitals || isCapital && small(i-1) {
			parts = append(parts, Span{w.From, at})
			w.From = at
		}
		at += utf8.RuneLen(r)
	}
	return append(parts, w)
}

// letterAfter reports whether a letter follows n bytes on.
func (s *scanner) letterAfter(n int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(len(s.text), s.at+n):])
	return unicode.IsLetter(r)
}

// unspaced reports whether a script has no spaces between its words. Korean has
// them, but glues to its words what other languages write apart.
func unspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r < 0x0f00: // Thai, Lao
		return true
	case r >= 0x1100 && r <= 0x11ff: // single letters of Hangul
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Bopomofo, unicode.Khmer, unicode.Myanmar)
}

// run takes a run of such scripts: all pairs of its characters, and each Chinese one
// by itself, since many are words.
func (s *scanner) run() {
	from, last := s.at, s.at
	for s.at < len(s.text) && !s.stopped {
		r, n := utf8.DecodeRuneInString(s.text[s.at:])
		if !unspaced(r) {
			break
		}
		at := s.at
		s.at += n
		if at > from {
			s.emit(Fold(s.text[last:s.at]), last, s.at, Run)
		}
		next, _ := utf8.DecodeRuneInString(s.text[s.at:])
		isAlone := at == from && !unspaced(next)
		if isAlone || unicode.Is(unicode.Han, r) {
			s.emit(Fold(s.text[at:s.at]), at, s.at, Run)
		}
		last = at
	}
}

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
