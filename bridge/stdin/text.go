package stdin

import (
	"html"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"lethe/chat"
)

// maxMarkdown bounds the bytes that are laid out as markdown, which takes up to
// a few milliseconds per KB; a longer message is shown as it was written.
const maxMarkdown = 32 << 10

// clean makes text from outside safe to print, in cells that can be counted:
// what chat.Sanitize does, and tabs become spaces.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(chat.Sanitize(s), "\t", "    ")
}

// oneLine is clean for text that has one row: names, tools, errors.
func oneLine(s string) string {
	return strings.Join(strings.Fields(clean(s)), " ")
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
	s = lipgloss.Wrap(s, width, "")
	return strings.Split(xansi.Hardwrap(s, width, true), "\n") // Wrap takes "|--|--|" for one piece
}

// markdown lays text out as rows of at most width cells. Text that glamour
// cannot be trusted with is wrapped as it is.
type markdown struct {
	style ansi.StyleConfig
	width int
	term  *glamour.TermRenderer
}

func (m *markdown) rows(text string, width int) (rows []string) {
	text = clean(text)
	// Below a dozen cells glamour's indents leave no room for words.
	if width < 12 || len(text) > maxMarkdown || hidesControls(text) || deep(text) {
		return wrap(text, width)
	}
	defer func() {
		if recover() != nil { // the parser met something it did not expect
			rows = wrap(text, width)
		}
	}()
	if m.term == nil || m.width != width {
		term, err := glamour.NewTermRenderer(
			glamour.WithStyles(m.style),
			glamour.WithWordWrap(width),
			glamour.WithPreservedNewLines(),
			glamour.WithTableWrap(true),
		)
		if err != nil {
			return wrap(text, width)
		}
		m.term, m.width = term, width
	}
	out, err := m.term.Render(keepTags(text))
	if err != nil {
		return wrap(text, width)
	}
	for row := range strings.SplitSeq(colourOnly(out), "\n") {
		row = padding.ReplaceAllString(row, "\x1b[m")
		rows = append(rows, wrap(row, width)...) // glamour leaves long words and lines of code
	}
	blank := func(row string) bool { return lipgloss.Width(row) == 0 }
	for len(rows) > 1 && blank(rows[0]) {
		rows = rows[1:]
	}
	for len(rows) > 1 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// hidesControls says whether a character reference in text, however often it
// was escaped, stands for a control character: markdown would decode it.
func hidesControls(text string) bool {
	for range 4 {
		next := html.UnescapeString(text)
		if next == text {
			return false
		}
		text = next
		if clean(text) != text {
			return true
		}
	}
	return true // nested deeper than anybody writes by accident
}

// containers is what begins a line in nested quotes and lists.
var containers = regexp.MustCompile(`^(?: |>|[*+-] |\d{1,9}[.)] )+`)

// deep says whether lines of text are nested further, or more often, than
// anybody writes: glamour lays each level of a quote or list out again for all
// the levels around it, and would be at it for minutes.
func deep(text string) bool {
	work := 0
	for line := range strings.SplitSeq(text, "\n") {
		head := containers.FindString(line)
		marks := len(head) - strings.Count(head, " ")
		if work += marks * marks; marks > 8 || marks > 0 && len(head) > 24 || work > 4000 {
			return true
		}
	}
	return false
}

var fence = regexp.MustCompile("^ {0,3}(```+|~~~+)")

// keepTags escapes what markdown would take for raw HTML, which glamour drops:
// an agent that writes <name> outside of code means to show it.
func keepTags(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	lines := strings.Split(text, "\n")
	open := ""
	for i, line := range lines {
		if f := fence.FindStringSubmatch(line); f != nil {
			switch {
			case open == "":
				open = f[1]
			case strings.HasPrefix(f[1], open):
				open = ""
			}
			continue
		}
		if open == "" && !strings.HasPrefix(line, "    ") {
			lines[i] = strings.ReplaceAll(line, "<", "&lt;")
		}
	}
	return strings.Join(lines, "\n")
}

// sequence matches what a terminal could take for a command: CSI, OSC and the
// other string sequences, and two-character escapes.
var sequence = regexp.MustCompile("\x1b\\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b.?")

// colourOnly keeps the escape sequences that style text and drops all others,
// hyperlinks too: where a link goes is written beside it.
func colourOnly(s string) string {
	return sequence.ReplaceAllStringFunc(s, func(seq string) string {
		if strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m") {
			return seq
		}
		return ""
	})
}

// padding is what glamour fills a row up with: blanks, and the styles among them.
var padding = regexp.MustCompile("( |\x1b\\[[0-9;]*m)* (\x1b\\[[0-9;]*m| )*$")
