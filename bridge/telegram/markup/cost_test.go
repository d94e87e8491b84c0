package markup

import (
	"strings"
	"testing"
)

// absurd returns about n bytes each of what makes a careless parser slow.
func absurd(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	half := func(a, b string) string {
		return strings.Repeat(a, n/2/len(a)) + strings.Repeat(b, n/2/len(b))
	}
	steps := func(step string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(step, i) + "- a\n")
		}
		return b.String()
	}
	ticks := func() string {
		var b strings.Builder
		for i := 1; b.Len() < n; i = i%200 + 1 {
			b.WriteString(strings.Repeat("`", i) + "a")
		}
		return b.String()
	}
	return map[string]string{
		"prose":             fill("Some **bold** text with `code` and a [link](https://a.example/d). It goes on.\nAnother line.\n\n"),
		"one word":          fill("x"),
		"short lines":       fill("a\n"),
		"short paragraphs":  fill("a\n\n"),
		"blank lines":       "a" + fill("\n") + "b",
		"spaces":            "a" + fill(" ") + "b",
		"tabs":              fill("\t") + "a",
		"titles":            fill("a:\n"),
		"headings":          fill("# a\n"),
		"quotations":        fill("> "),
		"quoted lists":      fill("> - "),
		"nested quotations": fill("> > > > > > > a\n\n"),
		"lists in lists":    fill("1. "),
		"steps":             steps("  "),
		"items":             fill("- a\n\n"),
		"code blocks":       fill("```\na\n```\n"),
		"long code":         "```go\n" + fill("  code line here\n"),
		"long code line":    "```\n" + fill("x"),
		"table":             "|a|b|\n|-|-|\n" + fill("|a|b|\n"),
		"table of nothing":  strings.Repeat("|a", 60) + "\n" + strings.Repeat("|-", 60) + "\n" + fill("|\n"),
		"table too wide":    fill("|a") + "\n" + fill("|-"),
		"wide cell":         "|a|b|\n|-|-|\n|" + fill("x") + "|\n" + fill("|a|b|\n"),
		"opening brackets":  fill("["),
		"brackets":          half("[", "]"),
		"links":             fill("[a](b "),
		"link titles":       fill(`[a](b "`),
		"images":            fill("!["),
		"stars":             fill("*a "),
		"stars, closing":    fill("a* "),
		"marks, mismatched": half("*a ", "b_ "),
		"marks in blocks":   fill(strings.Repeat("*(a ", 300) + strings.Repeat("b* ", 300) + "\n\n"),
		"bold":              fill("**a** "),
		"italic paragraphs": fill("*a*\n\n"),
		"ticks":             ticks(),
		"comments":          fill("<!-- "),
		"tags":              fill("<a "),
		"escapes":           fill(`\*`),
		"references":        fill("&amp;"),
		"ampersands":        fill("&"),
		"marks on a letter": "a" + fill("\u0301"),
		"rings":             fill("a\u030A"),
		"flags":             fill("🇩🇪"),
		"joiners":           fill("👩\u200d"),
		"nothing to see":    fill("\u200b"),
		"not utf-8":         fill("\xff"),
	}
}

// TestAbsurd ends only if the cost of nothing here is much more than linear, and no depth too
// much for the stack.
func TestAbsurd(t *testing.T) {
	for name, in := range absurd(100_000) {
		t.Run(name, func(t *testing.T) {
			if err := verify(render(clean(in)).split(Limit), Limit); err != nil {
				t.Error(err)
			}
		})
	}
}

// BenchmarkRender renders 1 MB of each; what is much slower than the rest is a defect.
func BenchmarkRender(b *testing.B) {
	for name, in := range absurd(1 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				Render(in, Limit)
			}
		})
	}
}
