package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/life/event"
	"lethe/mind"
)

// Questions to people: those of WAIT, and those before calls that people are to approve.

// intents records what comes before calls that are still to be made, in order: a call that people
// are to approve is not run, and has its question and its result; then comes the intent of the
// first that runs now.
func (a *Agent) intents(pending []mind.Pending, sole bool) (records []record) {
	var asked []string // calls, in these records
	for _, p := range pending {
		c := a.asHooked(p)
		args := blobs.Unescape(c.Args)
		exact := mind.ExactCall(c.Tool, args)
		if !a.waits(p) {
			in := a.intendAsHooked(p, c, sole)
			a.call.intent = in
			e := record{Event: event.Call{ID: p.ID(), Tool: c.Tool, Child: in.child, Posting: in.line.Posting}, Texts: in.files}
			if in.replaced != "" {
				e.Texts = []body{{Gist: "arguments of " + p.ID() + " as a hook replaced them", Data: []byte(in.replaced)}}
			}
			records = append(records, e)
			if in.err == nil && in.asks.Call != "" {
				records = append(records, a.ask(in.asks))
			}
			return records
		}
		room, text := a.whereToAsk(), askedFirst
		switch _, twice := a.state.Asked("", exact); {
		case twice || slices.Contains(asked, exact):
		case room == "" || len(a.cfg.People) == 0:
			text = "Not run: people have to approve this call, and there is no room or nobody to ask."
		case len(a.state.Questions)+len(asked) >= mind.MaxQuestions:
			text = fmt.Sprintf(
				"Not run: people have to approve this call, and %d questions are open already. Wait for answers.",
				mind.MaxQuestions,
			)
		default:
			k := mind.Ask{Call: p.ID(), Room: room, Tool: c.Tool, Args: args, Text: a.call.hooked[p.ID()].Reason, Codes: true}
			records, asked = append(records, a.ask(k)), append(asked, exact)
		}
		records = append(records, a.result(p, event.Result{Status: mind.NotStarted}, []byte(text)))
	}
	return records
}

// waits reports whether people have to approve a call before it is run.
func (a *Agent) waits(p mind.Pending) bool {
	c := a.asHooked(p)
	hooked := a.call.hooked[p.ID()]
	args := argsOf(c)
	return c.Original == "" && c.Tool != "WAIT" && !hooked.Deny && (hooked.Ask || a.tools.Asks(c.Tool, args)) &&
		!slices.Contains(a.state.Always, mind.ExactCall(c.Tool, string(args)))
}

const askedFirst = "People are asked first, in the room you are answering. End your turn: their answer comes in as an entry, and then the output. Do not call it again before."

// approvalTime is how long people may approve a call unless Config.AskTime says so. Then it is declined.
const approvalTime = 7 * 24 * time.Hour

// ask records a question.
func (a *Agent) ask(k mind.Ask) record {
	k.Self, k.At = a.id.Self, time.Now().UTC()
	if k.Tool != "" {
		k.Until = k.At.Add(cmp.Or(a.cfg.AskTime, approvalTime)).Truncate(time.Second)
	}
	return journal.Told(event.Asked{Call: k.Call, Posting: a.posting(a.notify(k.Room)...)}, k.Gist(), k.Encode())
}

// whereToAsk is the room where the identity is answering, or one that it hears.
func (a *Agent) whereToAsk() string {
	for _, room := range append(a.audience(), a.company()...) {
		return room
	}
	return ""
}

