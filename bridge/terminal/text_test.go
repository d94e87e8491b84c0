package terminal

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// sequence matches what a terminal could take for a command: CSI, OSC and the
// other string sequences, and two-character escapes.
var sequence = regexp.MustCompile("\x1b\\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b.?")

// stripped removes styles, and fails on anything else a terminal would obey.
func stripped(t interface{ Errorf(string, ...any) }, s string) string {
	plain := sequence.ReplaceAllStringFunc(s, func(seq string) string {
		if !strings.HasPrefix(seq, "\x1b[") || !strings.HasSuffix(seq, "m") {
			t.Errorf("escape sequence %q reaches the terminal", seq)
		}
		return ""
	})
	for _, r := range plain {
		if unicode.IsControl(r) && r != '\n' {
			t.Errorf("control character %q reaches the terminal in %q", r, plain)
		}
	}
	return plain
}

func TestMarkdownShowsWhatWasWritten(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"two\nlines", "two\nlines"},
		{"**bold** and *slanted*", "bold and slanted"},
		{"Vec<T> and <name> stay, a < b && c > d", "Vec<T> and <name> stay, a < b && c > d"},
		{"`x<y>` and `a&b`", "x<y> and a&b"},
		{"```\nif a < b {}\n```", "  if a < b {}"},
		{"<script>alert(1)</script>", "<script>alert(1)</script>"},
		{"- one\n- two", "• one\n• two"},
		{"a &amp; b &#65;", "a & b A"},
		{"# T\ntext\n## U\n---\n[x]: y", "T\n\ntext\n\nU\n\n────────\n\n[x]: y"},
		{"1. a\n\n   b\n2. c\n   - [x] d", "1. a\n\n   b\n2. c\n   • ☑ d"},
		{"- [ ] a\n  - [x] b\n    c\n- d", "• ☐ a\n  • ☑ b\n    c\n• d"},
		{"> a\n>\n> > b\\*", "│ a\n│\n│ │ b*"},
		{"| a | b |\n|--:|---|\n| 1 | **c** |\n| 20 | |", " a │ b\n───┼───\n 1 │ c\n20 │"},
		{"see [the docs](https://example.org/docs) now", "see the docs https://example.org/docs now"},
	} {
		got := stripped(t, strings.Join(laidOut(tt.in, 60), "\n"))
		lethetest.Equal(t, tt.in, got, tt.want)
	}
}

// A dash between words never gets a row of its own.
func TestWrapAtDashes(t *testing.T) {
	for width := 5; width < 30; width++ {
		rows := wrap("a dash - and -v - stay - where they fit", width)
		for _, row := range rows[:len(rows)-1] {
			if lipgloss.Width(row) > width || strings.TrimSpace(row) == "-" && width > 6 {
				t.Errorf("%d cells: %q", width, rows)
			}
		}
	}
}

// No spelling of a control character gets through markdown.
func TestMarkdownHidesNoControls(t *testing.T) {
	for _, in := range []string{
		"\x1b[2J", "\x1b]0;title\x07", "\u009b2J", "a\rb", "a\bb",
		"&#27;[2J", "&#x1b;[2J", "&amp;#27;[8m", "&amp;amp;#27;[8m", "`&#27;[2J`", "[x](http://e.org/&#27;]0;t&#7;)",
		"```\n&#27;[2J\n```", "&#155;2J", "&#x9b;2J", "&#127;", "**&#27;[8m**", "| a |\n|---|\n| &#27;[2J |",
		"a &#27;[8m hidden", "~~&#27;[8m x~~", "<http://e.org/&#27;[8m>", "# &#27;[8m x", "[text](http://e.org/\x1b\\)",
		"<a href=\"&#27;[2J\">x</a>", "![&#27;c](x)",
	} {
		rows := strings.Join(laidOut(in, 60), "\n")
		stripped(t, rows)
		if strings.Contains(rows, "\x1b[8m") || strings.Contains(rows, "\x1b[2J") {
			t.Errorf("%q was obeyed: %q", in, rows)
		}
	}
}

func TestTextIsSafeAndFits(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", "word ", "世界", "\n", "\n\n", "\t", "\x1b[31m", "\x1b]8;;u\x07", "`", "```\n",
		"**", "- ", "# ",
		"| a | b |\n|--|--|\n", "<b>", "&#27;", "&lt;", "&amp;", "http://e.org/x ", "[t](u)", "\u202e", "\u2028", "\xff", "> ",
		"1. ", "    ", "~~",
		"averyveryverylongwordwithoutanyblankinit", "\u0301", "👩‍👩‍👧"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(pieces, 0, 30).Draw(t, "text"), "")
		width := rapid.IntRange(4, 60).Draw(t, "width")
		for _, rows := range [][]string{laidOut(in, width), wrap(clean(in), width)} {
			for _, row := range rows {
				if strings.Contains(row, "\n") {
					t.Errorf("a row of two lines: %q", row)
				}
				if w := lipgloss.Width(row); w > width {
					t.Errorf("%d cells in a width of %d: %q", w, width, row)
				}
				stripped(t, row)
			}
		}
	})
}
