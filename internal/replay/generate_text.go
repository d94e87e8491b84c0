package replay

import (
	"fmt"
	"strings"
)

// report is an issue as a person writes it.
func (g *generator) report(w *work) string {
	f := w.files[0]
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s: %s in %s (%s). ", w.number, g.project, w.symptom, w.topic, g.pick(f.funcs))
	for range 1 + g.rng.IntN(5) {
		fmt.Fprintf(&b, g.pick(reports), g.pick(f.funcs), g.pick(nouns), g.pick(things))
		b.WriteByte(' ')
	}
	if g.chance(0.5) {
		fmt.Fprintf(&b, "\npanic: %s\n\n%s", w.symptom, g.stack(3+g.rng.IntN(8)))
	}
	if g.chance(0.08) {
		fmt.Fprintf(&b, "\n%s", strings.NewReplacer("{file}", f.path, "{func}", f.funcs[0], "{issue}", fmt.Sprintf("#%d", w.number), "{person}", g.pick(g.people)).Replace(g.pick(rules)))
	}
	return b.String()
}

func (g *generator) stack(n int) string {
	var b strings.Builder
	for range n {
		f := g.files[g.rng.IntN(len(g.files))]
		fmt.Fprintf(&b, "%s.%s(0x%s, 0x%s)\n\t/src/%s/%s:%d +0x%s\n", g.project, g.pick(f.funcs), g.hex(10), g.hex(4), g.project, f.path, 1+g.rng.IntN(600), g.hex(3))
	}
	return b.String()
}

func (g *generator) listing(w *work) string {
	var b strings.Builder
	for range g.between(8, 60) {
		f := g.files[g.rng.IntN(len(g.files))]
		fmt.Fprintf(&b, "-rw-r--r-- 1 dev dev %6d Mar %2d %02d:%02d %s\n", g.pareto(400, 90_000, 1), 1+g.rng.IntN(28), g.rng.IntN(24), g.rng.IntN(60), f.path)
	}
	for _, f := range w.files {
		fmt.Fprintf(&b, "-rw-r--r-- 1 dev dev %6d Mar %2d %02d:%02d %s\n", g.pareto(400, 90_000, 1), 1+g.rng.IntN(28), g.rng.IntN(24), g.rng.IntN(60), f.path)
	}
	return b.String()
}

func (g *generator) grep(fn string) string {
	var b strings.Builder
	for size := g.pareto(900, 9000, 1.4); b.Len() < size; {
		f := g.files[g.rng.IntN(len(g.files))]
		fmt.Fprintf(&b, "%s:%d:%s\n", f.path, 1+g.rng.IntN(700), strings.Replace(g.statement(&f), "§", fn, 1))
	}
	return b.String()
}

// source is a part of a file, most often one or two screens.
func (g *generator) source(f *file) string {
	return g.code(f, g.pick(f.funcs), g.pareto(2600, 24_000, 1.6))
}

// code is Go that reads like Go, about size bytes of it.
func (g *generator) code(f *file, fn string, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "// %s %ss the %s of a %s; it %s when the %s is %s.\nfunc (%c *%s) %s(%s %s) error {\n", fn, g.pick(verbs), g.pick(things), g.pick(nouns),
			g.pick(verbs)+"s", g.pick(nouns), g.pick(states), fn[0]|0x20, title(g.pick(nouns)), fn, g.pick(nouns), g.pick(types))
		depth := 1
		for range 4 + g.rng.IntN(14) {
			line := strings.Replace(g.statement(f), "§", g.pick(f.funcs), 1)
			b.WriteString(strings.Repeat("\t", depth) + line + "\n")
			if strings.HasSuffix(line, "{") {
				depth++
			} else if depth > 1 && g.chance(0.4) {
				depth--
				b.WriteString(strings.Repeat("\t", depth) + "}\n")
			}
		}
		for ; depth > 1; depth-- {
			b.WriteString(strings.Repeat("\t", depth-1) + "}\n")
		}
		b.WriteString("\treturn nil\n}\n\n")
		fn = g.pick(f.funcs)
	}
	return b.String()
}

