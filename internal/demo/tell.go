package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"lethe/chat"
)

// teller narrates. It leaves time to read what was told before it goes on.
type teller struct {
	ctx  context.Context // ends the pauses
	out  io.Writer       // styles are left out where it is no terminal
	err  error           // the first write that failed
	fast bool

	words  int       // told since the last rest
	rested time.Time // when that was
}

const (
	wide        = 80                     // columns
	reading     = 110 * time.Millisecond // for a word
	longestRest = 10 * time.Second
)

// Styles; the colour is one of the terminal's own sixteen.
var (
	strong = lipgloss.NewStyle().Bold(true)
	head   = strong.Foreground(lipgloss.Color("6"))
	dim    = lipgloss.NewStyle().Faint(true)
)

func (t *teller) print(s string) {
	if t.err == nil {
		_, t.err = lipgloss.Fprint(t.out, s)
	}
	t.words += len(strings.Fields(s))
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

// scene opens a step.
func (t *teller) scene(n int, title string) {
	t.rest()
	rule := strings.Repeat("─", wide-ansi.StringWidth(title)-4)
	t.print("\n" + head.Render(fmt.Sprintf("%d  %s ", n, title)) + dim.Render(rule) + "\n")
}

// text tells something, in a paragraph of its own.
func (t *teller) text(format string, args ...any) {
	t.rest()
	t.print("\n" + ansi.Wordwrap(fmt.Sprintf(format, args...), wide, "") + "\n")
}

// command shows what a person would type for what happens next.
func (t *teller) command(format string, args ...any) {
	t.rest()
	t.print("\n" + dim.Render("  $ ") + strong.Render(fmt.Sprintf(format, args...)) + "\n")
}

// excerpt shows lines of a file, each on one line of the screen.
func (t *teller) excerpt(lines ...string) {
	for _, l := range lines {
		t.print(dim.Render("  │ ") + ansi.Truncate(chat.Sanitize(l), wide-4, "…") + "\n")
	}
}

// line shows a line of the room.
func (t *teller) line(who, text string) {
	text = ansi.Wrap(ansi.Truncate(chat.Sanitize(text), 8*(wide-8), "…"), wide-8, "")
	t.print("  " + strong.Render(fmt.Sprintf("%-5s", who)) + " " + strings.ReplaceAll(text, "\n", "\n        ") + "\n")
}

// gauge shows how full the context is.
func (t *teller) gauge(label string, tokens int) {
	const cells = 28
	n := min(cells, max(0, tokens*cells/limit))
	bar := head.Render(strings.Repeat("█", n)) + dim.Render(strings.Repeat("░", cells-n))
	t.print(fmt.Sprintf("  %-24s%s %d of %d\n", label, bar, tokens, limit))
}
