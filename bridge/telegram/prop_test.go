package telegram

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"lethe/internal/markdown"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
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
	"\n|e|\n", "\n--|--\n", "#", "-", "+", "=", "&", ";", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "👍🏽",
	"e\u0301", "\u200b", "\u00A0",
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
		case Units(m.Text) > MaxUnits:
			return fmt.Errorf("message %d has %d units without markup", i, Units(m.Text))
		case blank(text):
			return fmt.Errorf("message %d is blank: %q", i, text)
		case strings.Trim(text, " \n") != text:
			return fmt.Errorf("message %d is not trimmed: %q", i, text)
		}
	}
	return nil
}

// resolved is what may not be shown: character references, the x of a ticked box, what stands behind
// a fence, the target of a link.
var resolved = regexp.MustCompile("&#?\\w+;|\\[[xX]\\]|(?:```|~~~).*|\\]\\([^\\n]*")

// essence returns the letters of s. Numbers may be those of items, which are counted.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
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

// keeps says what is wrong with messages of in, and which letters are lost.
func keeps(in string, limit int) error {
	got := Render(in, limit)
	if err := verify(got, limit); err != nil {
		return err
	}
	var sent strings.Builder
	for _, m := range got {
		sent.WriteString(m.Text)
	}
	if rest := missing(essence(resolved.ReplaceAllString(markdown.Clean(in), "")), essence(sent.String())); rest != "" {
		return fmt.Errorf("%q is lost from %q, got %q", rest, in, shown(got))
	}
	return nil
}

func TestRenderKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lethetest.Must(t, keeps(reply(t), rapid.SampledFrom([]int{2, 3, 7, 16, 40, 200, MaxUnits}).Draw(t, "limit")))
	})
}

// The same reply whole and in parts: each character that can be seen has the same look.
func TestSplitKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := reply(t)
		limit := rapid.IntRange(2, 100).Draw(t, "limit")
		whole, parts := dressed(Render(in, MaxUnits)), dressed(Render(in, limit))
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

// TestAbsurd renders what makes a careless parser slow. It ends only if the cost of nothing here
// is much more than linear, and no depth too much for the stack.
func TestAbsurd(t *testing.T) {
	const n = 20_000
	var steps strings.Builder
	for i := 0; steps.Len() < n; i++ {
		steps.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	cases := map[string]string{
		"steps": steps.String(), "wide cell": "|a|b|\n|-|-|\n|" + strings.Repeat("x", n) + "|\n" + strings.Repeat("|a|b|\n", n/6),
		"brackets": strings.Repeat("[", n/2) + strings.Repeat("]", n/2), "mismatched": strings.Repeat("*a ", n/6) + strings.Repeat("b_ ", n/6),
	}
	for _, s := range []string{"x", "a\n", "# a\n", "> ", "> - ", "1. ", "- a\n\n", "|a", "[a](b ", "![", "*a ", "a* ",
		"**a** ", "*a*\n\n", "``a`", "<a ",
		"&amp;", "a\u0301", "👩\u200d", "\u200b", "\xff", "Some **bold** text with `code` and a [link](https://a.example/d).\n\n",
		strings.Repeat("*(a ", 300) + strings.Repeat("b* ", 300) + "\n\n"} {
		cases[s[:min(len(s), 20)]] = strings.Repeat(s, n/len(s))
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			if err := verify(Render(in, MaxUnits), MaxUnits); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzRender renders anything.
func FuzzRender(f *testing.F) {
	for i, p := range pieces {
		f.Add(p+pieces[(i*7)%len(pieces)]+p, 10)
	}
	f.Add("**a `b` c**\n\n> d\n\n```go\ne\n```\n| f |\n|---|\n| g |", 5)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		limit = 2 + max(limit, -limit, 0)%(MaxUnits-1)
		lethetest.Must(t, keeps(in, limit))
	})
}
