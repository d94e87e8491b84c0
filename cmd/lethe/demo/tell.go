package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"lethe/internal/screen"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
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

var (
	strong = lipgloss.NewStyle().Bold(true)
	dim    = lipgloss.NewStyle().Faint(true)
)

func (t *teller) print(text string) {
	if t.err == nil {
		_, t.err = lipgloss.Fprint(t.out, text)
	}
	t.words += len(strings.Fields(text))
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
	t.print("\n" + strong.Render(fmt.Sprintf("%d  %s", n, title)) + "\n")
}

// text tells something, in a paragraph of its own.
func (t *teller) text(format string, args ...any) {
	t.rest()
	t.print("\n" + ansi.Wordwrap(fmt.Sprintf(format, args...), wide, "") + "\n")
}

// command shows the command that a person would type to the same effect.
func (t *teller) command(format string, args ...any) {
	t.rest()
	t.print("\n" + dim.Render("  $ ") + strong.Render(fmt.Sprintf(format, args...)) + "\n")
}

// excerpt shows the first lines of a text, each on one line of the screen.
func (t *teller) excerpt(text string, most int) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(len(lines), most)] {
		t.print(dim.Render("  │ ") + ansi.Truncate(screen.Sanitize(line), wide-4, "…") + "\n")
	}
}

// line shows a line of the room.
func (t *teller) line(who, text string) {
	text = strings.ReplaceAll(ansi.Wrap(screen.Sanitize(text), wide-8, ""), "\n", "\n        ")
	t.print("  " + strong.Render(fmt.Sprintf("%-5s", who)) + " " + text + "\n")
}
