package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
	"lethe/tools"
)

// settle pays what was decided before: posts that are owed, and results of calls
// that were cut short. A call that had started has unknown effects
// and is never repeated; a SAY is known, because its post is exactly-once.
func (a *Agent) settle() error {
	if err := a.payPosts(); err != nil {
		return err
	}
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	var results []record
	if p := pending[0]; p.Started {
		status, text := mind.Interrupted, "interrupted, effect unknown: the daemon stopped while this ran. Look before you repeat it."
		if room, ok := a.sayable(p); ok && slices.Contains(a.state.Said, room) {
			status, text = mind.OK, a.saidIn(p.ID(), room)
		}
		results, pending = append(results, a.result(p, event.Result{Status: status}, []byte(text))), pending[1:]
	}
	return a.commit(append(results, a.notStarted(pending, "the daemon stopped before this call's turn came. Call again if it is still needed.")...)...)
}

// notStarted records the results of calls that are not run, all for one reason.
func (a *Agent) notStarted(pending []mind.Pending, why string) []record {
	var out []record
	for _, p := range pending {
		out = append(out, record{
			event:  event.Result{ID: p.ID(), Tool: p.Call.Tool, Status: mind.NotStarted},
			bodies: []body{{fmt.Sprintf("turn %d: calls not started", a.state.Turn+1), []byte("not started: " + why)}},
		})
	}
	return out
}

// payPosts appends what is owed to rooms, each line exactly once. What a room does
// not take waits, and what comes after it there waits behind it.
func (a *Agent) payPosts() error {
	var waits []string // rooms
	for i := 0; i < len(a.state.Outbox); {
		p := a.state.Outbox[i]
		if slices.Contains(waits, p.Room) || time.Now().Before(a.io(p.Room).retryAt) {
			waits = append(waits, p.Room)
			i++
			continue
		}
		from, at, err := a.post(p)
		if a.restoredFor(err) {
			from, at, err = a.post(p)
		}
		if err != nil {
			a.cannotWrite(p.Room, err)
			continue // it waits now
		}
		if err := a.posted(p, from, at); err != nil { // it is no longer owed
			return err
		}
	}
	return nil
}

func (a *Agent) post(p mind.Post) (from int64, at chat.Cursor, err error) {
	path := a.path(p.Room)
	from, to, err := chat.Post(path, []byte(p.Line), p.Inode, p.From)
	if err == nil {
		at, err = chat.At(path, to)
	}
	return from, at, err
}

func (a *Agent) posted(p mind.Post, from int64, at chat.Cursor) error {
	a.canWrite(p.Room)
	return a.commit(record{event: event.Posted{ID: p.ID, Passage: passage(p.Room, from, at), Torn: a.torn(p, from)}})
}

// saidIn tells what became of a SAY whose line is fixed.
func (a *Agent) saidIn(call, room string) string {
	if slices.ContainsFunc(a.state.Owed().Posts, func(p mind.Post) bool { return p.ID == call }) {
		return fmt.Sprintf("room %s cannot be written now (%s). The line is recorded and will be said as soon as the room can be written; do not repeat it", room, a.io(room).unwritable)
	}
	return "said in room " + room
}

// torn finds what an earlier attempt at a post left in the room between the
// intent and the line itself. It is nobody's message.
func (a *Agent) torn(p mind.Post, upto int64) []event.Span {
	if upto <= p.From {
		return nil
	}
	start, err := chat.At(a.path(p.Room), p.From)
	if err != nil || start.Inode != p.Inode {
		return nil
	}
	batch, err := chat.Read(a.path(p.Room), start, 1<<20)
	if err != nil {
		return nil // the fragment will be heard, and that is all
	}
	var out []event.Span
	for _, l := range batch.Lines {
		if l.From < upto && a.signed(l) && len(l.Raw) < len(p.Line)-1 && strings.HasPrefix(p.Line, string(l.Raw)) {
			out = append(out, event.Span{From: l.From, To: l.To})
		}
	}
	return out
}

// roomTools is the agent as SAY, JOIN and LEAVE see it.
type roomTools Agent

// Say posts the line that the call's intent has fixed.
func (r *roomTools) Say(_ context.Context, call, room, _ string) (string, error) {
	a := (*Agent)(r)
	for _, p := range a.state.Owed().Posts {
		if p.ID == call && p.Room == room {
			a.log.broken = a.payPosts()
			return a.saidIn(call, room), a.log.broken
		}
	}
	if slices.Contains(a.joined(), room) {
		return "", errors.New("the message is blank")
	}
	return "", errors.New("you are not in it; JOIN it first")
}

// Join links the room; that is what makes it heard.
func (r *roomTools) Join(room string) (string, error) {
	a := (*Agent)(r)
	if slices.Contains(a.joined(), room) {
		return fmt.Sprintf("You hear room %s already.", room), nil
	}
	if err := chat.Subscribe(a.id.Subs(), a.cfg.Home.Chats(), room); err != nil {
		return "", err
	}
	return fmt.Sprintf("Joined room %s. What was said there comes as the next entries.", room), nil
}

// Leave removes the link.
func (r *roomTools) Leave(room string) error {
	a := (*Agent)(r)
	if !slices.Contains(a.joined(), room) {
		return fmt.Errorf("you are not in room %s (you are in %v)", room, a.joined())
	}
	return chat.Unsubscribe(a.id.Subs(), room)
}

// Joined lists the rooms that can be read and spoken in.
func (r *roomTools) Joined() []string { return (*Agent)(r).joined() }

// intent records that a call begins. For a SAY that can be said it fixes the exact
// line, so that a crash never doubles it.
func (a *Agent) intent(p mind.Pending) record {
	e := event.Call{ID: p.ID(), Tool: p.Call.Tool}
	if room, ok := a.sayable(p); ok { // otherwise the tool says what is wrong
		e.Posting = a.posting(room)
	}
	return record{event: e}
}

// sayable returns the room of a SAY that the tool will not refuse.
func (a *Agent) sayable(p mind.Pending) (room string, ok bool) {
	if p.Call.Tool != "SAY" || p.Call.Original != "" {
		return "", false
	}
	room, message, err := tools.ParseSay([]byte(blobs.Unescape(p.Call.Args)))
	if err != nil || !slices.Contains(a.joined(), room) || (chat.Line{Text: message}).Blank() {
		return "", false
	}
	return room, true
}

// result records the result of a call.
func (a *Agent) result(p mind.Pending, e event.Result, out []byte) record {
	e.ID, e.Tool = p.ID(), p.Call.Tool
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", a.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return record{event: e, bodies: []body{{gist, out}}}
}
