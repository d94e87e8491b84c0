package terminal

import (
	"strings"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"lethe/internal/pattern"
	"lethe/internal/screen"
)

// clean makes text from outside safe to print, in cells that can be counted:
// what screen.Sanitize does, and tabs become spaces.
func clean(s string) string {
	return tabs(screen.Sanitize(strings.ReplaceAll(s, "\r\n", "\n")))
}

func tabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// oneLine is clean for text that has one row: names, tools, errors.
func oneLine(s string) string {
	return strings.Join(strings.Fields(clean(s)), " ")
}

var sentFile = pattern.Lazy(`(?m)^\[\w+ ([\pL\pN_][\pL\pN._-]*) \S+ [\d.]+ [KM]?B hash=([0-9a-f]{16,64})\]$`)

// withFiles is the text of a line, with the command that writes each file that an agent sent with it.
func withFiles(l message) string {
	if !l.Agent {
		return l.Text
	}
	return sentFile().ReplaceAllString(l.Text, "$0\n→ lethe cat $2 > $1")
}

// lastLine is the last line of text that is not blank.
func lastLine(text string) string {
	return oneLine(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:])
}

// fit cuts a styled row to width cells, marking the cut with an ellipsis.
func fit(s string, width int) string { return xansi.Truncate(s, width, "…") }

// wrap breaks text, which may be styled, into rows of at most width cells: at
// blanks, and inside a word that is longer than a row.
func wrap(s string, width int) []string {
	width = max(width, 1)
	const dash = "\U0010fffd" // stands for a "-" behind a blank, since Wrap lets that one run over the end of a row
	s = lipgloss.Wrap(strings.ReplaceAll(s, " -", " "+dash), width, "")
	s = strings.ReplaceAll(s, dash, "-")
	return strings.Split(xansi.Hardwrap(s, width, true), "\n") // Wrap takes "|--|--|" for one piece
}

// The styles of the screen. Colours are the terminal's own 16, so that they follow
// the person's theme; NO_COLOR drops them, and nothing on the screen is told by
// colour alone.
var (
	unstyled  = lipgloss.NewStyle()
	bold      = lipgloss.NewStyle().Bold(true)
	dim       = lipgloss.NewStyle().Faint(true)
	good      = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warn      = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad       = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent    = lipgloss.NewStyle().Foreground(lipgloss.Blue)
	code      = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	link      = code.Underline(true)
	agentName = accent.Bold(true)
	ownName   = good.Bold(true)
	userName  = warn.Bold(true)
)
