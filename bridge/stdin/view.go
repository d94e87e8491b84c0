package stdin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lethe/internal/status"
)

// frame lays out what stands above and below the history, and says which row of
// below the input begins at. A small terminal has room for less.
func (m *model) frame() (above, below []string, input int) {
	small := m.height < 9
	if !small {
		above = append(above, m.headerRow())
		below = append(below, m.activityRow())
	}
	notices := m.noticeRows()
	below = append(below, notices[:min(len(notices), m.height/5)]...)
	typed := strings.Split(m.in.View(), "\n")
	room := m.height - len(above) - len(below) - len(typed) - 2
	question := m.choiceRows(min(m.choiceHeight(), room))
	below = append(below, question...)
	below = append(below, m.menuRows(min(m.height/2-1, room-len(question)))...)
	if !small {
		below = append(below, dim.Render(strings.Repeat("─", m.width)))
	}
	input = len(below)
	below = append(below, typed...)
	if m.height >= 3 {
		below = append(below, m.statusRow())
	}
	return above, below, input
}

// arrange gives the history the rows that are left; after each message, before View.
func (m *model) arrange() {
	above, below, _ := m.frame()
	m.log.width, m.log.height = max(m.width, 1), max(m.height-len(above)-len(below), 0)
	m.log.scroll(0)
}

// View draws the screen from the state alone.
func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "lethe " + m.room
	if m.width == 0 || m.height == 0 {
		return v // the size is not known yet
	}
	above, below, input := m.frame()
	rows := slices.Concat(above, m.log.view(), below)
	for i := range rows {
		rows[i] = fit(rows[i], m.width)
	}
	v.SetContent(strings.Join(rows, "\n"))
	if v.Cursor = m.in.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(above) + m.log.height + input
	}
	return v
}

// headerRow names the room, who is in it, and how to get help.
func (m *model) headerRow() string {
	left := " " + bold.Render(m.room)
	var names []string
	for _, a := range m.here() {
		names = append(names, oneLine(a.Name))
	}
	if len(names) > 0 {
		left += dim.Render(" with " + strings.Join(names, ", "))
	}
	return spread(left, dim.Render("/help "), m.width)
}

// activityRow says what goes on: who works, or what lies below.
func (m *model) activityRow() string {
	var parts []string
	for _, a := range m.agents {
		if a.BusyIn(m.room) {
			parts = append(parts, m.doing(a))
		}
	}
	row := ""
	asked := m.asked()
	if asked != "" {
		row = " " + warn.Render("? "+asked)
	} else if a := m.here(); len(a) > 0 && a[0].State == status.Idle && a[0].Error == "" && m.choice.id == "" {
		if what := doing(a[0].Status, status.Live{}, m.now()); what != "" {
			row = " " + dim.Render(oneLine(a[0].Name)+" "+what)
		}
	}
	if len(parts) > 0 {
		if asked != "" {
			parts = append(parts, warn.Render("Tab answers a question"))
		}
		row = " " + accent.Render(m.spin.View()) + " " + strings.Join(parts, ", ")
		if m.stopped {
			row += dim.Render(" · stopping")
		} else {
			row += dim.Render(" · Esc stops")
			for _, a := range m.here() {
				if a.BusyIn(m.room) && a.Live.Text == "" && a.Live.Thinking != "" {
					row += dim.Render(" · " + lastLine(a.Live.Thinking))
				}
			}
		}
	}
	if m.log.up == 0 {
		return row
	}
	below := "↓ Ctrl+End"
	if m.log.unseen > 0 {
		below = fmt.Sprintf("↓ %d new · Ctrl+End", m.log.unseen)
	}
	return spread(row, warn.Render(below)+" ", m.width)
}

// doing describes an agent at work. Seconds appear once they say something.
func (m *model) doing(a agent) string {
	if !a.SilentSince.IsZero() {
		return bold.Render(oneLine(a.Name)) + " waits: " +
			warn.Render("nothing has come from the model for "+m.now().Sub(a.SilentSince).Truncate(time.Second).String())
	}
	what := "is thinking"
	switch {
	case a.State == status.Acting:
		what = "runs " + fit(oneLine(m.log.running(a.Name, a.Tool)), max(m.width-40, 16))
	case m.stream[a.Self].text != "":
		what = "is writing"
	}
	text := bold.Render(oneLine(a.Name)) + " " + what
	if for_ := m.now().Sub(a.Since); !a.Since.IsZero() && for_ >= 3*time.Second {
		text += dim.Render(" " + for_.Truncate(time.Second).String())
	}
	return text
}

