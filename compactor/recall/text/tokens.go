package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind is the source of a token.
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
	From, To int    // bytes of the text; runs and days overlap others
	Kind     Kind
}

// Counts reports whether a token adds to the length of a text. Parts of a counted identifier, and days, do not.
func (t Token) Counts() bool { return t.Kind != Part && t.Kind != Day }

// leastSpelt is the fewest bytes of a word that may stand for another one.
const leastSpelt = 4

// Spelt reports whether another token may be taken for this one by its letters. Numbers are not alike.
func (t Token) Spelt() bool {
	isNumber := t.Kind != Ident && isDigit(rune(t.Text[0]))
	return t.Kind <= Part && len(t.Text) >= leastSpelt && !isNumber
}

// literal reports whether a token stands in the index as it is.
func (t Token) literal() bool {
	switch t.Kind {
	case Run, Day:
		return true
	case Ident:
		return !letters(t.Text)
	}
	return false
}

// letters reports whether an identifier is a word all the same: YouTube is
// found by youtube.
func letters(ident string) bool {
	return !strings.ContainsFunc(ident, func(r rune) bool {
		isSmall := 'a' <= r && r <= 'z'
		return r < utf8.RuneSelf && !isSmall
	})
}

// maxToken bounds a token's text, in bytes: a longer one is data, and only its beginning counts.
const maxToken = 64

// refBytes is more than a ref is long.
const refBytes = 512

// Tokens cuts a text into tokens, in order: the same to index, to ask and to rank. The positions are those in the
// composed form (NFC) of the text. Refs (◱…◲) and escapes (◰0) are passed over. An identifier comes whole and then in
// its parts, if it has any; a date in words comes before these words.
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

// Cut returns at most the first n bytes of a text, in whole characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// next takes what begins at s.at: a chunk, a run, a ref, or a character that is
// nothing to look for.
func (s *scanner) next() {
	letter, n := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case letter == '◱':
		s.at += n
		if i := strings.IndexAny(Cut(s.text[s.at:], refBytes), "◲\n"); i >= 0 {
			s.at += i
		}
	case letter == '◰': // an escape, with its digit
		s.at += n
		if s.at < len(s.text) && strings.IndexByte("01234", s.text[s.at]) >= 0 {
			s.at++
		}
	case unspaced(letter):
		s.run()
	case wordRune(letter):
		s.chunk()
	default:
		s.at += n
	}
}

// wordRune reports whether r can stand in a word: letters, numbers, marks and
// private use, as in FTS5's unicode61.
func wordRune(letter rune) bool {
	if letter < utf8.RuneSelf {
		small := letter | 0x20
		isLetter := 'a' <= small && small <= 'z'
		return isLetter || isDigit(letter)
	}
	return unicode.In(letter, unicode.L, unicode.N, unicode.M, unicode.Co)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// connectors hold an identifier together.
const connectors = `_-./\@`

// chunk takes words, and connectors with a word on both sides: one word, or one
// identifier.
func (s *scanner) chunk() {
	from := s.at
	s.date()
	var buf [8]Span
	var has contents
	parts := s.words(buf[:0], &has)
	if s.day(from) {
		return
	}
	isMixed := has.others || has.words > 1
	switch {
	case has.code, len(parts) > has.words: // a path, camelCase
	case has.digits && isMixed: // sha256, x-20
	default: // words, hyphenated or not
		s.emitEach(parts, Word)
		return
	}
	s.emit(foldWord(s.text[from:s.at]), from, s.at, Ident)
	if len(parts) > 1 { // a word that is the whole identifier is not said twice
		s.emitEach(parts, Part)
	}
}

func (s *scanner) emitEach(words []Span, kind Kind) {
	for _, word := range words {
		s.emit(foldWord(s.text[word.From:word.To]), word.From, word.To, kind)
	}
}

// day emits the day that the chunk from a byte on is, if it is one.
func (s *scanner) day(from int) bool {
	chunk := s.text[from:s.at]
	if day, ok := isoDay(chunk); ok {
		s.emitDate(day, from, from+isoBytes)
		s.clock(from + isoBytes)
		return true
	}
	day, ok := dottedDay(chunk)
	if ok {
		s.emitDate(day, from, s.at)
	}
	return ok
}

// contents are the characters that a chunk has been seen to hold.
type contents struct {
	words          int
	digits, others bool
	capitals       bool // other than at the beginning of a word
	code           bool // a connector other than a hyphen
}

// words takes the words of a chunk and appends them, camelCase in its parts.
func (s *scanner) words(parts []Span, has *contents) []Span {
	for {
		word := s.word(has)
		has.words++
		if has.capitals {
			parts = s.humps(parts, word)
		} else {
			parts = append(parts, word)
		}
		if s.at+1 >= len(s.text) || strings.IndexByte(connectors, s.text[s.at]) < 0 {
			return parts
		}
		if r, _ := utf8.DecodeRuneInString(s.text[s.at+1:]); !wordRune(r) || unspaced(r) {
			return parts
		}
		if s.text[s.at] != '-' {
			has.code = true
		}
		s.at++
	}
}

// word takes one word. An apostrophe between letters belongs to it.
func (s *scanner) word(has *contents) Span {
	from := s.at
	for s.at < len(s.text) {
		letter, n := rune(s.text[s.at]), 1
		if letter >= utf8.RuneSelf {
			letter, n = utf8.DecodeRuneInString(s.text[s.at:])
		}
		isFirst := s.at == from
		isApostrophe := letter == '\'' || letter == '’'
		switch {
		case isApostrophe && !isFirst && s.letterAfter(n):
		case !wordRune(letter) || unspaced(letter):
			return Span{from, s.at}
		case isDigit(letter):
			has.digits = true
		default:
			has.others = true
			if !isFirst && unicode.IsUpper(letter) {
				has.capitals = true
			}
		}
		s.at += n
	}
	return Span{from, s.at}
}

// humps appends the words that camelCase and HTTPServer are made of: each begins
// with a capital behind a small letter, or with the last of some capitals before
// two small letters, unlike in CDs.
func (s *scanner) humps(parts []Span, word Span) []Span {
	text := []rune(s.text[word.From:word.To])
	small := func(i int) bool { return i < len(text) && unicode.IsLower(text[i]) }
	isHump := func(i int) bool {
		if i == 0 || !unicode.IsUpper(text[i]) {
			return false
		}
		if small(i - 1) {
			return true
		}
		beforeWord := small(i+1) && small(i+2)
		return beforeWord && unicode.IsUpper(text[i-1])
	}
	at := word.From
	for i, letter := range text {
		if isHump(i) {
			parts = append(parts, Span{word.From, at})
			word.From = at
		}
		at += utf8.RuneLen(letter)
	}
	return append(parts, word)
}

// letterAfter reports whether a letter follows n bytes on.
func (s *scanner) letterAfter(n int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(len(s.text), s.at+n):])
	return unicode.IsLetter(r)
}

