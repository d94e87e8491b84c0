package stdin

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

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
