package markup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// show writes an entity as `type offset+length "text"`, with its URL or language behind.
func show(text string, e models.MessageEntity) string {
	units := utf16.Encode([]rune(text))
	s := fmt.Sprintf("%s %d+%d %q", e.Type, e.Offset, e.Length, string(utf16.Decode(units[e.Offset:e.Offset+e.Length])))
	return strings.TrimSpace(s + " " + e.URL + e.Language)
}

// one is a reply that fits into one message.
type one struct {
	in   string
	text string // as in, if empty
	want []string
}

func (tt one) run(t *testing.T) {
	t.Helper()
	got := Render(tt.in, 0)
	text := tt.text
	if text == "" {
		text = tt.in
	}
	if len(got) != 1 {
		t.Fatalf("%d messages: %+v", len(got), got)
	}
	if got[0].Text != text {
		t.Errorf("text\n got %q\nwant %q", got[0].Text, text)
	}
	if err := Check(got[0].Text, got[0].Entities); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, e := range got[0].Entities {
		shown = append(shown, show(got[0].Text, e))
	}
	if !slices.Equal(shown, tt.want) {
		t.Errorf("entities\n got %s\nwant %s", strings.Join(shown, "\n     "), strings.Join(tt.want, "\n     "))
	}
}

func runAll(t *testing.T, cases map[string]one) {
	for name, tt := range cases {
		t.Run(name, tt.run)
	}
}

func TestInline(t *testing.T) {
	runAll(t, map[string]one{
		"plain":                {in: "Hello, world."},
		"bold":                 {"a **b** c", "a b c", []string{`bold 2+1 "b"`}},
		"bold __":              {"a __B c__ d", "a B c d", []string{`bold 2+3 "B c"`}},
		"italic":               {"a *b* _c_", "a b c", []string{`italic 2+1 "b"`, `italic 4+1 "c"`}},
		"struck":               {"a ~~b~~", "a b", []string{`strikethrough 2+1 "b"`}},
		"code":                 {"a `b*c*` d", "a b*c* d", []string{`code 2+4 "b*c*"`}},
		"code, ticks":          {"`` a`b ``", "a`b", []string{"code 0+3 \"a`b\""}},
		"code, nothing":        {in: "a ` ` b"},
		"code, two rows":       {"`a\nb`", "a\nb", []string{`code 0+3 "a\nb"`}},
		"nested":               {"**a *b* c**", "a b c", []string{`bold 0+5 "a b c"`, `italic 2+1 "b"`}},
		"begin together":       {"***a* b**", "a b", []string{`bold 0+3 "a b"`, `italic 0+1 "a"`}},
		"same span":            {"***a***", "a", []string{`bold 0+1 "a"`, `italic 0+1 "a"`}},
		"code in bold":         {"**run `x` now**", "run x now", []string{`bold 0+3 "run"`, `code 4+1 "x"`, `bold 6+3 "now"`}},
		"adjacent":             {"**a _b_**_c_", "a bc", []string{`bold 0+3 "a b"`, `italic 2+1 "b"`, `italic 3+1 "c"`}},
		"surrogates":           {"😀 **b😀** c", "😀 b😀 c", []string{`bold 3+3 "b😀"`}},
		"two lines":            {"**a\nb** c", "a\nb c", []string{`bold 0+3 "a\nb"`}},
		"hard breaks":          {"a  \nb\\\nc", "a\nb\nc", nil},
		"in a word":            {"**S**pecific, **M**easurable", "Specific, Measurable", []string{`bold 0+1 "S"`, `bold 10+1 "M"`}},
		"no spaces":            {"**重点：**内容和**另一个**词", "重点：内容和另一个词", []string{`bold 0+3 "重点："`, `bold 6+3 "另一个"`}},
		"words in a word":      {in: "**a b**c"},
		"no space, then Latin": {"**重点 内容**abc", "重点 内容abc", []string{`bold 0+5 "重点 内容"`}},
		"with quotes":          {"(**a**) \"*b*\"", "(a) \"b\"", []string{`bold 1+1 "a"`, `italic 5+1 "b"`}},
		"behind a mark":        {"1.**a** **b**/**c**", "1.a b/c", []string{`bold 2+1 "a"`, `bold 4+1 "b"`, `bold 6+1 "c"`}},
		"open":                 {in: "**a *b `c ~~d [e"},
		"escapes":              {`\*a\* 1\. \# \[b\]`, "*a* 1. # [b]", nil},
		"references":           {"&amp; &lt;b&gt; &#8211; &#x41;&semi;", "& <b> – A;", nil},
		"no references":        {in: "a&b; R&D &nosuch; &copy &; &#; x&#10000000000;"},
	})
}

