package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"lethe/agent/journal"
	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// Questions to people: by WAIT, and before calls that people are to approve.

// intents returns what is recorded before the next of calls runs, in order: a question and a result for each call that
// people are to approve, which does not run now; then the intent of the first other call.
func (c *caller) intents(calls []pending, sole bool) (records []part.Record) {
	var asked []string // calls, in these records
	for _, p := range calls {
		p = c.asHooked(p)
		if !c.waits(p) {
			in := c.intendAsHooked(p, sole)
			c.intent = in
			records = append(records, p.begins(in))
			if in.err == nil && in.asks.Call != "" {
				records = append(records, c.ask(in.asks))
			}
			return records
		}
		args := blobs.Unescape(p.call.Args)
		exact := mind.ExactCall(p.call.Tool, args)
		room, text := c.whereToAsk(), askedFirst
		_, twice := c.State.Asked("", exact)
		switch {
		case twice || slices.Contains(asked, exact):
		case room == "" || len(c.cfg.People) == 0:
			text = "Not run: people have to approve this call, and there is no room or nobody to ask."
		case len(c.State.Questions)+len(asked) >= mind.MaxQuestions:
			text = fmt.Sprintf(
				"Not run: people have to approve this call, and %d questions are open already. Wait for answers.",
				mind.MaxQuestions,
			)
		default:
			why := c.hooked[p.id].Reason
			ask := mind.Ask{Call: p.id, Room: room, Tool: p.call.Tool, Args: args, Text: why, Codes: true}
			records, asked = append(records, c.ask(ask)), append(asked, exact)
		}
		o := outcome{Result: tools.Result{Body: []byte(text)}, state: mind.NotStarted}
		records = append(records, p.ends(c.State.Turn+1, o))
	}
	return records
}

// waits reports whether people have to approve a call before it is run.
func (c *caller) waits(p pending) bool {
	call, hooked := c.asHooked(p).call, c.hooked[p.id]
	if hooked.Deny {
		return false
	}
	if call.Original != "" || call.Tool == "WAIT" {
		return false
	}
	args := argsOf(call)
	asks := hooked.Ask || c.Tools.Asks(call.Tool, args)
	return asks && !slices.Contains(c.State.Always, mind.ExactCall(call.Tool, string(args)))
}

const askedFirst = "People are asked first, in the room you are answering. End your turn: " +
	"their answer comes in as an entry, and then the output. Do not call it again before."

// approvalTime is the time after which a call that nobody approves is declined, unless Config.AskTime is set.
const approvalTime = 7 * 24 * time.Hour

// ask records a question.
func (c *caller) ask(k mind.Ask) part.Record {
	k.Self, k.At = c.ID.Self, time.Now().UTC()
	if k.Tool != "" {
		k.Until = k.At.Add(cmp.Or(c.cfg.AskTime, approvalTime)).Truncate(time.Second)
	}
	return journal.Told(event.Asked{Call: k.Call, Posting: c.Posting(c.Notified(k.Room)...)}, k.Gist(), k.Encode())
}

// whereToAsk returns a room where the identity is answering, else any that it hears, else "".
func (c *caller) whereToAsk() string {
	for _, room := range append(c.Audience(), c.Company()...) {
		return room
	}
	return ""
}

// question returns what people are asked, or why they cannot be. sole says that its call is the only one of its reply.
func (c *caller) question(call string, w tools.Question, sole bool) (k mind.Ask, err error) {
	w.Room = cmp.Or(w.Room, c.whereToAsk())
	unknown := slices.IndexFunc(w.For, func(name string) bool {
		return !slices.Contains(c.cfg.People, name) && !chat.SaidBy(c.Path(w.Room), name, 0, -1)
	})
	switch {
	case !sole:
		err = errors.New("WAIT has to be the only call of its reply. Make the other calls first, then call it alone")
	case !slices.Contains(c.Joined(), w.Room):
		err = fmt.Errorf("you are not in room %q; you are in %v", w.Room, c.Joined())
	case len(c.State.Questions) >= mind.MaxQuestions:
		err = fmt.Errorf("%d questions are open already; wait for answers", mind.MaxQuestions)
	case unknown >= 0:
		err = fmt.Errorf(
			"for: nobody in room %s knows %q, who never spoke there; give names as they stand in the tags of lines",
			w.Room,
			w.For[unknown],
		)
	case w.Room != c.whereToAsk() && c.Tools.MaySay(w.Room, w.Text) != nil:
		err = c.Tools.MaySay(w.Room, w.Text)
	case len(w.For)+len(c.cfg.People) == 0:
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
