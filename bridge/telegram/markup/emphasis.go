package markup

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// emphasis parses *italic*, _italic_, **bold**, __bold__ and ~~struck~~.
//
// CommonMark's rules were made for prose; they also take the stars out of 2*3*4, 2**10, f(*a, **k)
// and a/**/*.go, and fail at **bold：**文字, where no space follows. Here a run of marks opens
// behind a space or a punctuation mark that can stand before a word, and closes before anything
// but a word. Letters of scripts that are written without spaces count as spaces. The one
// exception is **S**pecific: bold that ends inside a word, if it holds no space.
type emphasis struct{}

func (emphasis) Trigger() []byte { return []byte("*_~") }

func (emphasis) Parse(_ ast.Node, r text.Reader, pc parser.Context) ast.Node {
	before := r.PrecendingCharacter()
	line, segment := r.PeekLine()
	mark := line[0]
	n := len(line) - len(bytes.TrimLeft(line, string(mark)))
	after, _ := utf8.DecodeRune(line[n:])
	if n == len(line) {
		after = ' '
	}
	segment = segment.WithStop(segment.Start + n)
	r.Advance(n)

	m := &marks{mark: mark, source: r.Source()}
	canOpen := !unicode.IsSpace(after) && introduces(before, after, n) && !strings.ContainsRune(unlikely(n), after)
	canClose := !unicode.IsSpace(before) && !isWord(after)
	if before == '/' && strings.ContainsRune("/.", after) || n == 1 && before == ')' && after == '(' { // a/**/b, (a)*(b)
		canClose = false
	}
	if n > 1 && mark == '*' && unicode.IsLetter(before) && unicode.IsLetter(after) {
		canClose, m.inWord = true, isWord(before) && isWord(after)
	}
	if mark == '~' && n != 2 || !canOpen && !canClose {
		return ast.NewTextSegment(segment)
	}
	d := parser.NewDelimiter(canOpen, canClose, n, mark, m)
	d.Segment = segment
	pc.PushDelimiter(d)
	return d
}

// unlikely lists what no text begins with that n marks emphasise, but patterns do: *.go, **/x.
func unlikely(n int) string {
	if n == 1 {
		return ".,;:)]}/"
	}
	return "/"
}

// introduces says whether text that n marks emphasise may follow before directly. After most
// punctuation a single star is rather a sign of multiplication or part of a pattern.
func introduces(before, after rune, n int) bool {
	switch {
	case before >= 0x80:
		return dense(before) || !isWord(before)
	case unicode.IsSpace(before) || strings.ContainsRune(`([{>"'-:;,!?|=*_~`, before):
		return true
	}
	return n > 1 && !isWord(before) && unicode.IsLetter(after)
}

func isWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !dense(r)
}

// dense reports characters of scripts that put no spaces between words.
func dense(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// marks says which runs of one kind match, and makes the span between them.
type marks struct {
	mark   byte
	inWord bool // closes inside a word
	source []byte
}

func (m *marks) IsDelimiter(b byte) bool { return b == m.mark }

// CanOpenCloser is asked for each closer about the openers before it, nearest first. An opener
// that turns out to be no markup opens nothing any more, so that each is looked at once.
func (m *marks) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	if opener.Char != closer.Char {
		return false
	}
	content := m.source[opener.Segment.Stop:closer.Segment.Start]
	if closer.Processor.(*marks).inWord {
		return len(content) < maxName && bytes.IndexFunc(content, unicode.IsSpace) < 0
	}
	if m.literal(string(content[:min(len(content), maxName)]), min(opener.Length, closer.Length)) {
		opener.CanOpen = false
		return false
	}
	return true
}

// maxName is how much text, in bytes, is looked at for being an identifier or a formula.
const maxName = 64

// literal says that n marks around content are no markup: __init__ and _my_name_ are
// identifiers, (*p)*(*q) is a formula.
func (m *marks) literal(content string, n int) bool {
	switch {
	case len(content) == maxName:
		return false
	case m.mark == '_' && n > 1:
		return !strings.ContainsFunc(content, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		})
	case m.mark == '_':
		return strings.Contains(content, "_") && !strings.ContainsFunc(content, unicode.IsSpace)
	case m.mark == '*' && n == 1:
		return strings.Count(content, "(") != strings.Count(content, ")")
	}
	return false
}

func (m *marks) OnMatch(consumed int) ast.Node {
	return &span{mark: m.mark, n: consumed}
}

// span is text between two runs of n marks.
type span struct {
	ast.BaseInline
	mark byte
	n    int
}

var kindSpan = ast.NewNodeKind("Span")

func (s *span) Kind() ast.NodeKind { return kindSpan }

func (s *span) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

// style is what a span does to its text.
func (s *span) style() style {
	switch {
	case s.mark == '~':
		return struck
	case s.n == 2:
		return bold
	}
	return italic
}
