package markup

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// emphasis parses *italic*, _italic_, **bold**, __bold__ and ~~struck~~.
//
// CommonMark's rules were made for prose; they also take the stars out of 2*3*4 and a/**/*.go,
// and fail at **bold：**文字, where no space follows. Here a run of marks opens where no word
// stands before it, and closes where none follows, and scripts without spaces have no words.
// The one exception is **S**pecific: bold that ends inside a word.
type emphasis struct{}

func (emphasis) Trigger() []byte { return []byte("*_~") }

func (emphasis) Parse(_ ast.Node, r text.Reader, pc parser.Context) ast.Node {
	before := r.PrecendingCharacter()
	line, segment := r.PeekLine()
	mark, n := line[0], len(line)-len(bytes.TrimLeft(line, string(line[:1])))
	after, _ := utf8.DecodeRune(append(line[n:len(line):len(line)], ' '))
	segment = segment.WithStop(segment.Start + n)
	r.Advance(n)

	canOpen := !unicode.IsSpace(after) && after != '/' && !isWord(before) && before != ')' && before != '.' &&
		(n > 1 || !strings.ContainsRune(".,;:)]}", after))
	canClose := !unicode.IsSpace(before) && before != '/' && !isWord(after)
	if n > 1 {
		canOpen = canOpen || (before == '.' || before == ')') && unicode.IsLetter(after)
		canClose = canClose || mark == '*' && unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	if mark == '~' && n != 2 || !canOpen && !canClose {
		return ast.NewTextSegment(segment)
	}
	d := parser.NewDelimiter(canOpen, canClose, n, mark, marks{mark, r.Source()})
	d.Segment = segment
	pc.PushDelimiter(d)
	return d
}

// isWord says whether r is part of a word of a script that puts spaces between words.
func isWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana,
		unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// marks says which runs of one kind match, and makes the node between them.
type marks struct {
	mark   byte
	source []byte
}

func (m marks) IsDelimiter(b byte) bool { return b == m.mark }

// CanOpenCloser leaves identifiers such as __init__ alone. An opener that turns out to be no
// markup opens nothing any more, so that each is looked at once.
func (m marks) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	if opener.Char != closer.Char {
		return false
	}
	content := m.source[opener.Segment.Stop:closer.Segment.Start]
	const longest = 64 // bytes of an identifier
	if m.mark == '_' && opener.Length > 1 && len(content) < longest && !bytes.ContainsFunc(content, notInName) {
		opener.CanOpen = false
	}
	return opener.CanOpen
}

func notInName(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }

func (m marks) OnMatch(consumed int) ast.Node {
	if m.mark == '~' {
		return east.NewStrikethrough()
	}
	return ast.NewEmphasis(consumed)
}
