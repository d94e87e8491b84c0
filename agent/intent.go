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
	err       error         // why it does nothing
	line      event.Notice  // that it posts
	files     []part.Body   // of the line
	child     string        // the name of the identity that it makes
	asks      mind.Ask      // the question to people
	withdraws string        // the question that it takes back
	change    event.Change  // of a file
	saw       tools.Version // the file that err shows
	replaced  string        // the arguments that a hook has put in the place of its own
	context   string        // that hooks add to its result
}

// intend plans a call, or refuses it. sole says that it is the only call of its reply.
func (c *caller) intend(pending pendingCall, sole bool) (in intent) {
	if pending.call.Original != "" {
		const again = "Call %s again with an object like {\"key\":\"value\"}, " +
			"with newlines and quotes inside strings escaped."
		in.err = fmt.Errorf("the arguments are not one JSON object. %s", fmt.Sprintf(again, pending.call.Tool))
		return in
	}
	in.effect, in.err = c.Tools.Intent(pending.call.Tool, argsOf(pending.call))
	if change, ok := in.effect.(*tools.Change); ok {
		in.effect = change.Run
		in.change, in.files, in.saw, in.err = c.seen.Plan(change)
	}
	if in.err == nil {
		in.err = tools.RefuseMarks(pending.call.Tool, in.effect, argsOf(pending.call))
	}
	if in.err != nil {
		return in
	}
	switch effect := in.effect.(type) {
	case tools.Post:
		if !slices.Contains(c.speaksIn(), effect.Room) && !c.isConfided(pending) {
			const text = "say in room %s: you are not in it; JOIN it first. %s"
			in.err = fmt.Errorf(text, effect.Room, tools.ListRooms(c.Speaks()))
			break
		}
		c.reach.Know(c.known())
		in.files, in.err = c.Tools.Attach(effect.Files, c.ID.Name)
		if in.err == nil {
			in.line = c.Notice(effect.Text, c.Mentioned(effect.Text, effect.Room)...)
		}
	case tools.Child:
		var room string
		in.child, room, in.err = c.admit(pending.id, effect)
		if in.err == nil {
			in.line = c.Notice(effect.Brief, room)
		}
	case tools.Question:
		if effect.Withdraw == "" {
			in.asks, in.err = c.question(pending.id, effect, sole)
			break
		}
		q, open := c.State.Asked(effect.Withdraw, "")
		in.withdraws = q.ID
		if !open {
			in.err = fmt.Errorf("not done: no question %s is open; it may have been answered", effect.Withdraw)
		}
	}
	return in
}

// perform carries out a plan that LIFE has fixed, and returns a sentence about the outcome.
func (c *caller) perform(id string, in intent) (said string, err error) {
	if in.err != nil {
		return "", in.err
	}
	switch effect := in.effect.(type) {
	case tools.Post:
		err := c.outbox.PostOwed()
		return c.outbox.SaidIn(id, effect.Room), err
	case tools.Child:
		return c.spawn(id, effect)
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
func (c *caller) cutShort(pending pendingCall) outcome {
	var in intent
	in.effect, _ = c.Tools.Intent(pending.call.Tool, argsOf(pending.call))
	isPlan, isFixed := true, pending.call.Posts
	switch in.effect.(type) {
	case tools.Post, tools.Child:
	case tools.Question:
		_, isFixed = c.State.Asked(pending.id, "")
	default:
		isPlan = false
	}
	if !isFixed {
		in.err = errors.New("not done, since the daemon stopped first; call again if it is still needed")
	}
	ended := outcome{state: mind.Interrupted}
	ended.Body = []byte(journal.Interrupted)
	if isPlan {
		ended = outcomeOf(c.perform(pending.id, in))
	}
	ended.file = c.Wrote(pending.id, pending.call.Tool)
	return ended
}

// speaksIn returns the rooms that SAY reaches: all that are heard, and for a reviewer also the rooms of the identity
// that it reviews.
func (c *caller) speaksIn() []string {
	rooms := c.Speaks()
	if c.cfg.Reviews.Self != "" {
		more, _ := chat.Rooms(c.cfg.Reviews.Subs()) // unreadable ones are not spoken in
		for _, room := range more {
			if c.State.Readers.MayRead(c.Home.Readers(room)) {
				rooms = append(rooms, room)
			}
		}
	}
	return rooms
}
