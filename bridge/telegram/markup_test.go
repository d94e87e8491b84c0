package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shown returns what is sent: the HTML, and the text where there is none.
func shown(messages []Message) (out []string) {
	for _, m := range messages {
		if m.HTML == "" {
			m.HTML = m.Text
		}
		out = append(out, m.HTML)
	}
	return out
}

// runAll renders replies that fit into one message; without a second text they stay as they are.
func runAll(t *testing.T, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		want := c[1]
		if want == "" {
			want = c[0]
		}
		got := Render(c[0], MaxUnits)
		if s := shown(got); len(s) != 1 || s[0] != want {
			t.Errorf("%q\n got %q\nwant %q", c[0], s, want)
		}
		if err := verify(got, MaxUnits); err != nil {
			t.Errorf("%q: %v", c[0], err)
		}
	}
}

func TestInline(t *testing.T) {
	runAll(t, [][2]string{
		{"Hello, world.", ""},
		{"a **b** c __D e__", "a <b>b</b> c <b>D e</b>"},
		{"a *b* _c_ ~~d~~", "a <i>b</i> <i>c</i> <s>d</s>"},
		{"a `b*c*` <d> & **e**", "a <code>b*c*</code> &lt;d&gt; &amp; <b>e</b>"},
		{"`` a`b ``", "<code>a`b</code>"},
		{"**a *b* c**", "<b>a <i>b</i> c</b>"},
		{"***a* b**", "<b><i>a</i> b</b>"},
		{"**run `x` now**", "<b>run </b><code>x</code><b> now</b>"},
		{"😀 **b😀** c", "😀 <b>b😀</b> c"},
		{"**a\nb** c", "<b>a\nb</b> c"},
		{"a  \nb\\\nc", "a\nb\nc"},
		{"**S**pecific **重点**内容", "<b>S</b>pecific <b>重点</b>内容"},
		{`\*a\* 1\. \# \[b\]`, "*a* 1. # [b]"},
		{"&lt;b&gt; &#8211; **&semi;**", "&lt;b&gt; – <b>;</b>"},
	})
}

// What only looks like Markdown, or like HTML, is text.
func TestLiteral(t *testing.T) {
	runAll(t, [][2]string{
		{"2 * 3 * 4 2**10", ""},
		{"snake_case_name _x", ""},
		{"a&b; R&D &nosuch; &copy &;", ""},
		{"**a *b `c ~~d [e", ""},
		{"<b>no</b> <script>alert(1)</script> <a href=\"http://evil.example/\">b</a>", ""},
		{"<std::string>", ""},
		{"[a][b] a[0][1] [^1]\n\n[b]: http://example.com/", ""},
		{"#tag\n##two", ""},
		{"Title\n=====", ""},
		{"a | b\nc | d", ""},
		{"--- a\n+++ b", ""},
		{"1986. a year", ""},
	})
}

func TestLinks(t *testing.T) {
	runAll(t, [][2]string{
		{"see [the *page*](https://example.com/a_b?c=1&d).", `see <a href="https://example.com/a_b?c=1&amp;d">the <i>page</i></a>.`},
		{"**a [b](http://e.example) c**", `<b>a </b><a href="http://e.example"><b>b</b></a><b> c</b>`},
		{"[`f`](https://e.example)", `<a href="https://e.example">f</a>`},
		{`![a](https://e.example "B c")`, `<a href="https://e.example">a</a>`},
		{"[](https://e.example)", "https://e.example"},
		{"<https://e.example/a>", "https://e.example/a"},
		{"[a](docs/a.md) [b](b)", "a (docs/a.md) b"},
		{"[a](http://localhost:1/)", "a (http://localhost:1/)"},
		{"[a](mailto:b@example.com)", "a (mailto:b@example.com)"},
		{"[a](javascript:alert(1)) [b](ftp://a.example)", "a (javascript:alert(1)) b (ftp://a.example)"},
		{"[a](tg://user?id=1)", "a (tg://user?id=1)"},
		{`[a](<http://a.example/"on=x>)`, "a (http://a.example/\"on=x)"},
		{"[a](http://a.example/%22%3E)", `<a href="http://a.example/%22%3E">a</a>`},
	})
	for _, m := range Render("**a** [b](http://a.example/) "+"[long](http://a.example/"+strings.Repeat("x", maxURL)+")", MaxUnits) {
		if !strings.Contains(m.Text, "b (http://a.example/) long (http") || strings.Count(m.HTML, "href") != 1 {
			t.Errorf("%+v", m)
		}
	}
}

