package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lethe/chat"
	"lethe/internal/status"
)

// question is one that is open in the viewed room, and who asks it.
type question struct {
	status.Question
	by string
}

// questions are those of the viewed room that this person may answer, oldest first.
func (m *model) questions() (all []question) {
	for _, a := range m.agents {
		for _, q := range a.Questions {
			if q.Room == m.room && (len(q.For) == 0 || slices.Contains(q.For, m.cfg.User)) {
				all = append(all, question{q, oneLine(a.Name)})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y question) int { return x.Asked.Compare(y.Asked) })
	return all
}

// answering is the question that Tab has opened, while it is open and there are rows for it.
func (m *model) answering() (q question, ok bool) {
	all := m.questions()
	i := slices.IndexFunc(all, func(q question) bool { return q.ID == m.answers })
	if i < 0 || m.menuHeight() < 2 {
		return q, false
	}
	return all[i], true
}

// answerNext opens the oldest question, or the one behind that which is open. One without options
// is answered in the input.
func (m *model) answerNext() {
	all := m.questions()
	if len(all) == 0 {
		m.notice = "nobody asks you anything in " + m.room
		return
	}
	i := slices.IndexFunc(all, func(q question) bool { return q.ID == m.answers })
	q := all[(i+1)%len(all)]
	m.leaveQuestion()
	m.answers, m.item = q.ID, 0
	if m.in.Value() == "" && (len(q.Options) == 0 || m.menuHeight() < 2) {
		m.setInput(q.ID + " ")
	}
}

// leaveQuestion leaves the question open. What Tab has put into the input goes with it.
func (m *model) leaveQuestion() {
	if strings.TrimSpace(m.in.Value()) == m.answers {
		m.in.Reset()
	}
	m.answers = ""
}

// waiting says that somebody waits for an answer here.
func (m *model) waiting() string {
	all := m.questions()
	if _, open := m.answering(); open || len(all) == 0 {
		return ""
	}
	what := "Tab answers "
	if len(all) > 1 {
		what = fmt.Sprintf("Tab answers the oldest of %d questions, ", len(all))
	}
	return what + all[0].by + ": " + oneLine(all[0].Text) + since(all[0].Asked, m.now())
}

// howToAnswer tells how to answer where there are no keys for it.
func howToAnswer(l message) string {
	q, ok := chat.ParseQuestion(l.Text)
	switch {
	case !ok || !l.Agent:
		return ""
	case len(q.Options) == 0:
		return "(to answer, write: " + q.ID + " and your answer)"
	}
	return "(to answer, write: " + q.ID + " " + q.Options[0] + ")"
}

// A command of a chat: its name, what it takes and what it does.
type command struct{ name, args, what string }

var commands = []command{
	{"/stop", "", "stop the agent's turn"},
	{"/status", "", "ask the agent's harness how it is"},
	{"/room", "NAME", "look at another room"},
	{"/rooms", "", "choose a room from all there are"},
	{"/jobs", "[stop N]", "list the commands that go on beside the talk; stop one"},
	{"/budget", "[+2 today]", "what was spent; two dollars more for today"},
	{"/model", "NAME", "change the model"},
	{"/forget", "eA..eB", "let entries fade now"},
	{"/help", "", "keys and commands"},
	{"/quit", "", "leave; a daemon goes on"},
}

// item is a row of the menu over the input.
type item struct {
	input string // what it makes of the input
	more  bool   // an argument has to follow
	label string
	what  string
}

// items lists the menu: the options of the question that is being answered, commands, or rooms behind /room.
func (m *model) items() (all []item) {
	if q, ok := m.answering(); ok {
		for i, option := range q.Options {
			all = append(all, item{input: q.ID + " " + option, label: fmt.Sprintf("%d  %s", i+1, oneLine(option))})
		}
		return all
	}
	input := m.in.Value()
	if !strings.HasPrefix(input, "/") || strings.Contains(input, "\n") {
		return nil
	}
	if start, ok := strings.CutPrefix(input, "/room "); ok {
		for _, room := range m.rooms {
			if strings.Contains(room, strings.TrimLeft(start, " ")) {
				what := cmp.Or(strings.Join(names(listeners(m.agents, room, "")), ", "), "nobody listens")
				all = append(all, item{input: "/room " + room, label: room, what: what})
			}
		}
		return all
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, input) {
			more := c.args != "" && c.args[0] != '['
			all = append(all, item{c.name, more, strings.TrimSpace(c.name + " " + c.args), c.what})
		}
	}
	return all
}

func (m *model) menuHeight() int { return m.height/2 - 1 }

// menu acts on a key while the menu is open, and reports false of one that is not for it.
func (m *model) menu(k tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	items := m.items()
	_, asked := m.answering()
	key := k.String()
	if asked && key == "esc" {
		m.leaveQuestion()
		return nil, true
	}
	if len(items) == 0 || asked && key == "tab" {
		return nil, false
	}
	m.item = min(m.item, len(items)-1)
	i := items[m.item]
	switch {
	case key == "up":
		m.item = max(m.item-1, 0)
	case key == "down":
		m.item = min(m.item+1, len(items)-1)
	case key == "esc":
		m.in.Reset()
	case asked && len(key) == 1 && key[0] >= '1' && int(key[0]-'0') <= len(items):
		m.item = int(key[0] - '1')
	case asked && key == "enter":
		m.send(i.input)
		m.answers = ""
	case key == "tab", key == "enter":
		m.item = 0
		m.setInput(i.input)
		if i.more {
			m.setInput(i.input + " ")
		} else if key == "enter" {
			cmd = m.enter()
		}
	default:
		if k.Text != "" { // something is being written
			m.item, m.answers = 0, ""
		}
		return nil, false
	}
	return cmd, true
}

// menuRows show the menu, and the question that it answers, in at most n rows: the chosen item always.
func (m *model) menuRows(n int) (rows []string) {
	items := m.items()
	hint := ""
	if q, asked := m.answering(); asked {
		hint = " Enter sends what you write"
		if len(items) > 0 {
			hint = " ↑ ↓ or a number, Enter answers · Esc leaves it"
		}
		if len(m.questions()) > 1 {
			hint += " · Tab: the next question"
		}
		text := wrap(q.by+" asks: "+clean(q.Text), m.width-2)
		if room := max(n-1-len(items), 1); len(text) > room {
			text = append(text[:room-1:room-1], text[room-1]+" …")
		}
		for _, row := range text {
			rows = append(rows, " "+bold.Render(row))
		}
	}
	wide := 0
	for _, i := range items {
		wide = max(wide, min(lipgloss.Width(i.label), m.width/2))
	}
	shown := max(min(n-len(rows), len(items)), 0)
	at := min(m.item, len(items)-1)
	first := max(0, min(at-shown/2, len(items)-shown))
	for j, i := range items[first : first+shown] {
		label := fit(i.label, max(wide, m.width/2))
		label += strings.Repeat(" ", max(wide-lipgloss.Width(label), 0))
		row := "   " + label + "  " + dim.Render(i.what)
		if first+j == at {
			row = accent.Render(" ❯ "+label) + "  " + i.what
		}
		rows = append(rows, row)
	}
	if hint != "" && len(rows) < n {
		rows = append(rows, dim.Render(hint))
	}
	return rows[:min(len(rows), max(n, 0))]
}