func TestLinks(t *testing.T) {
	const url = "https://example.com/a_b"
	runAll(t, map[string]one{
		"link":         {"see [the *page*](" + url + ").", "see the page.", []string{`text_link 4+8 "the page" ` + url, `italic 8+4 "page"`}},
		"in bold":      {"**a [b](" + url + ") c**", "a b c", []string{`bold 0+1 "a"`, `text_link 2+1 "b" ` + url, `bold 2+1 "b"`, `bold 4+1 "c"`}},
		"of code":      {"[`f`](" + url + ")", "f", []string{`text_link 0+1 "f" ` + url}},
		"title":        {`[a](` + url + ` "B c")`, "a (B c)", []string{`text_link 0+1 "a" ` + url}},
		"without text": {"[](" + url + ")", url, []string{`text_link 0+23 "` + url + `" ` + url}},
		"image":        {"![a](" + url + ")", "a", []string{`text_link 0+1 "a" ` + url}},
		"badge": {"[![a](http://a.example/)](" + url + ")", "a (http://a.example/)",
			[]string{`text_link 0+21 "a (http://a.example/)" ` + url}},
		"relative":        {"[a](docs/a.md)", "a (docs/a.md)", nil},
		"relative, same":  {"[docs/a.md](docs/a.md)", "docs/a.md", nil},
		"localhost":       {"[a](http://localhost:1/)", "a (http://localhost:1/)", nil},
		"mailto":          {"[a](mailto:b@example.com)", "a (mailto:b@example.com)", nil},
		"mailto, same":    {"[b@example.com](mailto:b@example.com)", "b@example.com", nil},
		"script":          {"[a](javascript:b)", "a (javascript:b)", nil},
		"escaped":         {`[a](http://example.com/\(b&amp;c)`, "a", []string{`text_link 0+1 "a" http://example.com/(b&c`}},
		"empty":           {"[a]()", "a", nil},
		"reference":       {in: "[a][b] [c]\n\n[b]: http://example.com/\n[c]: /d 'e'"},
		"autolink":        {"<" + url + ">", url, nil},
		"bare":            {in: "at " + url + " and me@example.com, www.example.com"},
		"not an autolink": {in: "<std::string> <tag> <me@example.com>"},
	})
}

func TestNotMarkdown(t *testing.T) {
	for name, in := range map[string]string{
		"snake case":    "snake_case_names and __init__, _my_name_",
		"products":      "2*3*4 = 24, 2 * 3 * 4, a*b*c, (a)*(b)*(c), 5* and 4*",
		"powers":        "2**10 = 1024 and 2**20 = x**y",
		"arguments":     "f(*args, **kwargs) and g(*a, **k)",
		"pointers":      "int *p = *q, (*p)*(*q)",
		"patterns":      "*.go, src/**/*.go, lib/**/x.* and .*foo.*",
		"tilde":         "~/a and ~/b, ~5 to ~7, a~~b, ~c~ and ~~~d~~~",
		"html":          "<b>x</b> <a href=\"*y*\">z</a> <!-- *c* --> <br/>",
		"html block":    "<details>\n<summary>a</summary>\n</details>",
		"hashtag":       "#hashtag and #1\n##two",
		"lone marks":    "a\n#\n*\n-\n+\n1.\nb",
		"plus":          "1\n+ 2\n+ 3",
		"numbers":       "7. seven\n3. three\n1986. a year",
		"second number": "text\n2. two",
		"windows":       `C:\Users\_me\.ssh, "\\server\.share"`,
		"underlined":    "Title\n=====",
		"indented":      "a\n\n    b *c*\n        d\n\ne",
		"indented text": "a\n    b\n  c\n\n  d",
		"bars":          "a | b\nc | d",
		"dashes":        "--- a\n+++ b",
		"box":           "[ ] a [x] b\n[y] c",
		"brackets":      "a[0][1] (b)(c) [^1]",
		"empty fence":   "```go\n```",
		"dollar":        "$x_1$ costs $5_000",
	} {
		t.Run(name, func(t *testing.T) { one{in: in}.run(t) })
	}
}