func TestBlocks(t *testing.T) {
	runAll(t, [][2]string{
		{"a\nb\n\n\n\nc", "a\nb\n\nc"},
		{"# A *b*\nc\n## D ##", "<b>A <i>b</i></b>\nc\n<b>D</b>"},
		{"a\n---\nb", "a\n──────────\nb"},
		{"- a\n  - b\n    1. c\n    2. d\n- e", "• a\n    • b\n        1. c\n        2. d\n• e"},
		{"3) a\n7) b", "3) a\n4) b"},
		{"1. a\n\n   b\n\n2. c", "1. a\n\n    b\n\n2. c"},
		{"- [ ] a\n- [x] b\n1. [X] c", "• ☐ a\n• ☑ b\n1. ☑ c"},
		{"- a\n-\n- b", "• a\n• \n• b"},
		{"> a\n> **b**\n\nc", "<blockquote>a\n<b>b</b></blockquote>\n\nc"},
		{"> a\n> > b\n> > c\n>\n> d", "<blockquote>a\nb\nc\n\nd</blockquote>"},
		{"> # A\n> - b\n> ```\n> c\n> ```", "<blockquote><b>A</b>\n• b\n<pre>c</pre></blockquote>"},
		{"a\n```go\nif b < c {\n\td\n}\n```\ne", "a\n<pre><code class=\"language-go\">if b &lt; c {\n    d\n}</code></pre>\ne"},
		{"```\na **b**", "<pre>a **b**</pre>"},
		{"```py\"><b> title\n1\n```", "<pre>1</pre>"},
		{"a\n```go\n```", "a"},
		{"```\n  a\n b\n```", "<pre>\u00A0\u00A0a\n b</pre>"},
		{"1. a\n   ```sh\n   b\n   ```\n2. c", "1. a\n<pre><code class=\"language-sh\">b</code></pre>\n2. c"},
		{"a\n\n    b *c*\n      d", "a\n\n<pre>b *c*\n  d</pre>"},
		{"a:\n\n| Name | Qty |\n|:-----|----:|\n| apple | 5 |\n| `p\\|q` | **12** |",
			"a:\n\n<pre>Name  │ Qty \n──────┼─────\napple │   5 \np|q   │  12</pre>"},
		{"x|y\n-|-\n1|2|3|\n4|\n\nend", "<pre>x │ y     \n──┼───────\n1 │ 2 | 3 \n4 │       </pre>\n\nend"},
		{"see:\n|a|b|\n|-|-|\n|日本|[c](https://d.example)|",
			"see:\n\n<pre>a    │ b                     \n" +
				"─────┼───────────────────────\n日本 │ c (https://d.example)</pre>"},
	})
}

func TestCharacters(t *testing.T) {
	runAll(t, [][2]string{
		{"a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		{"a\xffb\x00c", "a\uFFFDb␀c"},
		{" \n a\tb \n", "a    b"},
		{"\uFEFF# a", "<b>a</b>"},
	})
	for _, in := range []string{"", " ", "\n\t\r\n ", "\u200b", "\u3000\u2800", "\u2028", "&nbsp;", "> \u200b"} {
		if got := Render(in, MaxUnits); len(got) != 0 {
			t.Errorf("Render(%q) = %+v", in, got)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  []string
	}{
		{"0123456789a", 10, []string{"0123456789", "a"}},
		{"abcd😀", 5, []string{"abcd", "😀"}},
		{"aaa\nb\n\nccc\nddd", 9, []string{"aaa\nb", "ccc\nddd"}},
		{"aa\n\nbbbb bbbb bbbb", 14, []string{"aa", "bbbb bbbb bbbb"}},
		{"aaaaaa\n\n# Title\nbbb", 14, []string{"aaaaaa", "<b>Title</b>\nbbb"}},
		{"aaaaaa\n\nTitle:\n\n- bbb", 16, []string{"aaaaaa", "Title:\n\n• bbb"}},
		{"aaaa bbbb cccc", 12, []string{"aaaa bbbb", "cccc"}},
		{"a\u0301\u0301\u0301\u0301b", 3, []string{"a\u0301\u0301", "\u0301\u0301b"}},
		{"aa **bbbb cccc** dd", 10, []string{"aa <b>bbbb</b>", "<b>cccc</b> dd"}},
		{"[aaaa bbbb](http://a.example/)", 6, []string{`<a href="http://a.example/">aaaa</a>`, `<a href="http://a.example/">bbbb</a>`}},
		{"> **aaaa *bbbb cccc***", 10, []string{"<blockquote><b>aaaa <i>bbbb</i></b></blockquote>",
			"<blockquote><b><i>cccc</i></b></blockquote>"}},
		{"```go\naaaa\nbbbb\n  cccc\n```", 10, []string{
			`<pre><code class="language-go">aaaa` + "\n" + `bbbb</code></pre>`,
			`<pre><code class="language-go">` + "\u00A0\u00A0" + `cccc</code></pre>`}},
		{"aaaa\n```\nbbbb\ncccc\n```", 10, []string{"aaaa", "<pre>bbbb\ncccc</pre>"}},
		{"a &lt; &lt; *b*", 7, []string{"a &lt; &lt; <i>b</i>"}},
	} {
		got := Render(c.in, c.limit)
		if s := shown(got); !slices.Equal(s, c.want) {
			t.Errorf("%q in %d\n got %q\nwant %q", c.in, c.limit, s, c.want)
		}
		if err := verify(got, c.limit); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
	}
}

// The limit holds to the unit, with a character of two units across it.
func TestSplitAtLimit(t *testing.T) {
	for n, want := range map[int]int{MaxUnits - 1: 1, MaxUnits: 1, MaxUnits + 1: 2} {
		for _, mark := range []string{"", "**"} {
			in := mark + strings.Repeat("a", n-2) + "😀" + mark
			if got := Render(in, MaxUnits); len(got) != want {
				t.Errorf("%d units: %d messages", n, len(got))
			}
		}
	}
}

// What the server would drop, or not read, starts a new message.
func TestSplitManyEntities(t *testing.T) {
	for unit, n := range map[string]int{"`a`\n\n": 1, "[a](http://a.example/)\n\n": 1, "**a *b* c**\n\n": 4} {
		got := Render(strings.Repeat(unit, 250), MaxUnits)
		if want := (250*n + MaxEntities - 1) / MaxEntities; len(got) < want || len(got) > want+1 {
			t.Errorf("%q: %d messages, want %d", unit, len(got), want)
		}
	}
	link := "[a](http://a.example/" + strings.Repeat("&", 1500) + ") "
	if err := verify(Render(strings.Repeat(link, 40), MaxUnits), MaxUnits); err != nil {
		t.Error(err)
	}
}

func ExampleRender() {
	for _, m := range Render("# Disk\nRun `df -h` *first*.", MaxUnits) {
		fmt.Println(m.HTML)
	}
	// Output:
	// <b>Disk</b>
	// Run <code>df -h</code> <i>first</i>.
}
