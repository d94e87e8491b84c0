package markdown

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// failing is a parser with a defect.
type failing struct{ parser.Parser }

func (failing) Parse(text.Reader, ...parser.ParseOption) ast.Node { panic("defect") }

func TestDefectiveParser(t *testing.T) {
	sound := dialect
	dialect = func() parser.Parser { return failing{} }
	defer func() { dialect = sound }()
	if got := Parse("**a** b"); !reflect.DeepEqual(got, []Block{{Text: []Span{{Text: "**a** b"}}}}) {
		t.Errorf("Parse = %+v", got)
	}
}

// What a careless parser takes long for is read in a time that nobody notices.
func TestAbsurd(t *testing.T) {
	for _, s := range []string{"[", "![", "> ", "- ", "> - ", "1. ", "*a ", "a* ", "*a **b ", "``a`", "[a](b ", "<a ", "|a", "|a|\n|-|\n"} {
		began := time.Now()
		Parse(strings.Repeat(s, maxSource/len(s)))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q takes %s", s, took)
		}
	}
}

func TestAddresses(t *testing.T) {
	for source, link := range map[string]string{
		"<https://a.example/b>": "https://a.example/b", "www.a.example": "http://www.a.example", "<std::string>": "", "<a@b.example>": "",
		"[a](docs/a.md)": "docs/a.md", "![a](c)": "c", "[a](&#27;)": "␛",
	} {
		span := Parse(source)[0].Text[0]
		if span.Link != link || link == "" && !strings.Contains(source, span.Text) {
			t.Errorf("%q: %+v", source, span)
		}
	}
}