func TestBlocks(t *testing.T) {
	runAll(t, map[string]one{
		"paragraphs":         {"a\nb\n\n\n\nc", "a\nb\n\nc", nil},
		"headings":           {"# A *b*\nc\n## D ##", "A b\nc\nD", []string{`bold 0+3 "A b"`, `italic 2+1 "b"`, `bold 6+1 "D"`}},
		"bold heading":       {"# **A** b", "A b", []string{`bold 0+3 "A b"`}},
		"rule":               {"a\n---\nb\n\n***", "a\n──────────\nb\n\n──────────", nil},
		"list":               {"- a\n- b\n\n* c", "• a\n• b\n\n• c", nil},
		"nested":             {"- a\n  - b\n    1. c\n    2. d\n- e", "• a\n    • b\n        1. c\n        2. d\n• e", nil},
		"numbers":            {"3) a\n7) b\n", "3) a\n7) b", nil},
		"loose":              {"1. a\n\n   b\n\n2. c", "1. a\n\n    b\n\n2. c", nil},
		"continued":          {"- a\n  b\n    c", "• a\n    b\n      c", nil},
		"at the margin":      {"- a\nb", "• a\nb", nil},
		"boxes":              {"- [ ] a\n- [x] b\n1. [X] c", "☐ a\n☑ b\n1. ☑ c", nil},
		"empty item":         {"- a\n-\n- b", "• a\n-\n• b", nil},
		"item of items":      {"- - a", "• • a", nil},
		"quotation":          {"> a\n> b\n\nc", "a\nb\n\nc", []string{`blockquote 0+3 "a\nb"`}},
		"two":                {"> a\n\n> b", "a\n\nb", []string{`blockquote 0+1 "a"`, `blockquote 3+1 "b"`}},
		"quotation answered": {"> **a\nb** c", "a\nb c", []string{`blockquote 0+1 "a"`, `bold 0+1 "a"`, `bold 2+1 "b"`}},
		"quotations":         {"> a\n> > b\n> > c\n>\n> d", "a\n> b\n> c\n\nd", []string{`blockquote 0+12 "a\n> b\n> c\n\nd"`}},
		"quotation of all": {"> # A\n> - b\n> ```\n> c\n> ```", "A\n• b\nc",
			[]string{`blockquote 0+7 "A\n• b\nc"`, `bold 0+1 "A"`, `pre 6+1 "c"`}},
		"fence":                {"a\n```go\nif b {\n\tc\n}\n```\nd", "a\nif b {\n    c\n}\nd", []string{`pre 2+14 "if b {\n    c\n}" go`}},
		"fence, open":          {"```\na **b**", "a **b**", []string{`pre 0+7 "a **b**"`}},
		"fence, nothing in it": {"a\n~~~b", "a\n```b\n```", nil},
		"fence, quoted, first line further in": {"> ```\n>   a\n> b\n> ```", "\u00A0\u00A0a\nb",
			[]string{`blockquote 0+5 "\u00a0\u00a0a\nb"`, `pre 0+5 "\u00a0\u00a0a\nb"`}},
		"fence, tildes":                {"~~~ python title=x\n```\n~~~", "```", []string{"pre 0+3 \"```\" python"}},
		"fence, indented":              {"```\n  a\n    b\n```", "a\n  b", []string{`pre 0+5 "a\n  b"`}},
		"fence, first line further in": {"```\n  /\\\n /  \\\n```", "\u00A0/\\\n/  \\", []string{"pre 0+8 \"\\u00a0/\\\\\\n/  \\\\\""}},
		"fence in a list":              {"1. a\n   ```sh\n   b\n   ```\n2. c", "1. a\nb\n2. c", []string{`pre 5+1 "b" sh`}},
		"table": {"a:\n\n| Name | Qty |\n|:-----|----:|\n| apple | 5 |\n| `p\\|q` | **12** |",
			"a:\n\nName  | Qty\n------+----\napple |   5\np|q   |  12", []string{
				`pre 4+47 "Name  | Qty\n------+----\napple |   5\np|q   |  12"`}},
		"table, ragged": {"a|b\n-|-\n1\n\nx|y\n-|-\n1|2|3|\n4|\n5\nend", "a | b\n--+--\n1\n\nx | y\n--+--\n1 | 2 | 3\n4\n5\nend",
			[]string{`pre 0+11 "a | b\n--+--"`, `pre 15+23 "x | y\n--+--\n1 | 2 | 3\n4"`}},
		"table, wide letters": {"|a|b|\n|-|:-:|\n|日本|x|\n|c|yyy|", "a    |  b\n-----+----\n日本 |  x\nc    | yyy",
			[]string{`pre 0+39 "a    |  b\n-----+----\n日本 |  x\nc    | yyy"`}},
		"table with links": {"|a|\n|-|\n|[b](https://example.com/)|", "a\n------------------------\nb (https://example.com/)",
			[]string{`pre 0+51 "a\n------------------------\nb (https://example.com/)"`}},
	})
}

