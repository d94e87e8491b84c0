package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lethe/agent/status"
)

// frame lays out the rows above and below the history, and returns the row of
// below at which the input begins. A small terminal has room for less.
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
	below = append(below, m.menuRows(min(m.menuHeight(), room))...)
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
	view := tea.NewView("")
	view.AltScreen = true
	view.MouseMode = tea.MouseModeCellMotion
	view.WindowTitle = "lethe " + m.room
	if m.width == 0 || m.height == 0 {
		return view // the size is not known yet
	}
	above, below, input := m.frame()
	rows := slices.Concat(above, m.log.view(), below)
	for i := range rows {
		rows[i] = fit(rows[i], m.width)
	}
	view.SetContent(strings.Join(rows, "\n"))
	if view.Cursor = m.in.Cursor(); view.Cursor != nil {
		view.Cursor.Y += len(above) + m.log.height + input
	}
	return view
}

// headerRow names the room, who is in it, and how to get help.
func (m *model) headerRow() string {
	left := " " + bold.Render(m.room)
	if here := names(m.here()); here != nil {
		left += dim.Render(" with " + strings.Join(here, ", "))
	}
	return spread(left, dim.Render("/help "), m.width)
}

// activityRow names the agents that work or wait, and counts the blocks below the screen.
func (m *model) activityRow() string {
	row, busy := "", m.busy()
	for _, who := range m.agents {
		does := doing(who.Status, who.Live, m.now())
		waits := does != "" && m.rests(who)
		switch {
		case who.BusyIn(m.room):
			row += " " + bold.Render(oneLine(who.Name)) + " " + does
			if took := m.now().Sub(who.Since); !who.Since.IsZero() && took >= 3*time.Second {
				row += dim.Render(" " + took.Truncate(time.Second).String())
			}
		case !busy && waits:
			row = " " + dim.Render(oneLine(who.Name)+" "+does)
		}
	}
	if busy {
		hint := " · Esc stops"
		if m.stopped {
			hint = " · stopping"
		}
		row = " " + accent.Render(m.spin.View()) + fit(row, max(m.width-30, 16)) + dim.Render(hint)
	}
	if waiting := m.waiting(); waiting != "" && busy {
		row += dim.Render(" · ") + warn.Render("Tab answers a question")
	} else if waiting != "" {
		row = " " + warn.Render("? "+waiting)
	}
	if !m.log.back {
		return row
	}
	below := "↓ Ctrl+End"
	if m.log.unseen > 0 {
		below = fmt.Sprintf("↓ %d new · Ctrl+End", m.log.unseen)
	}
	return spread(row, warn.Render(below)+" ", m.width)
}

// rests reports whether an agent that hears the room is idle, with nothing wrong, while no question is being answered.
func (m *model) rests(a agent) bool {
	if a.State != status.Idle || a.Error != "" {
		return false
	}
	return m.answers == "" && slices.Contains(a.Rooms, m.room)
}

// noticeRows are for the person to know now, most urgent first, at most
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
			why := strings.TrimSuffix(oneLine(a.Error), ".")
			put(bad, fmt.Sprintf("%s paused: %s. Mend that, then write anything to go on.", oneLine(a.Name), why))
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
		if m.room == m.cfg.Room {
			row += dim.Render(" · start one with: " + m.cfg.Start)
		}
		return row
	}
	who := here[0]
	mark, style := markOf(who.State)
	state := oneLine(who.State)
	if who.working() && !who.BusyIn(m.room) {
		state = "busy in " + oneLine(strings.Join(slices.Sorted(slices.Values(who.Answering)), ", "))
	}
	segments := []string{style.Render(mark) + " " + bold.Render(oneLine(who.Name)) + " " + style.Render(state)}
	add := func(is bool, text string) {
		if is {
			segments = append(segments, text)
		}
	}
	add(who.ContextLimit > 0, fmt.Sprintf("%dk of %dk tokens", who.Used()/1000, who.ContextLimit/1000))
	add(who.CostUSD >= 0.005, fmt.Sprintf("$%.2f", who.CostUSD))
	add(who.Compacting, "forgetting")
	brief := oneLine(strings.Join(who.Brief(m.now()), ", "))
	add(brief != "", brief)
	add(who.Offline, warn.Render("offline model"))
	add(!who.Offline && who.Model != "", oneLine(who.Model))
	add(len(here) > 1, fmt.Sprintf("+%d more", len(here)-1))
	add(who.Error != "" && who.State != status.Paused, bad.Render(oneLine(who.Error)))
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

// spread sets left and right at the two ends of a row.
func spread(left, right string, width int) string {
	return left + lipgloss.PlaceHorizontal(width-lipgloss.Width(left), lipgloss.Right, " "+right)
}

// Bar draws n of all in a row of cells; more than nothing fills at least one.
func Bar(n, all, cells int) string {
	full := 0
	if n > 0 && all > 0 {
		full = min(max(n*cells/all, 1), cells)
	}
	return strings.Repeat("█", full) + strings.Repeat(" ", cells-full)
}
