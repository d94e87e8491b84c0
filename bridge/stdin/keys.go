package stdin

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/chat"
	"lethe/internal/status"
)

// keyHelp is the page behind /help.
var keyHelp = [][2]string{
	{"Enter", "send"},
	{"Alt+Enter, Ctrl+J", "new line (Shift+Enter where the terminal tells it)"},
	{"Up, Down", "what you sent before, at the edges of the input"},
	{"PgUp, PgDn, wheel", "scroll, as far back as 2000 lines"},
	{"Ctrl+End", "back to the newest line"},
	{"Esc", "stop the agent's turn"},
	{"Ctrl+C twice, Ctrl+D", "leave; a daemon goes on"},
	{"Shift+drag", "select text"},
	{"", ""},
	{"/stop", "stop the agent's turn"},
	{"/status", "ask the agent's harness how it is"},
	{"/model NAME", "change the model"},
	{"/rooms, /room NAME", "list rooms, look at another one"},
	{"/quit", "leave"},
	{"//text", "send a line that starts with a slash"},
}

// key acts on one key. Any key but a second Ctrl+C takes the first one back.
func (m *model) key(k tea.KeyPressMsg) (cmd tea.Cmd) {
	name := k.String()
	leaving := m.leaving
	m.leaving = false
	if name != "ctrl+c" || !leaving {
		m.notice = notice{}
	}
	switch name {
	case "enter", "ctrl+m":
		return m.enter()
	case "esc":
		m.escape()
	case "ctrl+c":
		return m.interrupt(leaving)
	case "ctrl+d":
		if m.in.Value() == "" {
			return tea.Quit
		}
		m.in, cmd = m.in.Update(k)
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	case "pgup":
		m.scroll(-max(m.log.height-1, 1))
	case "pgdown":
		m.scroll(max(m.log.height-1, 1))
	case "ctrl+end":
		m.log.end()
	case "up":
		if m.in.Line() == 0 && m.in.LineInfo().RowOffset == 0 {
			if text, ok := m.typed.previous(m.in.Value()); ok {
				m.setInput(text)
			}
			return nil
		}
		m.in, cmd = m.in.Update(k)
	case "down":
		info := m.in.LineInfo()
		if m.in.Line() == m.in.LineCount()-1 && info.RowOffset >= info.Height-1 {
			if text, ok := m.typed.next(); ok {
				m.setInput(text)
			}
			return nil
		}
		m.in, cmd = m.in.Update(k)
	default:
		m.in, cmd = m.in.Update(k)
	}
	return cmd
}

// setInput replaces the input, with the cursor at its end.
func (m *model) setInput(text string) {
	if text != m.in.Value() {
		m.in.SetValue(text)
		m.in.MoveToEnd()
	}
}

// enter acts on the input.
func (m *model) enter() tea.Cmd {
	if m.page != noPage && m.in.Value() == "" {
		m.page = noPage
		return nil
	}
	c := understand(m.in.Value())
	m.page = noPage
	switch c.intent {
	case nothing:
		m.in.Reset()
		return nil
	case unknown:
		word, _ := split(c.Text)
		m.notice = notice{text: oneLine(word) + " is no command here: /help lists them, // sends a / as text"}
		if slices.Contains(harness, word) {
			m.notice.text = "/model takes one name, the other commands nothing: /help lists them"
		}
		return nil
	case quit:
		return tea.Quit
	case help:
		m.open(helpPage)
	case rooms:
		m.open(roomsPage)
	case goRoom:
		if !m.enterRoom(c.Text) {
			return nil
		}
	case say:
		m.send(c.Text)
	}
	m.typed.add(m.in.Value())
	m.in.Reset()
	return nil
}

func (m *model) send(text string) {
	if text == "/stop" {
		m.stopped = m.busy()
	}
	m.do(request{say: text})
	m.log.end()
	if m.roomErr == nil && len(m.here()) == 0 {
		m.notice = notice{text: "nobody is listening yet; what you write waits in the room"}
	}
}

// escape leaves the innermost thing there is to leave.
func (m *model) escape() {
	switch {
	case m.page != noPage:
		m.page = noPage
	case m.busy():
		if !m.stopped { // one /stop is enough for a turn
			m.send("/stop")
		}
	default:
		m.log.end()
	}
}

// interrupt clears a half-written message first; an empty input is left at the
// second press.
func (m *model) interrupt(again bool) tea.Cmd {
	if again {
		return tea.Quit
	}
	if text := m.in.Value(); strings.TrimSpace(text) != "" {
		m.typed.add(text)
		m.in.Reset()
		m.notice = notice{text: "cleared (Up brings it back)"}
		return nil
	}
	m.leaving = true
	m.notice = notice{text: "Ctrl+C again leaves"}
	if m.busy() {
		m.notice.text = "Ctrl+C again leaves; Esc stops the agent's turn"
	}
	return nil
}

// enterRoom changes the viewed room.
func (m *model) enterRoom(name string) bool {
	if !chat.ValidRoom(name) {
		m.notice = notice{text: "no room can be called " + oneLine(name) + ": use a-z, 0-9, _ and -", bad: true}
		return false
	}
	m.room, m.roomErr = name, nil
	m.stream, m.stopped = map[string]reply{}, false
	m.log.reset(nil)
	m.do(request{room: name})
	return true
}

// page is what lies over the history until a key.
type page int

const (
	noPage page = iota
	helpPage
	roomsPage
)

// open shows a page from its top.
func (m *model) open(p page) { m.page, m.pageTop = p, 0 }

// pageRows lays the open page out.
func (m *model) pageRows() []string {
	title, entries := "Keys and commands", keyHelp
	if m.page == roomsPage {
		title, entries = "Rooms (/room NAME looks at another one)", nil
		names := m.rooms
		if !slices.Contains(names, m.room) {
			names = append(slices.Clone(names), m.room)
		}
		for _, name := range names {
			mark := "  "
			if name == m.room {
				mark = "❯ "
			}
			entries = append(entries, [2]string{mark + name, m.listenerNames(name)})
		}
	}
	rows := []string{"", "  " + m.style.bold.Render(title)}
	for _, e := range entries {
		rows = append(rows, "  "+fmt.Sprintf("%-21s ", e[0])+m.style.dim.Render(e[1]))
	}
	return rows
}

// listenerNames names the agents in a room, with what they do.
func (m *model) listenerNames(room string) string {
	var names []string
	for _, a := range listeners(m.agents, room, m.cfg.Self) {
		name := oneLine(a.Name)
		if a.State != status.Idle {
			name += " (" + oneLine(a.State) + ")"
		}
		names = append(names, name)
	}
	if names == nil {
		return "nobody"
	}
	return strings.Join(names, ", ")
}
