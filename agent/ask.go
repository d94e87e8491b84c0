package agent

import (
	"cmp"
	"encoding/json"
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
func (c *caller) intents(calls []pendingCall, sole bool) (records []part.Record) {
	var asked []string // calls, in these records
	for _, pending := range calls {
		pending = c.asHooked(pending)
		if !c.waits(pending) {
			in := c.intendAsHooked(pending, sole)
			c.intent = in
			records = append(records, pending.begins(in))
			if in.err == nil && in.asks.Call != "" {
				records = append(records, c.ask(in.asks))
			}
			return records
		}
		ask := c.confidence(pending.call)
		args := cmp.Or(ask.Args, blobs.Unescape(pending.call.Args))
		exact := mind.ExactCall(pending.call.Tool, args)
		room, text := c.whereToAsk(), askedFirst
		_, twice := c.State.Asked("", exact)
		switch {
		case twice || slices.Contains(asked, exact):
		case room == "" || len(ask.For)+len(c.cfg.People) == 0:
			text = "Not run: people have to approve this call, and there is no room or nobody to ask."
		case len(c.State.Questions)+len(asked) >= mind.MaxQuestions:
			text = fmt.Sprintf(
				"Not run: people have to approve this call, and %d questions are open already. Wait for answers.",
				mind.MaxQuestions,
			)
		default:
			ask.Call, ask.Room, ask.Tool, ask.Args, ask.Codes = pending.id, room, pending.call.Tool, args, true
			ask.Text = cmp.Or(ask.Text, c.hooked[pending.id].Reason)
			records, asked = append(records, c.ask(ask)), append(asked, exact)
		}
		o := outcome{Result: tools.Result{Body: []byte(text)}, state: mind.NotStarted}
		records = append(records, pending.ends(c.State.Turn+1, o))
	}
	return records
}

// waits reports whether people have to approve a call before it is run.
func (c *caller) waits(pending pendingCall) bool {
	call, hooked := c.asHooked(pending).call, c.hooked[pending.id]
	if hooked.Deny {
		return false
	}
	if call.Original != "" || call.Tool == "WAIT" {
		return false
	}
	args := argsOf(call)
	asks := hooked.Ask || c.Tools.Asks(call.Tool, args)
	if c.confidence(call).Args != "" {
		return !asks
	}
	return asks && !slices.Contains(c.State.Always, mind.ExactCall(call.Tool, string(args)))
}

// confidence returns the question to the only person of the audience, whether a SAY may say its words to others.
// It is blank for any other call, and with files.
func (c *caller) confidence(call *mind.Call) (ask mind.Ask) {
	if call.Tool != "SAY" || len(c.State.Readers) != 1 {
		return ask
	}
	effect, _ := c.Tools.Intent(call.Tool, argsOf(call))
	post, _ := effect.(tools.Post)
	readers := c.Home.Readers(post.Room).String()
	isShown := post.Files == "" && len(post.Text+readers) <= 900 // all of it, in the question
	if !isShown || !slices.Contains(c.Joined(), post.Room) || c.State.MaySay(post.Room) {
		return ask
	}
	args, _ := json.Marshal(map[string]string{"room": post.Room, "message": post.Text}) // cannot fail
	return mind.Ask{Args: string(args), For: c.State.Readers, Text: readers + " may read it."}
}

// isConfided reports whether that person has allowed a call, for the same readers.
func (c *caller) isConfided(pending pendingCall) bool {
	ask := c.confidence(pending.call)
	return ask.Args != "" && ask.Text == pending.asked.Text && slices.Equal(ask.For, pending.asked.For)
}

const askedFirst = "People are asked first, in the room you are answering. End your turn: " +
	"their answer comes in as an entry, and then the output. Do not call it again before."

// approvalTime is the time after which a call that nobody approves is declined, unless Config.AskTime is set.
const approvalTime = 7 * 24 * time.Hour

// ask records a question.
func (c *caller) ask(ask mind.Ask) part.Record {
	ask.Self, ask.At = c.ID.Self, time.Now().UTC()
	if ask.Tool != "" {
		ask.Until = ask.At.Add(cmp.Or(c.cfg.AskTime, approvalTime)).Truncate(time.Second)
	}
	return journal.Told(event.Asked{Call: ask.Call, Posting: c.Posting(c.Notified(ask.Room)...)}, ask.Gist(), ask.Encode())
}

// whereToAsk returns a room where the identity is answering, else any that it hears, else "".
func (c *caller) whereToAsk() string {
	for _, room := range append(c.Audience(), c.Company()...) {
		return room
	}
	return ""
}

// question returns what people are asked, or why they cannot be. sole says that its call is the only one of its reply.
func (c *caller) question(call string, wait tools.Question, sole bool) (ask mind.Ask, err error) {
	wait.Room = cmp.Or(wait.Room, c.whereToAsk())
	unknown := slices.IndexFunc(wait.For, func(name string) bool { return !c.mayBeAsked(name, wait.Room) })
	switch {
	case !sole:
		err = errors.New("WAIT has to be the only call of its reply. Make the other calls first, then call it alone")
	case !slices.Contains(c.Speaks(), wait.Room):
		err = fmt.Errorf("you are not in room %q; you are in %v", wait.Room, c.Speaks())
	case len(c.State.Questions) >= mind.MaxQuestions:
		err = fmt.Errorf("%d questions are open already; wait for answers", mind.MaxQuestions)
	case unknown >= 0:
		err = fmt.Errorf(
			"for: nobody in room %s knows %q, who never spoke there; give names as they stand in the tags of lines",
			wait.Room,
			wait.For[unknown],
		)
	case wait.Room != c.whereToAsk() && c.Tools.MaySay(wait.Room, wait.Text) != nil:
		err = c.Tools.MaySay(wait.Room, wait.Text)
	case len(wait.For)+len(c.cfg.People) == 0:
		err = errors.New("nobody may answer: people in config.toml is empty; say for whom it is")
	}
	if err != nil {
		err = fmt.Errorf("not done: %w", err)
	}
	ask = mind.Ask{
		Call: call, Room: wait.Room, Text: wait.Text, Options: wait.Options, For: wait.For, Until: wait.Until,
	}
	return ask, err
}

// mayBeAsked reports whether a person is one of config.toml, or has spoken in a room.
func (c *caller) mayBeAsked(name, room string) bool {
	return slices.Contains(c.cfg.People, name) || chat.SaidBy(c.Path(room), name, 0, -1)
}

func askedText(q mind.Question) string {
	return fmt.Sprintf(
		"It is %s in room %s. Your turn ends here; the answer comes in as an entry that cites the question.",
		q.ID,
		q.Room,
	)
}
