package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

// maxCommand is how many bytes of a command's line LIFE keeps; of a longer one, the hash.
const maxCommand = 1000

// runCommand runs a command and records it. next is the cursor behind it; early
// says that lines before it are still unread.
func (a *Agent) runCommand(room string, l chat.Line, next chat.Cursor, early bool) error {
	// What is owed is posted first: a post is looked for behind where its room ended
	// when it was decided.
	if err := a.outbox.postOwed(); err != nil {
		return err
	}
	e := event.Command{
		Passage: event.Passed(room, l.From, next),
		Name:    "/" + l.Command,
		By:      l.Name,
		Line:    string(l.Raw),
		Early:   early,
	}
	e.At.To = l.To
	if len(l.Raw) > maxCommand {
		e.Line, e.Last = "", l.Hash
	}
	if io := a.io(room); !early && io.replaced {
		e.Moved, io.replaced = true, false
	}
	var say, goOn string
	var err error
	switch l.Command {
	case "stop":
		say = "Nothing to stop."
		var working []string // rooms of children
		for _, c := range a.state.Working() {
			working = append(working, c.Room)
		}
		if early || a.busy() || len(working) > 0 {
			say = chat.Stopped
			goOn = a.jobsGoOn()
		}
		e.Relay = a.posting(working...).Posts
	case "jobs":
		say = a.jobsLine()
	case "status":
		say = a.statusLine()
	case "budget":
		book, err := budget.ReadBook(a.cfg.Home, a.store, a.cfg.Budget, time.Now(), a.cfg.Zone)
		if say = fmt.Sprintf("I cannot tell: %v.", err); err == nil {
			say = budget.Obey(book, a.id.Self, a.cfg.People, &e, l.Arg)
		}
	case "model":
		if may := a.cfg.Switchers; may != nil && !slices.Contains(may, l.Name) {
			say = fmt.Sprintf("Only %s may change the model.", strings.Join(may, ", "))
		} else if e.Model, say, err = a.thinker.tryModel(l.Arg); err != nil {
			return err
		}
	case "forget":
		e.Forget, say = a.forget(l)
	}
	e.Notice = a.notice(say+goOn, room)
	records := []record{{Event: e}}
	if say == chat.Stopped {
		text := fmt.Sprintf("%s stopped you here; what you were asked before is no longer owed.", l.Name)
		if early {
			text += fmt.Sprintf(" Nor is what you hear in room %s next, which was said before that.", room)
		}
		partial := mind.Answer{ // the beginning of a key at its end is left out
			Reasoning: secret.Begun(a.thinker.streamed.reasoning.String()), Text: secret.Begun(a.thinker.streamed.text.String()),
		}
		if strings.TrimSpace(partial.Text) != "" {
			text += " You had begun an answer, which was not posted:\n" + blobs.Unescape(partial.Text)
		}
		note := noted("stop", "stopped by "+l.Name, text)
		if partial.Text+partial.Reasoning != "" {
			note.Texts = append(note.Texts, body{Gist: "an answer that " + l.Name + " cut off", Data: partial.Encode()})
		}
		records = append(records, note)
		a.thinker.streamed = streamed{}
	}
	if err := a.commit(records...); err != nil {
		return err
	}
	if e.Raise != 0 {
		return a.thinker.release()
	}
	return nil
}

// pollCommands looks for commands among all unread lines, and runs them ahead of
// their turn. In a turn a /stop is left in place: pollCommands reports it, and it is
// run when the turn has ended.
func (a *Agent) pollCommands(inTurn bool) (stop bool, err error) {
	for _, room := range a.joined() {
		if stop, err = a.scanRoom(room, inTurn); stop || err != nil {
			return stop, err
		}
	}
	return false, a.outbox.postOwed()
}

// scanned is how far a room was searched for commands, beyond its cursor.
type scanned struct {
	chat.Cursor
	moved bool // the file was changed behind the cursor
}

// scanRoom is pollCommands for one room.
func (a *Agent) scanRoom(room string, inTurn bool) (stop bool, err error) {
	io, heard := a.io(room), a.cursor(room)
	at := io.scanned
	if at.Offset < heard.Offset && !at.moved {
		at.Cursor = heard
	}
	for more := true; more; {
		batch, err := a.readLines(a.path(room), at.Cursor, 1<<20)
		if err != nil {
			return false, nil // readRooms says so
		}
		if batch.Realigned || batch.Restarted {
			if at.Offset > heard.Offset && !at.moved {
				at.Cursor = heard // perhaps only what is unread was changed
				continue
			}
			at.moved = true
			io.old, _ = chat.End(a.path(room))
		}
		moved := at.moved || io.replaced
		for i, l := range batch.Lines {
			switch {
			case !a.isCommand(room, l, moved) || a.unheard(room, l, moved):
			case l.Command == "stop" && inTurn:
				return true, nil
			case moved: // readRooms sorts the offsets out, between turns
			default:
				if err := a.runCommand(room, l, batch.After(i+1), true); err != nil {
					return false, err
				}
			}
		}
		at.Cursor, more = batch.Next, batch.More
		io.scanned = at
	}
	return false, nil
}

// isCommand reports whether a line is a command to this identity. What a room held
// before the identity came was not meant for it, nor is what another one has obeyed; nor what is said to its children.
func (a *Agent) isCommand(room string, l chat.Line, moved bool) bool {
	return l.Command != "" && a.state.Child(room) == nil && l.From >= a.io(room).history &&
		(moved || l.From >= a.state.Rooms[room].Began)
}

// statusLine answers /status.
func (a *Agent) statusLine() string {
	a.show(a.shown.State, a.shown.Tool)
	return a.shown.Said(a.state.Paused != "", a.busy(), llm.Dollars(a.shown.Model, a.shown.CostUSD), time.Now().In(a.cfg.Zone))
}
