package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"lethe/chat"
)

// teller narrates. On a terminal it paints and leaves time to read; elsewhere it
// writes plain lines.
type teller struct {
	ctx  context.Context // ends the pauses
	out  io.Writer
	err  error // the first write that failed
	wide int   // columns
	fast bool

	head, dim, strong lipgloss.Style // colours are of the terminal's own sixteen

	words  int       // told since the last rest
	rested time.Time // when that was
}

const (
	tellWidth = 88 // columns at most: longer lines are hard to read

	// A word of the narration is read in reading; of excerpts one reads less.
	reading     = 160 * time.Millisecond
	longestRest = 10 * time.Second
)

func newTeller(ctx context.Context, out io.Writer, fast bool) *teller {
	t := &teller{ctx: ctx, out: out, fast: fast, wide: 80, rested: time.Now()}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return t
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		t.wide = min(max(w-1, 30), tellWidth)
	}
	if os.Getenv("NO_COLOR") == "" {
		t.strong, t.dim = lipgloss.NewStyle().Bold(true), lipgloss.NewStyle().Faint(true)
		t.head = t.strong.Foreground(lipgloss.Color("6"))
	}
	return t
}

func (t *teller) print(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, s)
	}
	t.words += len(strings.Fields(s))
}

// scene opens a step.
func (t *teller) scene(n int, title string) {
	rule := strings.Repeat("─", max(2, t.wide-ansi.StringWidth(title)-4))
	t.print("\n" + t.head.Render(fmt.Sprintf("%d  %s ", n, title)) + t.dim.Render(rule) + "\n")
}

// text tells something, in a paragraph of its own.
func (t *teller) text(s string) { t.print("\n" + ansi.Wordwrap(s, t.wide, "") + "\n") }

// command shows what a person would type for what happens next.
func (t *teller) command(s string) {
	t.print("\n" + t.dim.Render("  $ ") + t.strong.Render(s) + "\n")
}

// excerpt shows lines of a file, each on at most so many lines of the screen.
func (t *teller) excerpt(most int, lines ...string) {
	for _, l := range lines {
		for _, part := range wrap(l, t.wide-4, most) {
			t.print(t.dim.Render("  │ ") + part + "\n")
		}
	}
}

// line shows a line of the room on at most so many lines of the screen.
func (t *teller) line(who, text string, most int) {
	parts := wrap(strings.Join(strings.Fields(text), " "), t.wide-8, most)
	if who == "you" {
		t.print("\n")
	}
	t.print("  " + t.strong.Render(fmt.Sprintf("%-5s", who)) + " " + strings.Join(parts, "\n        ") + "\n")
}

// wrap breaks a line into at most so many of a width; a cut is marked.
func wrap(text string, wide, most int) []string {
	text, wide = chat.Sanitize(text), max(10, wide)
	if most == 1 {
		return []string{ansi.Truncate(text, wide, "…")}
	}
	lines := strings.Split(ansi.Wrap(text, wide, ""), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = ansi.Truncate(lines[most-1], wide-1, "") + "…"
	}
	return lines
}

// gauge shows how full the context is.
func (t *teller) gauge(label string, tokens int) {
	const cells = 28
	n := min(cells, max(0, tokens*cells/limit))
	t.print(fmt.Sprintf("  %-24s", label) + t.head.Render(strings.Repeat("█", n)) + t.dim.Render(strings.Repeat("░", cells-n)) +
		fmt.Sprintf(" %d of %d\n", tokens, limit))
}

// table shows pairs of a name and what is to be said of it.
func (t *teller) table(rows ...[2]string) {
	t.print("\n")
	for _, r := range rows {
		t.print("  " + t.strong.Render(fmt.Sprintf("%-20s", r[0])) + "  " + r[1] + "\n")
	}
}

// rest leaves the time to read what was told since the last one.
func (t *teller) rest() {
	need := time.Duration(t.words)*reading - time.Since(t.rested)
	if !t.fast && need > 0 {
		select {
		case <-t.ctx.Done():
		case <-time.After(min(need, longestRest)):
		}
	}
	t.words, t.rested = 0, time.Now()
}

// clipLines are the first n lines of a text.
func clipLines(s string, n int) []string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[:min(n, len(lines))]
}
