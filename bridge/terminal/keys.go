package terminal

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/chat"
)

const keyHelp = `Keys and commands
  Enter                 send
  Alt+Enter, Ctrl+J     new line (Shift+Enter where the terminal tells it)
  Up, Down              what you sent before, at the edges of the input
  PgUp, PgDn, wheel     scroll, as far back as 2000 lines
  Ctrl+End              back to the newest line
  Tab                   answer a question; complete what begins with / or @
  /                     lists the commands; Up, Down and Tab or Enter take one
  Ctrl+O                open what happened: commands and output; and close it
  Esc                   stop the agent's turn
  Ctrl+C twice, Ctrl+D  leave; a daemon goes on
  Shift+drag            select text
`

// help lists the keys and the commands.
func help() string {
	var out strings.Builder
	out.WriteString(keyHelp)
	for _, c := range append(commands, command{"//text", "", "send a line that starts with a slash", nil}) {
		fmt.Fprintf(&out, "\n  %-20s  %s", strings.TrimSpace(c.name+" "+c.args), c.what)
	}
	return out.String()
}

// key acts on one key. Any key but a second Ctrl+C takes the first one back.
func (m *model) key(press tea.KeyPressMsg) (cmd tea.Cmd) {
	leaving := m.leaving
	m.leaving, m.notice = false, ""
	if m.choose(press) || m.chooseCommand(press.String()) {
		return nil
	}
	name, again := press.String(), leaving && press.String() == "ctrl+c"
	switch {
	case again, name == "ctrl+d" && m.in.Value() == "":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case name == "enter", name == "ctrl+m":
		return m.enter()
	case m.act(name), m.scrolls(name), m.recalls(name):
		return nil
	}
	m.in, cmd = m.in.Update(press)
	m.dropPaste()
	return cmd
}

// act acts on a key that answers, stops, clears or opens something, and reports whether it was one.
func (m *model) act(key string) bool {
	switch key {
	case "tab":
		if !m.complete() {
			m.answerOldest()
		}
	case "ctrl+o":
		if m.log.toggle(); m.log.open {
			m.notice = "commands and what came of them are shown; Ctrl+O hides them"
		}
	case "esc":
		m.escape()
	case "ctrl+c":
		m.interrupt()
	default:
		return false
	}
	return true
}

// scrolls scrolls the history by a key, and reports whether the key does.
func (m *model) scrolls(key string) bool {
	page := max(m.log.height-1, 1)
	switch key {
	case "pgup":
		m.log.scroll(-page)
	case "pgdown":
		m.log.scroll(page)
	case "ctrl+end":
		m.log.end()
	default:
		return false
	}
	return true
}

// recalls puts what was sent before, or after, into the input: by Up in its first row, and by Down in its last.
func (m *model) recalls(key string) bool {
	row := m.in.LineInfo()
	atTop := m.in.Line() == 0 && row.RowOffset == 0
	atEnd := m.in.Line() == m.in.LineCount()-1 && row.RowOffset >= row.Height-1
	switch {
	case key == "up" && atTop:
		m.setInput(m.typed.previous(m.in.Value()))
	case key == "down" && atEnd:
		m.setInput(m.typed.next(m.in.Value()))
	default:
		return false
	}
	return true
}

// complete completes a command, the room behind /room, or the name behind an @. It reports false where the input has
// nothing to complete.
func (m *model) complete() bool {
	typed := m.in.Value()
	var all []string
	at := strings.LastIndexAny(typed, " \n@")
	switch {
	case at >= 0 && typed[at] == '@':
		for _, name := range names(m.agents) {
			all = append(all, typed[:at+1]+name)
		}
	case !strings.HasPrefix(typed, "/"):
		return false
	}
	for _, c := range commands {
		all = append(all, c.name)
	}
	for _, room := range m.rooms {
		all = append(all, "/room "+room)
	}
	for _, whole := range all {
		if whole != typed && strings.HasPrefix(whole, typed) {
			m.setInput(whole)
			break
		}
	}
	return true
}

// setInput replaces the input, with the cursor at its end.
func (m *model) setInput(text string) {
	if text != m.in.Value() {
		if m.in.SetValue(text); strings.Contains(text, "\t") {
			m.in.Reset()
			m.paste(text)
		}
		m.in.MoveToEnd()
		m.in, _ = m.in.Update(nil) // it scrolls to its cursor only in Update
	}
}

// enter acts on the input. An input that makes no sense stays, to be mended.
func (m *model) enter() (cmd tea.Cmd) {
	command, text := understand(m.input())
	switch command {
	case "":
		if strings.TrimSpace(text) != "" {
			m.send(text)
		}
	case "/quit":
		return tea.Quit
	case "/help":
		m.note(help())
	case "/room":
		if !m.goTo(text) {
			return nil
		}
	default:
		if cmd = m.run(command, text); cmd == nil {
			return nil
		}
	}
	m.clearInput()
	return cmd
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
	if strings.TrimSpace(m.in.Value()) != "" {
		m.clearInput()
		m.notice = "cleared (Up brings it back)"
		return
	}
	m.leaving = true
	m.notice = "Ctrl+C again leaves"
	if m.busy() {
		m.notice += "; Esc stops the agent's turn"
	}
}

// goTo looks at a room, and reports whether it did.
func (m *model) goTo(room string) bool {
	if room == "" {
		m.note("Rooms: " + strings.Join(m.rooms, ", "))
		return true
	}
	if !chat.ValidRoom(room) {
		m.notice = "no room can be called " + oneLine(room) + ": use a-z, 0-9, _ and -"
		return false
	}
	m.room, m.roomErr = room, nil
	m.stopped, m.answers = false, ""
	m.log.reset(nil)
	m.do(request{room: room})
	return true
}

// understand takes one input apart. A line that starts with a slash is a command
// of the screen and its argument; a second slash or a space in front makes it
// text. Without a command, all is text for the room: also what the agent's harness
// obeys, which travels through the room like any line.
func understand(input string) (command, text string) {
	text = strings.TrimRight(input, " \t\r\n")
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		text = "/" + rest
		if forHarness(text) {
			text = " " + text // else it would act
		}
		return "", text
	}
	isCommand := strings.HasPrefix(text, "/") && !strings.Contains(text, "\n")
	if !isCommand || forHarness(text) {
		return "", text
	}
	command, text, _ = strings.Cut(text, " ")
	return command, strings.TrimSpace(text)
}

func forHarness(text string) bool {
	name, _ := chat.Command(chat.Line{Text: text})
	return name != ""
}

// maxInput bounds the bytes of the input, and of the output of a command. Each key lays all of the input out anew.
const maxInput = 64 << 10

// typed has the inputs that were sent, oldest first, and the place of the cursor keys among them.
type typed struct {
	lines []string
	at    int    // len(lines) is the draft
	draft string // what was being typed before going back
}

func (t *typed) add(text string) {
	n := len(t.lines)
	repeated := n > 0 && t.lines[n-1] == text
	worthIt := strings.TrimSpace(text) != "" && len(text) <= maxInput
	if worthIt && !repeated {
		t.lines = append(t.lines, text)
	}
	t.at, t.draft = len(t.lines), ""
}

// previous and next return the text to show in place of the current one.
func (t *typed) previous(current string) string {
	if t.at == 0 {
		return current
	}
	if t.at == len(t.lines) {
		t.draft = current
	}
	t.at--
	return t.lines[t.at]
}

func (t *typed) next(current string) string {
	if t.at == len(t.lines) {
		return current
	}
	if t.at++; t.at == len(t.lines) {
		return t.draft
	}
	return t.lines[t.at]
}
