package terminal

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/internal/screen"
)

// maxUnfolded bounds the lines of pasted text that stands in the input as it is. Of a longer one a label stands there, and
// of one with tabs, of which the input makes blanks.
const maxUnfolded = 6

// folded is pasted text, and the label that stands for it in the input.
type folded struct{ label, text string }

// newlines makes a newline of all that terminals send for one.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// paste takes pasted text into the input, unless it is too long.
func (m *model) paste(content string) (cmd tea.Cmd) {
	m.leaving = false
	text := newlines.Replace(content)
	if len(text) > maxInput {
		m.notice = "that is too long for the input; send it with: lethe say " + m.room + " < FILE"
		return nil
	}
	text = screen.Sanitize(text)
	if lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; lines > maxUnfolded || strings.Contains(text, "\t") {
		label := fmt.Sprintf("[paste %d: %d lines]", len(m.pastes)+1, lines)
		m.pastes = append(m.pastes, folded{label, text})
		text = label
	}
	m.in, cmd = m.in.Update(tea.PasteMsg{Content: text})
	return cmd
}

// input returns the input with the text of each label.
func (m *model) input() string {
	text := m.in.Value()
	for _, paste := range m.pastes {
		text = strings.Replace(text, paste.label, paste.text, 1)
	}
	return text
}

// dropPaste takes a label out of the input as a whole, once a key has deleted one of its ends.
func (m *model) dropPaste() {
	typed := m.in.Value()
	for _, paste := range m.pastes {
		start, end := paste.label[:len(paste.label)-1], paste.label[1:]
		switch {
		case strings.Contains(typed, paste.label):
		case strings.Contains(typed, start):
			m.setInput(strings.Replace(typed, start, "", 1))
		case strings.Contains(typed, end):
			m.setInput(strings.Replace(typed, end, "", 1))
		}
	}
}

// clearInput empties the input, and remembers what stood there.
func (m *model) clearInput() {
	m.typed.add(m.input())
	m.pastes = nil
	m.in.Reset()
}