func (g *generator) statement(f *file) string {
	return strings.NewReplacer("{n}", g.pick(nouns), "{t}", g.pick(things), "{f}", g.pick(f.funcs), "{v}", g.pick(verbs),
		"{T}", title(g.pick(things)), "{#}", fmt.Sprint(g.rng.IntN(4096)), "{s}", g.pick(states)).Replace(g.pick(statements))
}

func (g *generator) diff(w *work) string {
	var b strings.Builder
	size := g.pareto(1500, 14_000, 1.4)
	for b.Len() < size {
		f := w.files[g.rng.IntN(len(w.files))]
		at := 1 + g.rng.IntN(500)
		fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex %s..%s 100644\n@@ -%d,9 +%d,%d @@ func %s\n", f.path, f.path, g.hex(7), g.hex(7), at, at, 9+g.rng.IntN(6), g.pick(f.funcs))
		for range 6 + g.rng.IntN(14) {
			b.WriteString(g.pick([]string{" ", " ", "+", "+", "-"}) + "\t" + strings.Replace(g.statement(f), "§", g.pick(f.funcs), 1) + "\n")
		}
	}
	return b.String()
}

func (g *generator) gitLog(f *file) string {
	var b strings.Builder
	for range g.between(3, 20) {
		fmt.Fprintf(&b, "%s %s: %s the %s of %s\n %s | %d %s\n", g.hex(8), g.pick(g.people), g.pick(verbs), g.pick(things), g.pick(nouns),
			f.path, 1+g.rng.IntN(80), strings.Repeat("+", 1+g.rng.IntN(20)))
	}
	return b.String()
}

func (g *generator) testRun(w *work, red bool) string {
	var b strings.Builder
	for range g.between(6, 50) {
		fmt.Fprintf(&b, "=== RUN   Test%s\n--- PASS: Test%s (%d.%02ds)\n", title(g.ident()), title(g.ident()), g.rng.IntN(3), g.rng.IntN(100))
	}
	if !red {
		fmt.Fprintf(&b, "=== RUN   %s\n--- PASS: %s (0.%02ds)\nPASS\nok  \t%s/%s\t%d.%03ds\n", w.failing, w.failing, g.rng.IntN(100), g.project, w.files[0].path, g.rng.IntN(30), g.rng.IntN(1000))
		return b.String()
	}
	fmt.Fprintf(&b, "=== RUN   %s\n    %s:%d: got %q, want %q\n    error: %s in %s\n", w.failing, strings.Replace(w.files[0].path, ".go", "_test.go", 1), 1+g.rng.IntN(300),
		g.pick(states)+" "+g.hex(6), g.pick(states)+" "+g.hex(6), w.symptom, g.pick(w.files[0].funcs))
	if g.chance(0.5) {
		b.WriteString("goroutine " + fmt.Sprint(g.rng.IntN(200)) + " [running]:\n" + g.stack(g.between(3, 30)))
	}
	fmt.Fprintf(&b, "--- FAIL: %s (%d.%02ds)\nFAIL\t%s\t%d.%03ds\nFAIL\n", w.failing, g.rng.IntN(9), g.rng.IntN(100), g.project, g.rng.IntN(30), g.rng.IntN(1000))
	return b.String()
}

func (g *generator) runLog(w *work, size int) string {
	var b strings.Builder
	for ms := 0; b.Len() < size; ms += g.rng.IntN(900) {
		fmt.Fprintf(&b, "2026-03-%02dT%02d:%02d:%02d.%03dZ %s %s: %s %s id=%s took=%dms\n", 1+w.number%28, ms/3_600_000%24, ms/60_000%60, ms/1000%60, ms%1000,
			g.pick([]string{"DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"}), g.ident(), g.pick(states), g.pick(nouns), g.hex(12), g.rng.IntN(4000))
	}
	return b.String()
}

func (g *generator) smallTalk() string { return g.pick(talk) }
