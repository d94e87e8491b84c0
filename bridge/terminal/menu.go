package terminal

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lethe/agent/status"
	"lethe/chat"
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

// answerOldest opens the oldest question. One without options is answered in the input.
func (m *model) answerOldest() {
	all := m.questions()
	if len(all) == 0 {
		m.notice = "nobody asks you anything in " + m.room
		return
	}
	m.answers, m.item = all[0].ID, 0
	if m.in.Value() == "" && (len(all[0].Options) == 0 || m.menuHeight() < 2) {
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

// howToAnswer is the line that tells how to answer where there are no keys for it.
func howToAnswer(l message) string {
	q, ok := chat.ParseQuestion(l.Text)
	if !ok || !l.Agent {
		return ""
	}
	return fmt.Sprintf("\n(to answer, write: %s %s)", q.ID, append(q.Options, "and your answer")[0])
}

// A command of a chat: its name, what it takes and what it does. Those that run a command of the program have that,
// with words that stand for the agent, the room and what was typed.
type command struct{ name, args, what, runs string }

var commands = []command{
	{"/stop", "", "stop the agent's turn", ""},
	{"/status", "", "ask the agent's harness how it is", ""},
	{"/room", "[NAME]", "look at another room; list all there are", ""},
	{"/who", "", "who hears this room", "rooms -- ROOM"},
	{"/context", "", "what the agent has before it, and what that costs", "context --cost -- AGENT"},
	{"/compact", "[WISH]", "have it forget now, and say what to keep or drop", "context --compact -- AGENT TYPED"},
	{"/recall", "QUERY", "search what it has forgotten", "recall -- AGENT TYPED"},
	{"/open", "REF", "show a stored text", "cat -- TYPED"},
	{"/jobs", "", "list the commands that go on beside the talk", ""},
	{"/budget", "[+2 today]", "what was spent; two dollars more for today", ""},
	{"/model", "NAME", "change the model", ""},
	{"/forget", "eA..eB", "let entries fade now", ""},
	{"/help", "", "keys and commands", ""},
	{"/quit", "", "leave; a daemon goes on", ""},
}

// printed is what a command of the program has printed.
type printed string

// run runs a command of the program beside the screen. Its agent is the first that listens here, or the one that the
// screen was opened for.
func (m *model) run(command, typed string) tea.Cmd {
	agent := append(names(m.here()), m.cfg.Self)[0]
	stands := map[string]string{"AGENT": agent, "ROOM": m.room, "TYPED": typed}
	var args []string
	for _, word := range strings.Fields(command) {
		if text, ok := stands[word]; ok {
			word = text
		}
		if word != "" {
			args = append(args, word)
		}
	}
	return func() tea.Msg { return printed(m.cfg.Run(args...)) }
}

func (m *model) menuHeight() int { return m.height/2 - 1 }

// choose acts on a key while a question is open, and reports false of one that is not for it.
func (m *model) choose(k tea.KeyPressMsg) (ok bool) {
	q, asked := m.answering()
	key := k.String()
	if asked && key == "esc" {
		m.leaveQuestion()
		return true
	}
	if !asked || len(q.Options) == 0 {
		return false
	}
	switch {
	case key == "up":
		m.item = max(m.item-1, 0)
	case key == "down":
		m.item = min(m.item+1, len(q.Options)-1)
	case len(key) == 1 && key[0] >= '1' && int(key[0]-'0') <= len(q.Options):
		m.item = int(key[0] - '1')
	case key == "enter":
		m.send(q.ID + " " + q.Options[m.item])
		m.answers = ""
	default:
		if k.Text != "" { // something is being written
			m.answers = ""
		}
		return false
	}
	return true
}

// menuRows show the question that is being answered, in at most n rows: the chosen option always.
func (m *model) menuRows(n int) (rows []string) {
	q, asked := m.answering()
	if !asked {
		return nil
	}
	options := len(q.Options)
	hint := " Enter sends what you write"
	if options > 0 {
		hint = " ↑ ↓ or a number, Enter answers · Esc leaves it"
	}
	text := wrap(q.by+" asks: "+clean(q.Text), m.width-2)
	if room := max(n-1-options, 1); len(text) > room {
		text = append(text[:room-1:room-1], text[room-1]+" …")
	}
	for _, row := range text {
		rows = append(rows, " "+bold.Render(row))
	}
	shown := max(min(n-len(rows), options), 0)
	first := max(0, min(m.item-shown/2, options-shown))
	for i, option := range q.Options[first : first+shown] {
		label := fmt.Sprintf("%d  %s", first+i+1, oneLine(option))
		if first+i == m.item {
			rows = append(rows, accent.Render(" ❯ "+label))
		} else {
			rows = append(rows, "   "+label)
		}
	}
	if len(rows) < n {
		rows = append(rows, dim.Render(hint))
	}
	return rows[:min(len(rows), max(n, 0))]
}