// TestTooMuch has more markup than is looked at: the rest is left standing.
func TestTooMuch(t *testing.T) {
	entities := func(in string) int {
		n := 0
		for _, m := range Render(in, Limit) {
			n += len(m.Entities)
		}
		return n
	}
	if got := entities(strings.Repeat("*a* ", maxMarks)); got != maxMarks/2 {
		t.Errorf("%d of %d italics, want half", got, maxMarks)
	}
	if got := entities(strings.Repeat("*a* ", maxMarks/2) + "\n\n*b*"); got != maxMarks/2+1 {
		t.Errorf("%d italics, want one more than half of %d", got, maxMarks)
	}
	for n, want := range map[int]int{maxInline: 1, maxInline + 1: 0} {
		if got := entities("*a*" + strings.Repeat("b", n-3)); got != 0 {
			t.Errorf("%d entities in a word", got)
		}
		if got := entities("*a* " + strings.Repeat("b", n-4)); got != want {
			t.Errorf("%d entities in a block of %d bytes, want %d", got, n, want)
		}
	}
	for n, want := range map[int]int{maxColumns: 1, maxColumns + 1: 0} {
		if got := entities(strings.Repeat("|a", n) + "\n" + strings.Repeat("|-", n)); got != want {
			t.Errorf("%d entities of a table of %d columns, want %d", got, n, want)
		}
	}
	if got := Render(strings.Repeat("> ", 10_000)+"a", Limit); len(got) != 5 || len(got[0].Entities) != 1 {
		t.Errorf("10,000 quotations: %d messages", len(got))
	}
}

func TestCharacters(t *testing.T) {
	runAll(t, map[string]one{
		"line ends":    {"a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne", nil},
		"controls":     {"a\x00b\x1bc\x7f", "a\uFFFDb\uFFFDc\x7f", nil},
		"not utf-8":    {"a\xffb\xc3", "a\uFFFDb\uFFFD", nil},
		"tab":          {"a\tb", "a    b", nil},
		"directions":   {"a\u202eb\u202c", "ab", nil},
		"rings":        {"Malmo\u0308 A\u030Angstro\u0308m x\u030A", "Malmo\u0308 Ångstro\u0308m x", nil},
		"mark first":   {"\uFEFF# a", "a", []string{`bold 0+1 "a"`}},
		"trimmed":      {" \n a \n", "a", nil},
		"by reference": {"a&#8232;b&#0;c&#10;d", "a\nb\uFFFDc\nd", nil},
	})
}

func TestBlank(t *testing.T) {
	for _, in := range []string{"", " ", "\n\t\r\n ", "\u200b", "\u3000\u2800", "\u2028", "\u202e", "&nbsp;", "&#x200b;"} {
		if got := Render(in, 0); len(got) != 0 {
			t.Errorf("Render(%q) = %+v", in, got)
		}
		if got := Plain(in, 0); len(got) != 0 && !strings.HasPrefix(in, "&") {
			t.Errorf("Plain(%q) = %+v", in, got)
		}
	}
}

func TestPlain(t *testing.T) {
	const in = "# a **b**\n\n\n\t`c` &amp; \\* [d](e)\n```\nf\n```"
	got := Plain(" "+in+"\n", 0)
	if want := strings.Replace(in, "\t", "    ", 1); len(got) != 1 || got[0].Text != want || got[0].Entities != nil {
		t.Errorf("Plain = %+v, want %q", got, want)
	}
}
