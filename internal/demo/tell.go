package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"lethe/chat"
)

// teller narrates. On a terminal it paints, shows what is under way on a line
// that it takes back, and leaves time to read; elsewhere it writes plain lines.
type teller struct {
	ctx   context.Context // ends the pauses
	out   io.Writer
	err   error // the first write that failed
	tty   bool
	paint paint
	wide  int
	fast  bool

	words  int       // told since the last rest
	rested time.Time // when that was
}

// paint is how things look. Its colours are of the terminal's own sixteen, so
// they follow its theme.
type paint struct{ head, dim, you, agent, command, quote lipgloss.Style }

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
	t.tty = true
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		t.wide = min(max(w-1, 30), tellWidth)
	}
	if os.Getenv("NO_COLOR") == "" {
		colour := func(c string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(c)) }
		t.paint = paint{
			head: colour("6").Bold(true), dim: lipgloss.NewStyle().Faint(true),
			you: colour("3").Bold(true), agent: colour("5").Bold(true), command: lipgloss.NewStyle().Bold(true), quote: colour("6"),
		}
	}
	return t
}

func (t *teller) print(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, s)
	}
	t.words += len(strings.Fields(s))
}

// title opens the tour.
func (t *teller) title(what, more string) {
	t.print(t.paint.head.Render(what) + t.paint.dim.Render(" · "+more) + "\n")
}

// scene opens a step.
func (t *teller) scene(n int, title string) {
	rule := strings.Repeat("─", max(2, t.wide-ansi.StringWidth(title)-4))
	t.print("\n" + t.paint.head.Render(fmt.Sprintf("%d  %s ", n, title)) + t.paint.dim.Render(rule) + "\n")
}

// text tells something, in a paragraph of its own.
func (t *teller) text(s string) { t.print("\n" + ansi.Wordwrap(s, t.wide, "") + "\n") }

// command shows what a person would type for what happens next.
func (t *teller) command(s string) {
	t.print("\n" + t.paint.dim.Render("  $ ") + t.paint.command.Render(s) + "\n")
}

// excerpt shows lines of a file, each on at most so many lines of the screen.
func (t *teller) excerpt(most int, lines ...string) {
	for _, l := range lines {
		for _, part := range t.wrap(l, t.wide-4, most) {
			t.print(t.paint.dim.Render("  │ ") + t.paint.quote.Render(part) + "\n")
		}
	}
}

// line shows a line of the room on at most so many lines of the screen.
func (t *teller) line(who, text string, most int) {
	style := t.paint.agent
	if who == "you" {
		style = t.paint.you
		t.print("\n")
	}
	parts := t.wrap(strings.Join(strings.Fields(text), " "), t.wide-8, most)
	t.print("  " + style.Render(pad(who, 5)) + " " + strings.Join(parts, "\n        ") + "\n")
}

// wrap breaks a line into at most so many of a width; a cut is marked.
func (t *teller) wrap(text string, wide, most int) []string {
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
	t.print("  " + pad(label, 24) + t.paint.head.Render(strings.Repeat("█", n)) + t.paint.dim.Render(strings.Repeat("░", cells-n)+
		" "+grouped(tokens)+" of "+grouped(limit)) + "\n")
}

// table shows pairs of a name and what is to be said of it.
func (t *teller) table(rows [][2]string) {
	first := 0
	for _, r := range rows {
		first = max(first, ansi.StringWidth(r[0]))
	}
	t.print("\n")
	for _, r := range rows {
		rest := strings.Split(ansi.Wordwrap(r[1], max(20, t.wide-first-4), ""), "\n")
		t.print("  " + t.paint.command.Render(pad(r[0], first)) + "  " + strings.Join(rest, "\n"+strings.Repeat(" ", first+4)) + "\n")
	}
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// spin shows on a terminal that something is under way, and what there is of it.
func (t *teller) spin(n int, text string) {
	if !t.tty || n < 3 { // what is there at once needs no announcement
		return
	}
	text = chat.Sanitize(text)
	if over := ansi.StringWidth(text) - (t.wide - 8); over > 0 { // its end is what moves
		text = ansi.TruncateLeft(text, over+1, "…")
	}
	t.redraw(t.paint.dim.Render(fmt.Sprintf("  %c     %s", spinner[n/2%len(spinner)], text)))
}

// wipe takes the line of spin back.
func (t *teller) wipe() {
	if t.tty {
		t.redraw("")
	}
}

func (t *teller) redraw(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, "\r\x1b[K"+s)
	}
}

// rest leaves the time to read what was told since the last one.
func (t *teller) rest() {
	need := time.Duration(t.words)*reading - time.Since(t.rested)
	t.pause(min(need, longestRest))
	t.words, t.rested = 0, time.Now()
}

// beat is a short pause in the middle of something.
func (t *teller) beat() { t.pause(700 * time.Millisecond) }

func (t *teller) pause(d time.Duration) {
	if t.fast || d <= 0 {
		return
	}
	select {
	case <-t.ctx.Done():
	case <-time.After(d):
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-ansi.StringWidth(s))) }

// cut shortens a text for an error message.
func cut(s string, n int) string { return ansi.Truncate(chat.Sanitize(s), n, "…") }

// clipLines are the first n lines of a text.
func clipLines(s string, n int) []string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[:min(n, len(lines))]
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// grouped writes a number as 14,000.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
