package agent

import (
	"errors"
	"fmt"
	"slices"

	"lethe/agent/journal"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// intent is what a call is to do. What it names here, the log holds before the call runs: so a crash repeats nothing.
type intent struct {
	effect    tools.Effect
	err       error        // why it does nothing
	line      event.Notice // that it posts
	files     []body       // of the line
	child     string       // the name of the identity that it makes
	asks      mind.Ask     // what people are asked
	withdraws string       // the question that it takes back
	replaced  string       // the arguments that a hook has put in the place of its own
	context   string       // what hooks add to its result
}

// intend reads what a call is to do, and refuses what it may not. sole says that it is the only call of its reply.
func (a *Agent) intend(id string, c *mind.Call, sole bool) (in intent) {
	if c.Original != "" {
		in.err = errors.New(
			"the arguments are not one JSON object. Call " + c.Tool + " again with an object like {\"key\":\"value\"}, " +
				"with newlines and quotes inside strings escaped.",
		)
		return in
	}
	in.effect, in.err = a.tools.Intent(c.Tool, argsOf(c))
	switch e := in.effect.(type) {
	case tools.Post:
		if !slices.Contains(a.speaksIn(), e.Room) {
			in.err = fmt.Errorf("say in room %s: you are not in it; JOIN it first. %s", e.Room, tools.ListRooms(a.joined()))
			break
		}
		a.reach.Know(a.known())
		if in.files, in.err = a.tools.Attach(e.Files, a.id.Name); in.err == nil {
			in.line = a.notice(e.Text, chat.Notify(a.cfg.Notify, e.Text, e.Room)...)
		}
	case tools.Child:
		name, room, err := a.admit(id, e)
		if in.err = err; err == nil {
			in.child, in.line = name, a.notice(e.Brief, room)
		}
	case tools.Question:
		if e.Withdraw == "" {
			in.asks, in.err = a.question(id, e, sole)
			break
		}
		q, ok := a.state.Asked(e.Withdraw, "")
		if in.withdraws = q.ID; !ok {
			in.err = fmt.Errorf("not done: no question %s is open; it may have been answered", e.Withdraw)
		}
	}
	return in
}

// perform does what the log has fixed of a call, and tells what became of it.
func (a *Agent) perform(id string, in intent) (said string, err error) {
	if in.err != nil {
		return "", in.err
	}
	switch e := in.effect.(type) {
	case tools.Post:
		err := a.outbox.postOwed()
		return a.outbox.saidIn(id, e.Room), err
	case tools.Child:
		return a.spawn(id, e)
	case tools.Compaction:
		return "a compaction begins in the background. Go on; the summaries come in by themselves.", a.forgetter.request()
	}
	if in.withdraws != "" {
		return in.withdraws + " is withdrawn: no answer to it counts any more. Your turn goes on.", nil
	}
	q, _ := a.state.Asked(id, "")
	return askedText(q), a.outbox.postOwed()
}

// cutShort tells what became of a call that was under way when the daemon died. What the log has fixed of it is done
// now, once; what else it did is unknown. said are the rooms in which a post may have been fixed.
func (a *Agent) cutShort(id string, c *mind.Call, said []string) outcome {
	var in intent
	in.effect, _ = a.tools.Intent(c.Tool, argsOf(c))
	fixed := false
	switch e := in.effect.(type) {
	case tools.Post:
		fixed = slices.Contains(said, e.Room)
	case tools.Child:
		fixed = true
	case tools.Question:
		if _, fixed = a.state.Asked(id, ""); !fixed {
			fixed, in.err = true, errors.New("not done, since the daemon stopped first; call again if it is still needed")
		}
	}
	o := outcome{state: mind.Interrupted}
	o.Body = []byte(journal.Interrupted)
	if fixed {
		o = outcomeOf(a.perform(id, in))
	}
	o.file = a.log.Wrote(c)
	return o
}