// question returns what people are asked, or why they cannot be. sole says that its call is the only one of its reply.
func (a *Agent) question(call string, w tools.Question, sole bool) (k mind.Ask, err error) {
	w.Room = cmp.Or(w.Room, a.whereToAsk())
	unknown := slices.IndexFunc(w.For, func(name string) bool {
		return !slices.Contains(a.cfg.People, name) && !chat.SaidBy(a.path(w.Room), name, 0, -1)
	})
	switch {
	case !sole:
		err = errors.New("WAIT has to be the only call of its reply. Make the other calls first, then call it alone")
	case !slices.Contains(a.joined(), w.Room):
		err = fmt.Errorf("you are not in room %q; you are in %v", w.Room, a.joined())
	case len(a.state.Questions) >= mind.MaxQuestions:
		err = fmt.Errorf("%d questions are open already; wait for answers", mind.MaxQuestions)
	case unknown >= 0:
		err = fmt.Errorf(
			"for: nobody in room %s knows %q, who never spoke there; give names as they stand in the tags of lines",
			w.Room,
			w.For[unknown],
		)
	case w.Room != a.whereToAsk() && a.tools.MaySay(w.Room, w.Text) != nil:
		err = a.tools.MaySay(w.Room, w.Text)
	case len(w.For)+len(a.cfg.People) == 0:
		err = errors.New("nobody may answer: people in config.toml is empty; say for whom it is")
	}
	if err != nil {
		err = fmt.Errorf("not done: %w", err)
	}
	return mind.Ask{Call: call, Room: w.Room, Text: w.Text, Options: w.Options, For: w.For, Until: w.Until}, err
}

func askedText(q mind.Question) string {
	return fmt.Sprintf(
		"It is %s in room %s. Your turn ends here; the answer comes in as an entry that cites the question.",
		q.ID,
		q.Room,
	)
}

// answers returns the open question that a line answers, and the choice; the intake gets what the line leaves open.
// Without the id, a line counts while who says it has said nothing else there since the question was asked: it may be
// meant for something else. To refuse an approval harms nobody.
func (a *Agent) answers(in *intake, l chat.Line) (answered mind.Question, choice string, ok bool) {
	if l.From < a.state.Rooms[in.room].Stopped && !in.moved {
		return answered, "", false
	}
	var open, cite []string
	for _, q := range a.state.Questions {
		choice, fit := a.state.Fits(q, l, in.moved, a.cfg.People)
		switch {
		case q.Room != in.room || fit == mind.Apart || fit != mind.Clear && l.From < a.io(q.Room).history:
			continue
		case fit == mind.Clear || fit == mind.Bare && !chat.SaidBy(a.path(q.Room), l.Name, q.After, l.From):
			return q, choice, true
		case choice != "":
			cite = append(cite, q.ID+" "+choice)
		}
		open = append(open, fmt.Sprintf("%s (%s)", q.ID, blobs.Gist(q.Text)))
	}
	for _, id := range open {
		if !slices.Contains(in.open, id) {
			in.open = append(in.open, id)
		}
	}
	in.cite = append(in.cite, cite...)
	return answered, "", false
}

// leftOpen records what lines have left open: for the identity, before them, and for who may have meant it.
func (a *Agent) leftOpen(in *intake) (before, after []record) {
	text := strings.Join(in.open, ", ") + " is still open."
	open, cite := in.open, in.cite
	in.open, in.cite = nil, nil
	if len(open) == 0 {
		return nil, nil
	}
	if len(cite) > 0 {
		say := "If that is an answer, write: " + strings.Join(slices.Compact(cite), ", ")
		told := event.Error{What: "answer", Text: text, Notice: a.notice(say, in.room)}
		after = []record{{Event: told}}
		text += " To what follows, people are told: " + say
	}
	return []record{noted("open", text, text)}, after
}

// takeAnswer makes an entry of a line that answers a question, and commits it. It is false for any
// other line.
func (a *Agent) takeAnswer(in *intake, batch chat.Batch, i int) (taken bool, err error) {
	l := batch.Lines[i]
	if _, _, ok := a.answers(in, l); !ok {
		return false, nil
	}
	a.endRun(in, batch.After(i)) // somebody else may have asked something in what stands before it
	if err := a.commitEntries(in); err != nil {
		return false, err
	}
	q, choice, ok := a.answers(in, l)
	if !ok {
		return false, nil
	}
	in.run = append(in.run, l)
	in.over = false
	a.endRun(in, batch.After(i+1))
	e := &in.entries[len(in.entries)-1].event
	e.Answers, e.Choice, e.Asleep = q.ID, choice, false
	if err := a.commitEntries(in); err != nil {
		return true, err
	}
	return true, a.remind(q.Call)
}

