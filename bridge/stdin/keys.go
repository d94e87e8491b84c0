package stdin

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/chat"
	"lethe/internal/status"
)

const keyHelp = `Keys and commands
  Enter                 send
  Alt+Enter, Ctrl+J     new line (Shift+Enter where the terminal tells it)
  Up, Down              what you sent before, at the edges of the input
  PgUp, PgDn, wheel     scroll, as far back as 2000 lines
  Ctrl+End              back to the newest line
  Tab                   answer a question that an agent asks here
  Esc                   stop the agent's turn
  Ctrl+C twice, Ctrl+D  leave; a daemon goes on
  Shift+drag            select text

  /stop                 stop the agent's turn
  /status               ask the agent's harness how it is
  /model NAME           change the model
  /budget, +2 today     what was spent; two dollars more for today
  /rooms, /room NAME    list rooms, look at another one
  /quit                 leave
  //text                send a line that starts with a slash`

// key acts on one key. Any key but a second Ctrl+C takes the first one back.
func (m *model) key(k tea.KeyPressMsg) (cmd tea.Cmd) {
	leaving := m.leaving
	m.leaving, m.notice = false, ""
	if m.choose(k) {
		return nil
	}
	switch k.String() {
	case "tab":
		m.answerNext()
		return nil
	case "enter", "ctrl+m":
		return m.enter()
	case "esc":
		m.escape()
		return nil
	case "ctrl+c":
		if leaving {
			return tea.Quit
		}
		m.interrupt()
		return nil
	case "ctrl+d":
		if m.in.Value() == "" {
			return tea.Quit
		}
	case "ctrl+z":
		return tea.Suspend
	case "pgup":
		m.log.scroll(-max(m.log.height-1, 1))
		return nil
	case "pgdown":
		m.log.scroll(max(m.log.height-1, 1))
		return nil
	case "ctrl+end":
		m.log.end()
		return nil
	case "up":
		if m.in.Line() == 0 && m.in.LineInfo().RowOffset == 0 {
			m.setInput(m.typed.previous(m.in.Value()))
			return nil
		}
	case "down":
		info := m.in.LineInfo()
		if m.in.Line() == m.in.LineCount()-1 && info.RowOffset >= info.Height-1 {
			m.setInput(m.typed.next(m.in.Value()))
			return nil
		}
	}
	m.in, cmd = m.in.Update(k)
	return cmd
}

// setInput replaces the input, with the cursor at its end.
func (m *model) setInput(text string) {
	if text != m.in.Value() {
		m.in.SetValue(text)
		m.in.MoveToEnd()
	}
}

// enter acts on the input; one that cannot be done stays, to be mended.
func (m *model) enter() tea.Cmd {
	command, text := understand(m.in.Value())
	switch command {
	case "":
		if strings.TrimSpace(text) != "" {
			m.send(text)
		}
	case "/quit":
		return tea.Quit
	case "/help":
		m.show(keyHelp)
	case "/rooms", "/room":
		switch {
		case text == "":
			m.show(m.roomList())
		case chat.ValidRoom(text):
			m.enterRoom(text)
		default:
			m.notice = "no room can be called " + oneLine(text) + ": use a-z, 0-9, _ and -"
			return nil
		}
	default:
		m.notice = oneLine(m.in.Value()) + " is no command here: /help lists them, // sends a / as text"
		return nil
	}
	m.typed.add(m.in.Value())
	m.in.Reset()
	return nil
}

// show puts text of the screen's own under the history.
func (m *model) show(text string) {
	m.log.note(text)
	m.log.end()
}

func (m *model) send(text string) {
	if text == "/stop" {
		m.stopped = m.busy()
	}
	m.do(request{say: text})
	m.log.end()
	if m.roomErr == nil && len(m.here()) == 0 {
		m.notice = "nobody is listening yet; what you write waits in the room"
	}
}

// escape stops the turn under way, once, or goes back to the newest line.
func (m *model) escape() {
	switch {
	case !m.busy():
		m.log.end()
	case !m.stopped:
		m.send("/stop")
	}
}

// interrupt clears a half-written message first; an empty input is left at the
// second press.
func (m *model) interrupt() {
	if text := m.in.Value(); strings.TrimSpace(text) != "" {
		m.typed.add(text)
		m.in.Reset()
		m.notice = "cleared (Up brings it back)"
		return
	}
	m.leaving = true
	m.notice = "Ctrl+C again leaves"
	if m.busy() {
		m.notice += "; Esc stops the agent's turn"
	}
}

// enterRoom changes the viewed room.
func (m *model) enterRoom(name string) {
	m.room, m.roomErr = name, nil
	m.stream, m.stopped, m.choice = map[string]reply{}, false, choice{}
	m.log.reset(nil)
	m.do(request{room: name})
}

// roomList names the rooms of the home, and the agents in each with what they do.
func (m *model) roomList() string {
	list := "Rooms (/room NAME looks at another one)"
	for _, room := range m.rooms {
		var names []string
		for _, a := range listeners(m.agents, room, m.cfg.Self) {
			name := a.Name
			if a.State != status.Idle {
				name += " (" + a.State + ")"
			}
			names = append(names, name)
		}
		if names == nil {
			names = []string{"nobody"}
		}
		list += "\n  " + room + ": " + oneLine(strings.Join(names, ", "))
	}
	return list
}
