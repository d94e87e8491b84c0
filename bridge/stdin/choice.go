package stdin

import (
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

// choice is the question that is being answered, and the option that is chosen.
type choice struct {
	id string
	at int
}

// questions are those of the viewed room that this person may answer, oldest first.
func (m *model) questions() (all []question) {
	for _, a := range m.agents {
		for _, q := range a.Questions {
			if q.Room == m.room && (len(q.For) == 0 || slices.Contains(q.For, m.cfg.User)) {
				all = append(all, question{q, a.Name})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y question) int { return x.Asked.Compare(y.Asked) })
	return all
}

// choosing is the question that is being answered, while it is open and there are rows for it.
func (m *model) choosing() (q question, ok bool) {
	for _, q := range m.questions() {
		if q.ID == m.choice.id && m.choiceHeight() >= 2 {
			return q, true
		}
	}
	return q, false
}

func (m *model) choiceHeight() int { return m.height/2 - 1 }

// answerNext opens the oldest question, or the one behind that which is open. One without options
// is answered in the input.
func (m *model) answerNext() {
	all := m.questions()
	if len(all) == 0 {
		m.notice = "nobody asks you anything in " + m.room
		return
	}
	i := slices.IndexFunc(all, func(q question) bool { return q.ID == m.choice.id })
	q := all[(i+1)%len(all)]
	m.leaveChoice()
	m.choice.id = q.ID
	if _, rest, _ := strings.Cut(m.in.Value(), " "); rest == "" && (len(q.Options) == 0 || m.choiceHeight() < 2) {
		m.setInput(q.ID + " ")
	}
}

// leaveChoice leaves the question open. What Tab has put into the input goes with it.
func (m *model) leaveChoice() {
	if strings.TrimSpace(m.in.Value()) == m.choice.id {
		m.in.Reset()
	}
	m.choice = choice{}
}

// choose acts on a key while a question is open, and reports false of one that is not for it.
func (m *model) choose(k tea.KeyPressMsg) bool {
	q, ok := m.choosing()
	if !ok {
		return false
	}
	switch key := k.String(); {
	case key == "esc":
		m.leaveChoice()
	case len(q.Options) == 0:
		return false
	case key == "up" || key == "left":
		m.choice.at = max(m.choice.at-1, 0)
	case key == "down" || key == "right":
		m.choice.at = min(m.choice.at+1, len(q.Options)-1)
	case len(key) == 1 && key[0] >= '1' && int(key[0]-'0') <= len(q.Options):
		m.choice.at = int(key[0] - '1')
	case key == "enter" || key == "ctrl+m":
		m.send(q.ID + " " + q.Options[min(m.choice.at, len(q.Options)-1)])
		m.choice = choice{}
	default:
		if k.Text != "" { // something is being written
			m.choice = choice{}
		}
		return false
	}
	return true
}

// choiceRows show the question that is being answered, in at most n rows: the chosen option always.
func (m *model) choiceRows(n int) (rows []string) {
	q, ok := m.choosing()
	if !ok || n < 2 {
		return nil
	}
	how := " Enter sends what you write"
	if len(q.Options) > 0 {
		how = " ↑ ↓ or a number, Enter answers · Esc leaves it"
	}
	if len(m.questions()) > 1 {
		how += " · Tab: the next question"
	}
	text := wrap(oneLine(q.by)+" asks: "+clean(q.Text), m.width-2)
	room := max(n-1-len(q.Options), 1) // for the text
	if len(text) > room {
		text = append(text[:room-1:room-1], text[room-1]+" …")
	}
	for _, row := range text {
		rows = append(rows, " "+bold.Render(row))
	}
	first := max(0, min(m.choice.at-(n-len(rows)-1)/2, len(q.Options)-(n-len(rows)-1)))
	for i, option := range q.Options {
		row := fmt.Sprintf("   %d  %s", i+1, oneLine(option))
		if i == m.choice.at {
			row = accent.Render(fmt.Sprintf(" ❯ %d  %s", i+1, oneLine(option)))
		}
		if i >= first && len(rows) < n-1 || i == m.choice.at && len(rows) < n {
			rows = append(rows, row)
		}
	}
	if len(rows) < n {
		rows = append(rows, dim.Render(how))
	}
	return rows
}

// asked says that somebody waits for an answer here.
func (m *model) asked() string {
	all := m.questions()
	if _, open := m.choosing(); open || len(all) == 0 {
		return ""
	}
	what := "Tab answers "
	if len(all) > 1 {
		what = fmt.Sprintf("Tab answers the oldest of %d questions, ", len(all))
	}
	return what + oneLine(all[0].by) + ": " + oneLine(all[0].Text) + since(all[0].Asked, m.now())
}

// howToAnswer is what to write where there are no keys for it.
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
	{"/room", "NAME", "look at another room, or at an agent"},
	{"/rooms", "", "choose a room or an agent from all there are"},
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

// items are what the menu offers for the input: commands, or what can stand behind /room.
func (m *model) items() (all []item) {
	input := m.in.Value()
	if !strings.HasPrefix(input, "/") || strings.Contains(input, "\n") {
		return nil
	}
	if start, ok := strings.CutPrefix(input, "/room "); ok {
		for _, i := range m.targets() {
			if strings.Contains(i.label+" "+i.what, strings.TrimLeft(start, " ")) {
				all = append(all, i)
			}
		}
		return all
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, input) {
			all = append(all, item{c.name, c.args != "" && c.args[0] != '[', strings.TrimSpace(c.name + " " + c.args), c.what})
		}
	}
	return all
}

// targets are the rooms of the home, with who hears each, and the agents that run.
func (m *model) targets() (all []item) {
	for _, room := range m.rooms {
		var names []string
		for _, a := range listeners(m.agents, room, m.cfg.Self) {
			names = append(names, oneLine(a.Name))
		}
		what := "nobody listens"
		if names != nil {
			what = strings.Join(names, ", ")
		}
		all = append(all, item{input: "/room " + room, label: room, what: what})
	}
	for _, a := range m.agents {
		if len(a.Rooms) > 0 {
			name := "@" + oneLine(a.Name)
			all = append(all, item{input: "/room " + name, label: name, what: oneLine(a.State) + ", in " + oneLine(strings.Join(a.Rooms, ", "))})
		}
	}
	return all
}

// chooseTarget opens the menu of targets.
func (m *model) chooseTarget() { m.setInput("/room "); m.item = 0 }

// menu acts on a key while the menu is open, and reports false of one that is not for it.
func (m *model) menu(k tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	items := m.items()
	if len(items) == 0 {
		m.item = 0
		return nil, false
	}
	m.item = min(m.item, len(items)-1)
	i := items[m.item]
	switch k.String() {
	case "up":
		m.item = max(m.item-1, 0)
	case "down":
		m.item = min(m.item+1, len(items)-1)
	case "esc":
		m.in.Reset()
	case "tab", "enter", "ctrl+m":
		m.setInput(i.input)
		switch {
		case i.more:
			m.setInput(i.input + " ")
		case k.String() != "tab":
			cmd = m.enter()
		}
		m.item = 0
	default:
		if k.Text != "" {
			m.item = 0
		}
		return nil, false
	}
	return cmd, true
}

// menuRows show the menu in at most n rows: the chosen item always.
func (m *model) menuRows(n int) (rows []string) {
	items := m.items()
	n = min(n, len(items))
	if n <= 0 {
		return nil
	}
	wide := 0
	for _, i := range items {
		wide = max(wide, min(lipgloss.Width(i.label), m.width/2))
	}
	at := min(m.item, len(items)-1)
	first := max(0, min(at-n/2, len(items)-n))
	for j, i := range items[first : first+n] {
		label := fit(i.label, wide)
		label += strings.Repeat(" ", wide-lipgloss.Width(label))
		row := "   " + label + "  " + dim.Render(i.what)
		if first+j == at {
			row = accent.Render(" ❯ "+label) + "  " + i.what
		}
		rows = append(rows, row)
	}
	return rows
}

// complete finishes the name of a person or an agent that the input ends with, if it is the only one.
func (m *model) complete() bool {
	input := m.in.Value()
	start := input[strings.LastIndexAny(input, " \n@")+1:]
	var names []string
	for _, a := range m.here() {
		names = append(names, oneLine(a.Name))
	}
	for _, b := range m.log.blocks {
		names = append(names, oneLine(b.Name))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, start) })
	slices.Sort(names)
	if names = slices.Compact(names); start == "" || len(names) == 0 {
		return false
	}
	if len(names) > 1 {
		m.notice = strings.Join(names, ", ")
		return true
	}
	m.setInput(input + strings.TrimPrefix(names[0], start))
	return true
}