// remind hints at where people were asked, if that has faded.
func (a *Agent) remind(call string) error {
	n, _, _ := mind.ParseID(call)
	r := a.state.FadedAt(n)
	if r.Level == "" {
		return nil
	}
	return a.thinker.hint("answer", []recall.Hit{{Hash: r.Original.Hash, Gist: r.Original.Gist, From: r.From, To: r.To}})
}

// lateAnswers tells of questions that were not answered in time. What stands in the room unheard may be an answer.
func (a *Agent) lateAnswers(now time.Time) (out []record) {
	for _, q := range a.state.Questions {
		room := a.wakeView().HeardFor(q.Room)
		if q.Until.IsZero() || now.Before(q.Until) || room == "" {
			continue
		}
		if r := a.state.Rooms[q.Room]; r != nil && r.Joined {
			if batch, err := chat.Read(a.path(q.Room), a.cursor(q.Room), 1<<20); err == nil && len(batch.Lines) > 0 {
				continue
			}
		}
		const late = "nobody answered %s by %s, which is no consent: %s"
		text := fmt.Sprintf(late, q.ID, q.Until.Format(time.RFC3339), blobs.Gist(q.Text))
		out = append(out, a.triggers.Fire(event.Fired{By: mind.Deadline + q.ID}, text, q.Until, room))
	}
	return out
}

// nextDeadline is when the next question is overdue.
func (a *Agent) nextDeadline() (at time.Time) {
	if len(a.joined()) == 0 {
		return at
	}
	for _, q := range a.state.Questions {
		at = wake.Sooner(at, q.Until)
	}
	return at
}

// runApproved runs the next call that people have approved, and reports whether there was one.
func (a *Agent) runApproved(ctx context.Context) (ran bool, err error) {
	if len(a.state.Approved) == 0 || a.stopReason(ctx) != "" || !a.thinker.canRecord() {
		return false, nil
	}
	q := a.state.Approved[0]
	c, err := a.approved(q)
	if err != nil {
		return false, err
	}
	in := a.intend(q.ID, c, false)
	run := event.Run{ID: q.ID, Tool: c.Tool, Child: in.child, Notice: in.line}
	if err := a.commit(record{Event: run, Texts: in.files}); err != nil {
		return false, err
	}
	a.call.share = a.thinker.batchChars()
	o, err := a.runTool(ctx, in, q.ID, c, q.Room)
	if err != nil {
		return false, err
	}
	return true, a.runEnd(q, o)
}

// approved reads the call that people have approved, to the byte.
func (a *Agent) approved(q mind.Question) (*mind.Call, error) {
	b, err := a.store.Get(q.Ref.Hash)
	if err != nil {
		return nil, home.ReadError(err)
	}
	k, err := mind.DecodeAsk(b.Body)
	return &mind.Call{Tool: k.Tool, Args: blobs.Escape(k.Args)}, err
}

// runEnd records what became of an approved call.
func (a *Agent) runEnd(q mind.Question, o outcome) error {
	gist := fmt.Sprintf("approved %s: %s", q.Tool, blobs.Gist(string(o.Body[:min(len(o.Body), 1000)])))
	e := event.Note{Why: "run", Run: q.ID, Status: o.state, File: o.file, Job: o.Job}
	return a.commit(journal.Told(e, gist, o.Body, o.kept...))
}

// settleRun ends an approved call that was running when the daemon died. It is never run twice.
func (a *Agent) settleRun() error {
	if len(a.state.Approved) == 0 || !a.state.Approved[0].Began {
		return nil
	}
	q := a.state.Approved[0]
	c, err := a.approved(q)
	if err != nil {
		return err
	}
	return a.runEnd(q, a.cutShort(q.ID, c, a.speaksIn()))
}

// questions are what people are asked, for the status.
func (a *Agent) questions() (out []status.Question) {
	for _, q := range a.state.Questions {
		out = append(out, status.Question{Question: q.Question, Room: q.Room, Asked: q.Asked})
	}
	return out
}
