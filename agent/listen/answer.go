package listen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/part"
	"lethe/agent/wake"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/life/event"
	"lethe/mind"
)

// answers returns the open question that a line answers, and the choice; the intake gets the questions that the line
// leaves open. Without the id, a line counts only if it is the first there that this person has said since the
// question: a later one may be meant for something else. To refuse an approval harms nobody.
func (l *Listener) answers(in *intake, line chat.Line) (answered mind.Question, choice string, ok bool) {
	if line.From < l.State.Rooms[in.room].Stopped && !in.moved {
		return answered, "", false
	}
	var open, cite []string
	for _, question := range l.State.Questions {
		choice, fit := l.State.Fits(question, line, in.moved, l.conf.People)
		if question.Room != in.room || fit == mind.Apart {
			continue
		}
		cites := fit == mind.Clear
		if !cites && line.From < l.progress(question.Room).history {
			continue
		}
		switch {
		case cites, fit == mind.Bare && !chat.SaidBy(l.Path(question.Room), line.Name, question.After, line.From):
			return question, choice, true
		case choice != "":
			cite = append(cite, question.ID+" "+choice)
		}
		open = append(open, fmt.Sprintf("%s (%s)", question.ID, blobs.Gist(question.Text)))
	}
	for _, id := range open {
		if !slices.Contains(in.open, id) {
			in.open = append(in.open, id)
		}
	}
	in.cite = append(in.cite, cite...)
	return answered, "", false
}

// leftOpen notes the questions that lines have left open: before them for the identity, behind them for people.
func (l *Listener) leftOpen(in *intake) (before, after []part.Record) {
	text := strings.Join(in.open, ", ") + " is still open."
	open, cite := in.open, in.cite
	in.open, in.cite = nil, nil
	if len(open) == 0 {
		return nil, nil
	}
	if len(cite) > 0 {
		say := "If that is an answer, write: " + strings.Join(slices.Compact(cite), ", ")
		told := event.Error{What: "answer", Text: text, Notice: l.Notice(say, in.room)}
		after = []part.Record{{Event: told}}
		text += " To what follows, people are told: " + say
	}
	return []part.Record{part.Noted("open", text, text)}, after
}

// takeAnswer makes an entry of a line that answers a question, and commits it. A call that the line approves is in
// State.Approved then, and the loop runs it. taken is false for any other line.
func (l *Listener) takeAnswer(in *intake, batch chat.Batch, i int) (taken bool, err error) {
	line := batch.Lines[i]
	if _, _, ok := l.answers(in, line); !ok {
		return false, nil
	}
	l.endRun(in, batch.After(i)) // somebody else may have asked something before it
	if err := l.commitEntries(in); err != nil {
		return false, err
	}
	question, choice, ok := l.answers(in, line)
	if !ok {
		return false, nil
	}
	in.run = append(in.run, line)
	in.over = false
	l.endRun(in, batch.After(i+1))
	e := &in.entries[len(in.entries)-1].event
	e.Answers, e.Choice, e.Asleep = question.ID, choice, false
	if err := l.commitEntries(in); err != nil {
		return true, err
	}
	return true, l.remind(question.Call)
}

// remind hints at where people were asked, if that has faded.
func (l *Listener) remind(call string) error {
	n, _, _ := mind.ParseID(call)
	r := l.State.FadedAt(n)
	if r.Level == "" {
		return nil
	}
	return l.thinker.Hint("answer", []recall.Hit{{Hash: r.Original.Hash, Gist: r.Original.Gist, From: r.From, To: r.To}})
}

// expireQuestions tells of questions that were not answered in time. What stands in the room unheard may be an answer.
func (l *Listener) expireQuestions(now time.Time) (out []part.Record) {
	for _, question := range l.State.Questions {
		room := l.wakeView().HeardFor(question.Room)
		late := !question.Until.IsZero() && !now.Before(question.Until)
		if !late || room == "" {
			continue
		}
		if l.hasUnread(question.Room) {
			continue
		}
		const unanswered = "nobody answered %s by %s, which is no consent: %s"
		text := fmt.Sprintf(unanswered, question.ID, question.Until.Format(time.RFC3339), blobs.Gist(question.Text))
		out = append(out, l.Triggers.Fire(event.Fired{By: mind.Deadline + question.ID}, text, question.Until, room))
	}
	return out
}

// hasUnread reports whether a room that is heard holds lines that are still to be heard.
func (l *Listener) hasUnread(room string) bool {
	if r := l.State.Rooms[room]; r == nil || !r.Joined {
		return false
	}
	batch, err := chat.Read(l.Path(room), l.cursor(room), 1<<20)
	return err == nil && len(batch.Lines) > 0
}

// nextDeadline is the time at which the next question is overdue; zero without one.
func (l *Listener) nextDeadline() (at time.Time) {
	if len(l.Joined()) == 0 {
		return at
	}
	for _, q := range l.State.Questions {
		at = wake.Sooner(at, q.Until)
	}
	return at
}
