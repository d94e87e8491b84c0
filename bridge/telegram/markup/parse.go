package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds that keep parsing linear. goldmark looks backwards from each closing mark, walks all
// open blocks for each line, and recurses as deep as the text is nested.
const (
	maxDepth  = 40    // blocks open at once; deeper `>` and `-` are text
	maxMarks  = 600   // places in one block where inline markup is tried; further marks are text
	maxInline = 16384 // bytes of a block in which inline markup is tried at all
)

// dialect is CommonMark with strikethrough, tables and task boxes, less what would swallow text
// that a model did not mean as markup: link reference definitions, headings underlined with
// --- (which models write for a rule), HTML, and emphasis inside words and formulas.
var dialect = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(item{parser.NewListItemParser()}, 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(bounded{parser.NewCodeSpanParser()}, 100),
		util.Prioritized(boundedLinks{bounded{links}, links.(parser.CloseBlocker)}, 200),
		util.Prioritized(bounded{parser.NewAutoLinkParser()}, 300),
		util.Prioritized(bounded{emphasis{}}, 500),
	),
	parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)),
)

var links = parser.NewLinkParser()

func parse(source []byte) ast.Node { return dialect.Parse(text.NewReader(source)) }

// shallow opens no block where maxDepth are open.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// bounded tries its parser at no more than maxMarks places of a block, and at none of a block
// that is larger than maxInline.
type bounded struct{ parser.InlineParser }

var tallyKey = parser.NewContextKey()

type tally struct {
	block ast.Node
	left  int
}

func (b bounded) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	t, _ := pc.Get(tallyKey).(*tally)
	if t == nil || t.block != parent {
		t = &tally{block: parent}
		if lines := parent.Lines(); lines.At(lines.Len()-1).Stop-lines.At(0).Start <= maxInline {
			t.left = maxMarks
		}
		pc.Set(tallyKey, t)
	}
	if t.left == 0 {
		return nil
	}
	t.left--
	return b.InlineParser.Parse(parent, r, pc)
}

// boundedLinks also passes the end of a block on, where brackets that opened nothing become text.
type boundedLinks struct {
	bounded
	parser.CloseBlocker
}

// item keeps the marker of a list item as it is written: the number of an ordered item is the
// author's, even if a list that starts at 1 would count differently.
type item struct{ parser.BlockParser }

func (i item) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := r.PeekLine()
	node, state := i.BlockParser.Open(parent, r, pc)
	if node != nil {
		marker := bytes.TrimLeft(line, " \t")
		n := 1 + bytes.IndexFunc(marker, func(r rune) bool { return r < '0' || r > '9' })
		node.SetAttributeString("marker", string(marker[:n]))
	}
	return node, state
}
