package agent

import (
	"errors"
	"fmt"
	"slices"

	"lethe/agent/journal"
	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// intent is the plan of a call. LIFE has it before the call runs: so a crash repeats nothing.
type intent struct {
	effect    tools.Effect
	err       error        // why it does nothing
	line      event.Notice // that it posts
	files     []part.Body  // of the line
	child     string       // the name of the identity that it makes
	asks      mind.Ask     // the question to people
	withdraws string       // the question that it takes back
	replaced  string       // the arguments that a hook has put in the place of its own
	context   string       // that hooks add to its result
}

// intend plans a call, and refuses one that may not run. sole says that it is the only call of its reply.
func (c *caller) intend(p pending, sole bool) (in intent) {
	if p.call.Original != "" {
		const again = "Call %s again with an object like {\"key\":\"value\"}, " +
			"with newlines and quotes inside strings escaped."
		in.err = fmt.Errorf("the arguments are not one JSON object. %s", fmt.Sprintf(again, p.call.Tool))
		return in
	}
	in.effect, in.err = c.Tools.Intent(p.call.Tool, argsOf(p.call))
	switch e := in.effect.(type) {
	case tools.Post:
		if !slices.Contains(c.speaksIn(), e.Room) {
			const text = "say in room %s: you are not in it; JOIN it first. %s"
			in.err = fmt.Errorf(text, e.Room, tools.ListRooms(c.Joined()))
			break
		}
		c.reach.Know(c.known())
		in.files, in.err = c.Tools.Attach(e.Files, c.ID.Name)
		if in.err == nil {
			in.line = c.Notice(e.Text, chat.Notify(c.View.Notify, e.Text, e.Room)...)
		}
	case tools.Child:
		var room string
		in.child, room, in.err = c.admit(p.id, e)
		if in.err == nil {
			in.line = c.Notice(e.Brief, room)
		}
	case tools.Question:
		if e.Withdraw == "" {
			in.asks, in.err = c.question(p.id, e, sole)
			break
		}
		q, open := c.State.Asked(e.Withdraw, "")
		in.withdraws = q.ID
		if !open {
			in.err = fmt.Errorf("not done: no question %s is open; it may have been answered", e.Withdraw)
		}
	}
	return in
}

// perform carries out a plan that LIFE has fixed, and returns a sentence about the outcome.
func (c *caller) perform(id string, in intent) (said string, err error) {
	if in.err != nil {
		return "", in.err
	}
	switch e := in.effect.(type) {
	case tools.Post:
		err := c.outbox.PostOwed()
		return c.outbox.SaidIn(id, e.Room), err
	case tools.Child:
		return c.spawn(id, e)
	case tools.Compaction:
		return "a compaction begins in the background. Go on; the summaries come in by themselves.", c.forgetter.request()
	}
	if in.withdraws != "" {
		return in.withdraws + " is withdrawn: no answer to it counts any more. Your turn goes on.", nil
	}
	q, _ := c.State.Asked(id, "")
	return askedText(q), c.outbox.PostOwed()
}

// cutShort is the outcome of a call that was under way when the daemon died. A plan that LIFE has fixed is carried out
// now, once; any other effect is unknown.
func (c *caller) cutShort(p pending) outcome {
	var in intent
	in.effect, _ = c.Tools.Intent(p.call.Tool, argsOf(p.call))
	said, fixed := c.State.Said, false
	if p.approval != nil {
		said = c.speaksIn()
	}
	switch e := in.effect.(type) {
	case tools.Post:
		fixed = slices.Contains(said, e.Room)
	case tools.Child:
		fixed = true
	case tools.Question:
		fixed = true
		if _, asked := c.State.Asked(p.id, ""); !asked {
			in.err = errors.New("not done, since the daemon stopped first; call again if it is still needed")
		}
	}
	o := outcome{state: mind.Interrupted}
	o.Body = []byte(journal.Interrupted)
	if fixed {
		o = outcomeOf(c.perform(p.id, in))
	}
	o.file = c.Wrote(p.call)
	return o
}

// speaksIn returns the rooms that SAY reaches: all that are heard, and for a reviewer also the rooms of the identity
// that it reviews.
func (c *caller) speaksIn() []string {
	rooms := c.Joined()
	if c.cfg.Reviews.Self != "" {
		more, _ := chat.Rooms(c.cfg.Reviews.Subs()) // unreadable ones are not spoken in
		rooms = append(rooms, more...)
	}
	return rooms
}