// unspaced reports whether a script has no spaces between its words. Korean has
// them, but glues to its words what other languages write apart.
func unspaced(letter rune) bool {
	switch {
	case letter < 0x0e00:
		return false
	case letter < 0x0f00: // Thai, Lao
		return true
	case letter >= 0x1100 && letter <= 0x11ff: // single letters of Hangul
		return false
	}
	return letter == 'ー' || unicode.In(letter, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Bopomofo, unicode.Khmer, unicode.Myanmar)
}

// run takes a run of such scripts: all pairs of its characters, and each Chinese one
// by itself, since many are words.
func (s *scanner) run() {
	from, last := s.at, s.at
	for s.at < len(s.text) && !s.stopped {
		letter, n := utf8.DecodeRuneInString(s.text[s.at:])
		if !unspaced(letter) {
			break
		}
		at := s.at
		s.at += n
		if at > from {
			s.emit(Fold(s.text[last:s.at]), last, s.at, Run)
		}
		next, _ := utf8.DecodeRuneInString(s.text[s.at:])
		isAlone := at == from && !unspaced(next)
		if isAlone || unicode.Is(unicode.Han, letter) {
			s.emit(Fold(s.text[at:s.at]), at, s.at, Run)
		}
		last = at
	}
}

// foldWord folds a word, without its apostrophes: Jon's is jon, don't is dont.
func foldWord(text string) string {
	text = Fold(Cut(text, 4*maxToken)) // the rest would be cut anyway, and wide letters become many
	return strings.ReplaceAll(strings.TrimSuffix(text, "'s"), "'", "")
}

// Fold composes a text of words, makes it lower case and takes off what people leave
// out when they type: diacritics of Latin and Greek, points of Arabic and Hebrew,
// stress marks of Cyrillic. Ligatures and wide letters become the usual ones. What
// is folded already shares its memory.
func Fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	unmarked := true // the letter before loses its marks
	for _, letter := range norm.NFKC.String(text) {
		if unmarked && unicode.Is(unicode.Mn, letter) {
			continue
		}
		unmarked = unicode.In(letter, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew)
		if unmarked {
			letter, _ = utf8.DecodeRuneInString(norm.NFD.String(string(letter)))
		}
		letter = unicode.ToLower(letter)
		isASCII := letter < utf8.RuneSelf
		isJoint := strings.ContainsRune("'’"+connectors, letter)
		if !isJoint && !wordRune(letter) {
			continue
		}
		b.WriteRune(letter)
		if isASCII || unicode.Is(unicode.Cyrillic, letter) {
			unmarked = true
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
