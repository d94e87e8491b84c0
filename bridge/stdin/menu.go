package stdin

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

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