// noticeRows are what the person has to know now, most urgent first, at most
// four rows.
func (m *model) noticeRows() []string {
	var rows []string
	put := func(style lipgloss.Style, text string) {
		for _, row := range wrap("! "+text, m.width-2) {
			rows = append(rows, " "+style.Render(row))
		}
	}
	if m.roomErr != nil {
		put(bad, "the room cannot be read: "+oneLine(m.roomErr.Error()))
	}
	for _, a := range m.here() {
		if a.State == status.Paused {
			put(bad, fmt.Sprintf("%s paused: %s. Mend that, then write anything to go on.",
				oneLine(a.Name), strings.TrimSuffix(oneLine(a.Error), ".")))
		}
	}
	if m.notice != "" {
		put(warn, m.notice)
	}
	return rows[:min(len(rows), 4)]
}

// statusRow tells about the first agent that listens here, as much as fits.
func (m *model) statusRow() string {
	here := m.here()
	if len(here) == 0 {
		row := " " + warn.Render("○ nobody is listening in "+m.room)
		if start := " · start one with: " + m.cfg.Start; m.room == m.cfg.Room && m.width >= 28+len(m.room)+len(start) {
			row += dim.Render(start)
		}
		return row
	}
	a := here[0]
	segments := []string{m.stateSegment(a)}
	if a.Compacting {
		segments = append(segments, "forgetting")
	}
	if brief := a.Brief(m.now()); len(brief) > 0 {
		segments = append(segments, oneLine(strings.Join(brief, ", ")))
	}
	if a.Offline {
		segments = append(segments, warn.Render("offline model"))
	} else if a.Model != "" {
		segments = append(segments, oneLine(a.Model))
	}
	if a.CostUSD >= 0.005 {
		segments = append(segments, fmt.Sprintf("$%.2f", a.CostUSD))
	}
	if len(here) > 1 {
		segments = append(segments, fmt.Sprintf("+%d more", len(here)-1))
	}
	if a.Error != "" && a.State != status.Paused {
		segments = append(segments, bad.Render(oneLine(a.Error)))
	}
	if a.ContextLimit > 0 {
		used := fmt.Sprintf("%dk", (a.ContextTokens-a.ContextAnswer)/1000)
		if a.ContextAnswer > 0 {
			used += fmt.Sprintf(" + %dk for the answer,", a.ContextAnswer/1000)
		}
		segments = append(segments, fmt.Sprintf("%s of %dk tokens", used, a.ContextLimit/1000))
	}
	return " " + strings.Join(segments, dim.Render(" │ "))
}

// markOf is the mark of a state and its colour; each has its own, so that it can be told without colour.
func markOf(state string) (mark string, style lipgloss.Style) {
	switch state {
	case status.Paused:
		return "■", bad
	case status.Thinking, status.Acting:
		return "◐", accent
	case status.Starting, status.Retrying:
		return "○", warn
	case status.Stopped:
		return "·", dim
	}
	return "●", good
}

// stateSegment is name and state.
func (m *model) stateSegment(a agent) string {
	mark, style := markOf(a.State)
	state := oneLine(a.State)
	if a.working() && !a.BusyIn(m.room) {
		state = "busy in " + oneLine(strings.Join(slices.Sorted(slices.Values(a.Answering)), ", "))
	}
	return style.Render(mark) + " " + bold.Render(oneLine(a.Name)) + " " + style.Render(state)
}

// spread sets left and right at the two ends of a row.
func spread(left, right string, width int) string {
	return left + lipgloss.PlaceHorizontal(width-lipgloss.Width(left), lipgloss.Right, " "+right)
}

// Bar draws n of all in a row of cells, to an eighth of one; what is not nothing is seen.
func Bar(n, all, cells int) string {
	eighths := 0
	if n > 0 && all > 0 {
		eighths = min(max(n*cells*8/all, 1), cells*8)
	}
	bar := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[part-1])
	}
	return bar + strings.Repeat(" ", cells-lipgloss.Width(bar))
}
