package markup

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"pgregory.net/rapid"

	"lethe/internal/botapi"
)

// pieces are what replies are made of here: marks in and out of place, text that resembles
// them, and characters that are easily cut or lost. None has the letter x, which may stand for a
// ticked box, or a character reference, which is not shown as it is written.
var pieces = []string{
	"a", "b", "cd", "efg", "A", "1", "23", "é", "你好", "字", "。", ".", ",", ":", "!", " ", " ", " ", "  ", "\t",
	"\n", "\n", "\n", "\n\n", "\n\n", "*", "**", "***", "_", "__", "~~", "~", "`", "``", "*a*", "**b**", "**c *d* e**",
	"_f g_", "~~h~~", "`i`", "**j `k` l**", "\n# ", "\n## m\n", "\n- ", "\n  - ", "\n    - ", "\n* ", "\n+ ", "\n1. ", "\n   2) ",
	"\n> ", "\n> > ", "\n>\n", "\n- [ ] ", "\n---\n", "\n===\n", "\n```\n", "\n```go\n", "\n~~~\n", "\n    ", "\n```\nn\n  o\n```\n",
	"[p](http://q.example/r)", "[s](t.md)", "![u](http://v.example/w \"y\")", "[", "](", ")", "]", "!", "[z][a]", "\n[b]: /c\n",
	"<", ">", "<d>", "</e>", "<!--", "-->", "<f:g>", "<http://h.example/>", "i@j.example", "\\", "\\*", "|", "\n|a|b|\n|-|-|\n|c|d|\n",
	"\n|e|\n", "\n--|--\n", "#", "-", "+", "=", "&", ";", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "👍🏽", "e\u0301", "\u200b", "\u00A0",
	"\u2028", "\u202e", "\r\n", "\x00", "\x1b", "\xff", "$k$", "(l)", "m_n_o", "2*3*4", "C:\\p\\_q", "__r__",
}

func reply(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), rapid.SampledFrom([]int{0, 20}).Draw(t, "least"), 60).Draw(t, "pieces"), "")
}

// verify holds messages to what the package promises of any, and to what the server takes.
func verify(messages []Message, limit int) error {
	for i, m := range messages {
		text := m.Text
		if m.HTML != "" {
			parsed, entities, err := botapi.ParseHTML(m.HTML)
			if err != nil {
				return fmt.Errorf("message %d, %q: %w", i, m.HTML, err)
			}
			if len(entities) > MaxEntities {
				return fmt.Errorf("message %d has %d entities", i, len(entities))
			}
			text = parsed
		}
		switch {
		case Units(text) > limit:
			return fmt.Errorf("message %d has %d units", i, Units(text))
		case Units(m.Text) > Limit:
			return fmt.Errorf("message %d has %d units without markup", i, Units(m.Text))
		case blank(text):
			return fmt.Errorf("message %d is blank: %q", i, text)
		case strings.Trim(text, " \n") != text:
			return fmt.Errorf("message %d is not trimmed: %q", i, text)
		}
	}
	return nil
}

var (
	target = regexp.MustCompile(`<a href="([^"]*)">([^<]*(?:<[^/a][^<]*|</[^a][^<]*)*)</a>`)
	lang   = regexp.MustCompile(`<pre><code class="language-([^"]*)">`)
	tag    = regexp.MustCompile(`<[^>]*>`)
	// What is resolved where it is not code: character references, and the x of a ticked box.
	resolved = regexp.MustCompile(`&#?\w+;|\[[xX]\]`)
)

// spelled returns what is sent, with the targets of links behind their text.
func spelled(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		if m.HTML == "" {
			b.WriteString(m.Text + "\n")
			continue
		}
		s := lang.ReplaceAllString(target.ReplaceAllString(m.HTML, "$2 $1"), "$1 ")
		b.WriteString(html.UnescapeString(tag.ReplaceAllString(s, "")) + "\n")
	}
	return b.String()
}

