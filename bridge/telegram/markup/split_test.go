package markup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// texts returns the texts of messages.
func texts(messages []Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Text)
	}
	return out
}

// words returns n words of four letters and a space, without the last space.
func words(n int) string { return strings.TrimSuffix(strings.Repeat("word ", n), " ") }

func TestSplitProse(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		limit int
		want  []string
	}{
		"fits":                  {"0123456789", 10, []string{"0123456789"}},
		"one too many":          {"0123456789a", 10, []string{"0123456789", "a"}},
		"trimmed it fits":       {"0123456789\n\n", 10, []string{"0123456789"}},
		"surrogates":            {"abcd😀", 5, []string{"abcd", "😀"}},
		"paragraph":             {"aaa\nb\n\nccc\nddd", 9, []string{"aaa\nb", "ccc\nddd"}},
		"line":                  {"aaa. bb\nccc dd eee", 10, []string{"aaa. bb", "ccc dd eee"}},
		"paragraph before line": {"aaaaaa\n\nb\nccc", 10, []string{"aaaaaa", "b\nccc"}},
		"early paragraph":       {"aaaa\n\nbbbbb\nccc", 12, []string{"aaaa\n\nbbbbb", "ccc"}},
		"early line":            {"aaaa\nbb bb bb bb. bb bb", 15, []string{"aaaa", "bb bb bb bb.", "bb bb"}},
		"very early line":       {"a\nbb bb bb. bb bb bb bb", 15, []string{"a\nbb bb bb.", "bb bb bb bb"}},
		"sentence":              {"aaaa aaaa. bbbb cc", 16, []string{"aaaa aaaa.", "bbbb cc"}},
		"quoted sentence":       {"aaaa \"aaa!\" bbb cc", 16, []string{"aaaa \"aaa!\"", "bbb cc"}},
		"no spaces":             {"你好吗。你好吗你好吗", 6, []string{"你好吗。", "你好吗你好吗"}},
		"space":                 {"aaaa bbbb cccc", 12, []string{"aaaa bbbb", "cccc"}},
		"space, early":          {"a bbbbbbbbbbbb", 8, []string{"a", "bbbbbbbb", "bbbb"}},
		"mark on a space":       {"aaaa bbb \u0301cc", 10, []string{"aaaa", "bbb \u0301cc"}},
		"mark on a stop":        {"你好吗。\u0301你好吗", 6, []string{"你好吗。\u0301你", "好吗"}},
		"anywhere":              {"abcdefgh", 3, []string{"abc", "def", "gh"}},
		"colon":                 {"aaaaaa\nTitle:\nbbb", 15, []string{"aaaaaa", "Title:\nbbb"}},
		"colon, no choice":      {"aaaaaaaaaaaa:\nbbb", 15, []string{"aaaaaaaaaaaa:", "bbb"}},
		"heading":               {"aaaaaa\n# Title\nbbb", 14, []string{"aaaaaa", "Title\nbbb"}},
		"spaces only":           {"aaaa" + strings.Repeat(" ", 20) + "b", 10, []string{"aaaa", "b"}},
		"invisible part":        {"aaaa " + strings.Repeat("\u200b", 10) + " bbbb", 10, []string{"aaaa", "bbbb"}},
		"marks":                 {"abc e\u0301\u0301e\u0301", 4, []string{"abc", "e\u0301\u0301", "e\u0301"}},
		"family":                {"ab👨\u200d👩\u200d👧c", 9, []string{"ab", "👨\u200d👩\u200d👧c"}},
		"flags":                 {"a🇩🇪🇫🇷🇮🇹", 11, []string{"a🇩🇪🇫🇷", "🇮🇹"}},
		"skin":                  {"abc👍🏽", 5, []string{"abc", "👍🏽"}},
		"keycap":                {"ab1\uFE0F\u20E3", 4, []string{"ab", "1\uFE0F\u20E3"}},
		"too large":             {"a\u0301\u0301\u0301\u0301", 3, []string{"a\u0301\u0301", "\u0301\u0301"}},
		"smallest limit":        {"a😀b", 1, []string{"a", "😀", "b"}},
		"limit of 0":            {words(1000), 0, []string{words(819), words(181)}},
		"limit too large":       {words(1000), 5000, []string{words(819), words(181)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := texts(Render(tt.in, tt.limit)); !slices.Equal(got, tt.want) {
				t.Errorf("Render\n got %q\nwant %q", got, tt.want)
			}
			if strings.Contains(tt.in, "#") {
				return
			}
			if got := texts(Plain(tt.in, tt.limit)); !slices.Equal(got, tt.want) {
				t.Errorf("Plain\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSplitEntities(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		limit int
		want  []string // text, and its entities, of each message
	}{
		"bold": {"aa **bbbb cccc** dd", 10, []string{"aa bbbb", `bold 3+4 "bbbb"`, "cccc dd", `bold 0+4 "cccc"`}},
		"link": {"[aaaa bbbb](http://a.example/)", 6, []string{"aaaa", `text_link 0+4 "aaaa" http://a.example/`,
			"bbbb", `text_link 0+4 "bbbb" http://a.example/`}},
		"nested": {"> **aaaa *bbbb cccc***", 10, []string{
			"aaaa bbbb", `blockquote 0+9 "aaaa bbbb"`, `bold 0+9 "aaaa bbbb"`, `italic 5+4 "bbbb"`,
			"cccc", `blockquote 0+4 "cccc"`, `bold 0+4 "cccc"`, `italic 0+4 "cccc"`}},
		"code block": {"```go\naaaa\nbbbb\ncccc\n```", 10, []string{
			"aaaa\nbbbb", `pre 0+9 "aaaa\nbbbb" go`, "cccc", `pre 0+4 "cccc" go`}},
		"before what is not indented": {"```\naaaa\n bb\n cc\n}\ndd\n ee\n  ff\n```", 20, []string{
			"aaaa\n bb\n cc\n}", `pre 0+14 "aaaa\n bb\n cc\n}"`, "dd\n ee\n  ff", `pre 0+11 "dd\n ee\n  ff"`}},
		"not too early for that": {"```\na\nb\n cccc\n dddd\n eeee\n```", 17, []string{
			"a\nb\n cccc\n dddd", `pre 0+15 "a\nb\n cccc\n dddd"`, "\u00A0eeee", `pre 0+5 "\u00a0eeee"`}},
		"indented, no choice": {"```\na\n  bbbb\n  cccc\n```", 10, []string{
			"a\n  bbbb", `pre 0+8 "a\n  bbbb"`, "\u00A0\u00A0cccc", `pre 0+6 "\u00a0\u00a0cccc"`}},
		"code left to the next": {"aaaa\n```\nbbbb\ncccc\n```", 10, []string{"aaaa", "bbbb\ncccc", `pre 0+9 "bbbb\ncccc"`}},
		"with its title": {"aaaaaaa\n\nb:\n```\ncccc\ndddd\n```", 20, []string{
			"aaaaaaa", "b:\ncccc\ndddd", `pre 3+9 "cccc\ndddd"`}},
		"code cut, little before it": {"a\n```\nbbbb\ncccc\n```", 10, []string{
			"a\nbbbb", `pre 2+4 "bbbb"`, "cccc", `pre 0+4 "cccc"`}},
		"code cut, too large": {"aaaa\n```\nbbbb\ncccc\nddd\n```", 10, []string{
			"aaaa\nbbbb", `pre 5+4 "bbbb"`, "cccc\nddd", `pre 0+8 "cccc\nddd"`}},
		"code of one line": {"```\nabcdefghijklm\n```", 10, []string{
			"abcdefghij", `pre 0+10 "abcdefghij"`, "klm", `pre 0+3 "klm"`}},
		"not in a code block": {"```\naa\n\nbbbbb\n```\ncc ddddd", 13, []string{
			"aa\n\nbbbbb", `pre 0+9 "aa\n\nbbbbb"`, "cc ddddd"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range Render(tt.in, tt.limit) {
				got = append(got, m.Text)
				for _, e := range m.Entities {
					got = append(got, show(m.Text, e))
				}
				if err := Check(m.Text, m.Entities); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestSplitAtLimit has a limit to the unit, with a character of two units across it.
func TestSplitAtLimit(t *testing.T) {
	for _, n := range []int{Limit - 1, Limit, Limit + 1} {
		in := strings.Repeat("a", n-2) + "😀"
		want := 1
		if n > Limit {
			want = 2
		}
		if got := Render(in, Limit); len(got) != want || strings.Join(texts(got), "") != in {
			t.Errorf("%d units: %d messages", n, len(got))
		}
	}
}

// TestSplitManyEntities counts as the server does: what it would drop starts a new message.
func TestSplitManyEntities(t *testing.T) {
	for name, tt := range map[string]struct {
		unit  string
		perly int // entities of a unit on the server
	}{
		"code":   {"`a`\n\n", 1},
		"links":  {"[a](http://a.example/)\n\n", 1},
		"nested": {"**a *b* c**\n\n", 3}, // bold before b, bold from b on, italic
		"three":  {"**a *b ~~c~~***\n\n", 6},
	} {
		t.Run(name, func(t *testing.T) {
			const units = 250
			got := Render(strings.Repeat(tt.unit, units), Limit)
			if want := (units*tt.perly + MaxEntities - 1) / MaxEntities; len(got) < want || len(got) > want+1 {
				t.Errorf("%d messages, want %d", len(got), want)
			}
			for i, m := range got {
				if n := onServer(m); n > MaxEntities || i+1 < len(got) && n < MaxEntities-6 {
					t.Errorf("message %d has %d entities", i, n)
				}
			}
		})
	}
}

// onServer returns how many entities the server makes of those of m: in a unit of its own loop,
// it ends all styles where another begins, and begins them again.
func onServer(m Message) int {
	n := 0
	for _, e := range m.Entities {
		n++
		if classes[e.Type] != styling {
			continue
		}
		starts := map[int]bool{}
		for _, o := range m.Entities {
			if classes[o.Type] == styling && o.Offset > e.Offset && o.Offset < end(e) {
				starts[o.Offset] = true
			}
		}
		n += len(starts)
	}
	return n
}

func ExampleRender() {
	for _, m := range Render("# Disk\nRun `df -h` *first*.", Limit) {
		fmt.Println(m.Text)
		for _, e := range m.Entities {
			fmt.Println(e.Type, e.Offset, e.Length)
		}
	}
	// Output:
	// Disk
	// Run df -h first.
	// bold 0 4
	// code 9 5
	// italic 15 5
}
