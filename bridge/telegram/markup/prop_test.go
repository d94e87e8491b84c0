package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"
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

// verify holds messages to what the package promises of any.
func verify(messages []Message, limit int) error {
	for i, m := range messages {
		if err := Check(m.Text, m.Entities); err != nil {
			return fmt.Errorf("message %d, %q: %w", i, m.Text, err)
		}
		switch {
		case Units(m.Text) > limit:
			return fmt.Errorf("message %d has %d units", i, Units(m.Text))
		case onServer(m) > MaxEntities:
			return fmt.Errorf("message %d has %d entities", i, onServer(m))
		case blank(m.Text):
			return fmt.Errorf("message %d is blank: %q", i, m.Text)
		case strings.Trim(m.Text, " \n") != m.Text:
			return fmt.Errorf("message %d is not trimmed: %q", i, m.Text)
		case strings.ContainsFunc(m.Text, func(r rune) bool { return foreign(r) || r < ' ' && r != '\n' }):
			return fmt.Errorf("message %d has what Telegram removes: %q", i, m.Text)
		case !slices.IsSortedFunc(m.Entities, order):
			return fmt.Errorf("message %d: entities are not sorted: %v", i, m.Entities)
		}
		units := utf16.Encode([]rune(m.Text))
		for _, e := range m.Entities {
			if s := string(utf16.Decode(units[e.Offset:end(e)])); strings.Trim(s, " \n") != s {
				return fmt.Errorf("message %d: entity %v is not trimmed: %q", i, e, s)
			}
		}
	}
	return nil
}

// info is what follows the first word behind what may be a fence: the part of a reply that is
// not shown.
var info = regexp.MustCompile("(?m)^([ \t>*+0-9.)-]*(?:`{3,}|~{3,})[ \t]*[^ \t\n]*[ \t]).*$")

// essence returns the letters and digits of s.
func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, s)
}

// spelled returns the text of messages with the URLs and languages of their entities in it,
// where the source has them.
func spelled(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		insert := map[int]string{}
		for _, e := range m.Entities {
			if e.Type == models.MessageEntityTypePre {
				insert[e.Offset] += e.Language
			}
			insert[end(e)] += e.URL
		}
		at := 0
		for _, r := range m.Text {
			b.WriteString(insert[at])
			b.WriteRune(r)
			at += runeUnits(r)
		}
		b.WriteString(insert[at] + "\n")
	}
	return b.String()
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

func TestRenderKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := reply(t)
		limit := rapid.SampledFrom([]int{2, 3, 7, 16, 40, 200, Limit}).Draw(t, "limit")
		got := split(render(clean(in)), limit)
		if err := verify(got, limit); err != nil {
			t.Fatal(err)
		}
		if rest := missing(essence(info.ReplaceAllString(clean(in), "$1")), essence(spelled(got))); rest != "" {
			t.Fatalf("%q is lost from %q\ngot %+v", rest, in, got)
		}
	})
}

// TestSplitKeepsEverything renders the same reply whole and in parts: each character that can be
// seen is there, under the same entities.
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

// dressed returns each visible character with what lies over it.
func dressed(messages []Message) []string {
	var out []string
	for _, m := range messages {
		at := 0
		for _, r := range m.Text {
			s := string(r)
			for _, e := range m.Entities {
				if e.Offset <= at && at < end(e) {
					s += " " + string(e.Type) + e.URL + e.Language
				}
			}
			at += runeUnits(r)
			if visible(r) {
				out = append(out, s)
			}
		}
	}
	return out
}

func TestPlainKeepsEverything(t *testing.T) {
	see := func(s string) string {
		return strings.Map(func(r rune) rune {
			if visible(r) {
				return r
			}
			return -1
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := reply(t)
		limit := rapid.IntRange(2, 100).Draw(t, "limit")
		got := Plain(in, limit)
		if err := verify(got, limit); err != nil {
			t.Fatal(err)
		}
		if got, want := see(strings.Join(texts(got), "")), see(clean(in)); got != want {
			t.Fatalf("%q in parts of %d\n got %q\nwant %q", in, limit, got, want)
		}
	})
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

func FuzzRender(f *testing.F) {
	for i, p := range pieces {
		f.Add(p+pieces[(i*7)%len(pieces)]+p, 10)
	}
	f.Add("**a `b` c**\n\n> d\n\n```go\ne\n```\n| f |\n|---|\n| g |", 5)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		most := limit
		if most <= 0 || most > Limit {
			most = Limit
		}
		// Not by way of Render, which survives a panic.
		for _, got := range [][]Message{split(render(clean(in)), limit), Plain(in, limit)} {
			if err := verify(got, max(most, 2)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