// essence returns the letters and digits of s.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, s)
}

// missing returns what is left of want when it is read off got from front to back; "" if want
// is contained in got in order.
func missing(want, got string) string {
	rest := []rune(want)
	for _, r := range got {
		if len(rest) > 0 && rest[0] == r {
			rest = rest[1:]
		}
	}
	return string(rest)
}

// twice says whether in has a link whose text is its target, which is written once.
func twice(in string) (found bool) {
	source := []byte(in + "\n")
	_ = ast.Walk(parse(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering {
			r := renderer{source: source}
			r.inlines(l, look{})
			found = found || r.text.String() == unescape(l.Destination)
		}
		return ast.WalkContinue, nil
	})
	return found
}

// keeps says what is wrong with messages of in, and which letters and digits are lost.
func keeps(in string, limit int) error {
	got := render(clean(in)).split(limit)
	if err := verify(got, limit); err != nil {
		return err
	}
	if twice(clean(in)) {
		return nil
	}
	if rest := missing(essence(resolved.ReplaceAllString(clean(in), "")), essence(spelled(got))); rest != "" {
		return fmt.Errorf("%q is lost from %q, got %q", rest, in, shown(got))
	}
	return nil
}

func TestRenderKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := keeps(reply(t), rapid.SampledFrom([]int{2, 3, 7, 16, 40, 200, Limit}).Draw(t, "limit")); err != nil {
			t.Fatal(err)
		}
	})
}

// The same reply whole and in parts: each character that can be seen has the same look.
func TestSplitKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := reply(t)
		limit := rapid.IntRange(2, 100).Draw(t, "limit")
		whole, parts := dressed(Render(in, Limit)), dressed(Render(in, limit))
		if !slices.Equal(whole, parts) {
			t.Fatalf("%q in parts of %d\n got %q\nwant %q", in, limit, parts, whole)
		}
	})
}

// dressed returns each visible character with the tags around it.
func dressed(messages []Message) (out []string) {
	for _, m := range messages {
		s, _, err := botapi.ParseHTML(m.HTML)
		if err != nil || m.HTML == "" {
			s = m.Text
		}
		_, entities, _ := botapi.ParseHTML(m.HTML)
		at := 0
		for _, r := range s {
			look := string(r)
			for _, e := range entities {
				if e.Offset <= at && at < e.Offset+e.Length {
					look += " " + string(e.Type) + e.URL + e.Language
				}
			}
			at += Units(string(r))
			if !blank(string(r)) {
				out = append(out, look)
			}
		}
	}
	return out
}

// TestClustersStayWhole cuts text without spaces at every limit.
func TestClustersStayWhole(t *testing.T) {
	clusters := []string{"a", "你", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "👍🏽", "e\u0301", "1\uFE0F\u20E3", "한"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(clusters), 1, 50).Draw(t, "clusters")
		limit := rapid.IntRange(10, 40).Draw(t, "limit")
		whole := map[int]bool{0: true}
		at := 0
		for _, p := range parts {
			at += len(p)
			whole[at] = true
		}
		at = 0
		for _, m := range Plain(strings.Join(parts, ""), limit) {
			at += len(m.Text)
			if !whole[at] {
				t.Fatalf("%q is cut behind %q", parts, m.Text)
			}
		}
	})
}

// FuzzRender renders anything, not by way of Render, which survives a panic.
func FuzzRender(f *testing.F) {
	for i, p := range pieces {
		f.Add(p+pieces[(i*7)%len(pieces)]+p, 10)
	}
	f.Add("**a `b` c**\n\n> d\n\n```go\ne\n```\n| f |\n|---|\n| g |", 5)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		limit = 2 + max(limit, -limit, 0)%(Limit-1)
		if err := keeps(in, limit); err != nil {
			t.Fatal(err)
		}
		if err := verify(Plain(in, limit), limit); err != nil {
			t.Fatal(err)
		}
	})
}
