package terminal

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/agent/status"
	"lethe/chat"
)

// question is an open question of the viewed room, and the agent that asks it.
type question struct {
	status.Question
	by string
}

// questions returns the open questions of the viewed room that this person may answer, oldest first.
func (m *model) questions() (all []question) {
	for _, a := range m.agents {
		for _, q := range a.Questions {
			mayAnswer := len(q.For) == 0 || slices.Contains(q.For, m.cfg.User)
			if q.Room == m.room && mayAnswer {
				all = append(all, question{q, oneLine(a.Name)})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Asked.Before(all[j].Asked) })
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

// answerOldest opens the oldest question. One without options is answered in the input.
func (m *model) answerOldest() {
	all := m.questions()
	if len(all) == 0 {
		m.notice = "nobody asks you anything in " + m.room
		return
	}
	m.answers, m.item = all[0].ID, 0
	inWords := len(all[0].Options) == 0 || m.menuHeight() < 2
	if inWords && m.in.Value() == "" {
		m.setInput(m.answers + " ")
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

// howToAnswer returns a line that explains how to answer a question in words, or "" for another message.
func howToAnswer(l message) string {
	q, ok := chat.ParseQuestion(l.Text)
	if !ok || !l.Agent {
		return ""
	}
	return fmt.Sprintf("\n(to answer, write: %s %s)", q.ID, append(q.Options, "and your answer")[0])
}

// command is a command of a chat. A command that the program runs has its arguments, made of the agent, the room and
// the text that was typed behind it. The other commands are obeyed by the screen or by the agent's harness.
type command struct {
	name, args, what string
	run              func(agent, room, typed string) []string
}

var commands = []command{
	{"/stop", "", "stop the agent's turn", nil},
	{"/status", "", "ask the agent's harness how it is", nil},
	{"/room", "[NAME]", "look at another room; list all there are", nil},
	{"/who", "", "who hears this room", func(_, room, _ string) []string { return []string{"rooms", "--", room} }},
	{"/context", "", "what the agent has before it, and what that costs", func(agent, _, _ string) []string {
		return []string{"context", "--cost", "--", agent}
	}},
	{"/compact", "[WISH]", "have it forget now, and say what to keep or drop", func(agent, _, typed string) []string {
		return []string{"context", "--compact", "--", agent, typed}
	}},
	{"/recall", "QUERY", "search what it has forgotten", func(agent, _, typed string) []string {
		return []string{"recall", "--", agent, typed}
	}},
	{"/open", "REF", "show a stored text", func(_, _, typed string) []string { return []string{"cat", "--", typed} }},
	{"/jobs", "", "list the commands that go on beside the talk", nil},
	{"/budget", "[+2 today]", "what was spent; two dollars more for today", nil},
	{"/model", "NAME", "change the model", nil},
	{"/forget", "eA..eB", "let entries fade now", nil},
	{"/help", "", "keys and commands", nil},
	{"/quit", "", "leave; a daemon goes on", nil},
}

// printed is the output of a command of the program.
type printed string

// run runs a command of the program beside the screen. Its agent is the first that listens here, or else the
// agent of Config. It returns nil, and says why, where the input is no such command.
func (m *model) run(name, typed string) tea.Cmd {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name && c.run != nil })
	if i < 0 {
		m.notice = oneLine(m.in.Value()) + " is no command here: /help lists them, // sends a / as text"
		return nil
	}
	needs := commands[i].args
	optional := needs == "" || strings.HasPrefix(needs, "[")
	if typed == "" && !optional {
		m.notice = name + " needs a " + needs
		return nil
	}
	agent := append(names(m.here()), m.cfg.Self)[0]
	args := slices.DeleteFunc(commands[i].run(agent, m.room, typed), func(arg string) bool { return arg == "" })
	return func() tea.Msg { return printed(m.cfg.Run(args...)) }
}

func (m *model) menuHeight() int { return m.height/2 - 1 }

// choose acts on a key while a question is open, and reports whether the key was for the question.
func (m *model) choose(press tea.KeyPressMsg) (ok bool) {
	open, asked := m.answering()
	key := press.String()
	if asked && key == "esc" {
		m.leaveQuestion()
		return true
	}
	if !asked || len(open.Options) == 0 {
		return false
	}
	number, _ := strconv.Atoi(key) // 0 for another key
	switch {
	case key == "up":
		m.item = max(m.item-1, 0)
	case key == "down":
		m.item = min(m.item+1, len(open.Options)-1)
	case number > 0 && number <= len(open.Options):
		m.item = number - 1
	case key == "enter":
		m.send(open.ID + " " + open.Options[m.item])
		m.answers = ""
	default:
		if press.Text != "" { // something is being written
			m.answers = ""
		}
		return false
	}
	return true
}

// offered returns the commands that begin with what is typed, while nothing else is typed.
func (m *model) offered() (offers []command) {
	typed := m.in.Value()
	_, asked := m.answering()
	isRecalled := m.typed.at < len(m.typed.lines)
	isTyping := !asked && !isRecalled
	if !isTyping || !strings.HasPrefix(typed, "/") {
		return nil
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, typed) {
			offers = append(offers, c)
		}
	}
	return offers
}

// chooseCommand acts on a key while commands are offered, and reports whether the key was for them. Enter takes the
// chosen one, and is left to a command that is typed as a whole.
func (m *model) chooseCommand(key string) bool {
	offers := m.offered()
	if len(offers) == 0 {
		return false
	}
	m.item = min(m.item, len(offers)-1)
	switch key {
	case "up":
		m.item = (m.item + len(offers) - 1) % len(offers)
	case "down":
		m.item = (m.item + 1) % len(offers)
	case "tab":
		m.setInput(offers[m.item].name)
	case "enter", "ctrl+m":
		chosen := offers[m.item].name
		isWhole := chosen == m.in.Value()
		m.setInput(chosen)
		m.item = 0
		return !isWhole
	default:
		m.item = 0
		return false
	}
	return true
}

// menuRows show the question that is being answered, or the commands that are offered, in at most n rows: the chosen one
// always.
func (m *model) menuRows(n int) (rows []string) {
	open, asked := m.answering()
	var labels []string
	hint := ""
	switch offers := m.offered(); {
	case asked:
		rows = m.asks(open, n-1-len(open.Options))
		for i, option := range open.Options {
			labels = append(labels, fmt.Sprintf("%d  %s", i+1, oneLine(option)))
		}
		if hint = " Enter sends what you write"; len(labels) > 0 {
			hint = " ↑ ↓ or a number, Enter answers · Esc leaves it"
		}
	case len(offers) > 0:
		for _, c := range offers {
			labels = append(labels, fmt.Sprintf("%-20s  %s", strings.TrimSpace(c.name+" "+c.args), c.what))
		}
	default:
		return nil
	}
	shown := max(min(n-len(rows), len(labels)), 0)
	first := max(0, min(m.item-shown/2, len(labels)-shown))
	for i, label := range labels[first : first+shown] {
		if first+i == m.item {
			rows = append(rows, accent.Render(" ❯ "+label))
		} else {
			rows = append(rows, "   "+label)
		}
	}
	if len(rows) < n && hint != "" {
		rows = append(rows, dim.Render(hint))
	}
	return rows[:min(len(rows), max(n, 0))]
}

// asks shows the text of a question, in at most n rows but at least in one.
func (m *model) asks(open question, n int) (rows []string) {
	text := wrap(open.by+" asks: "+clean(open.Text), m.width-2)
	if n = max(n, 1); len(text) > n {
		text = append(text[:n-1:n-1], text[n-1]+" …")
	}
	for _, row := range text {
		rows = append(rows, " "+bold.Render(row))
	}
	return rows
}
