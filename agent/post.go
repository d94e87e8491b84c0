package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/mind"
	"lethe/tools"
)

// settle pays what was decided before: posts that are owed, and results of calls
// that nobody will finish any more. A call that had started has unknown effects
// and is never repeated; a SAY is known, because its post is exactly-once.
func (a *Agent) settle() error {
	if err := a.payPosts(); err != nil {
		return err
	}
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	var drafts []draft
	if p := pending[0]; p.Started {
		status, text := mind.Interrupted, "interrupted, effect unknown: the daemon stopped while this ran. Look before you repeat it."
		if room, ok := a.sayable(p); ok && slices.Contains(a.state.Said, room) {
			status, text = mind.OK, a.saidIn(p.ID(), room)
		}
		drafts, pending = append(drafts, a.resultDraft(p, status, []byte(text), 0, "")), pending[1:]
	}
	return a.commit(append(drafts, a.notStarted(pending, "the daemon stopped before this call's turn came. Call again if it is still needed.")...)...)
}

// notStarted drafts the results of calls that are not run, all for one reason.
func (a *Agent) notStarted(pending []mind.Pending, why string) []draft {
	var out []draft
	for _, p := range pending {
		d := happen("result", []string{p.ID(), p.Call.Tool}, "status", mind.NotStarted)
		out = append(out, d.with(fmt.Sprintf("turn %d: calls not started", a.state.Turn+1), []byte("not started: "+why)))
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
		if a.unlocked(err) {
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
	d := happen("posted", []string{p.ID}, "room", p.Room,
		"inode", strconv.FormatUint(at.Inode, 10), "at", mind.Span{From: from, To: at.Offset}.String(), "before", at.Before)
	for _, torn := range a.torn(p, from) {
		d = d.field("torn", torn.String())
	}
	return a.commit(d)
}

// saying makes an event say a line in rooms, and fixes that line.
func (a *Agent) saying(d draft, text string, rooms ...string) draft {
	d = d.field("say", text)
	return a.addressed(d, rooms...)
}

// addressed fixes when and where the line of an event is posted.
func (a *Agent) addressed(d draft, rooms ...string) draft {
	d = d.field("ts", time.Now().UTC().Format(time.RFC3339))
	for _, room := range rooms {
		inode, size, err := chat.End(a.path(room))
		if err != nil { // found when it is posted, and searched from the start
			inode, size = 0, 0
		}
		d = d.field("post", mind.Place{Room: room, Inode: inode, Size: size}.String())
	}
	return d
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
func (a *Agent) torn(p mind.Post, upto int64) []mind.Span {
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
	var out []mind.Span
	for _, l := range batch.Lines {
		if l.From < upto && a.signed(l) && len(l.Raw) < len(p.Line)-1 && strings.HasPrefix(p.Line, string(l.Raw)) {
			out = append(out, mind.Span{From: l.From, To: l.To})
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
			a.broken = a.payPosts()
			return a.saidIn(call, room), a.broken
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

// intent drafts the line that says a call begins. For a SAY that can be said it
// fixes the exact line, so that a crash never doubles it.
func (a *Agent) intent(p mind.Pending) draft {
	d := happen("call", []string{p.ID(), p.Call.Tool})
	room, ok := a.sayable(p)
	if !ok {
		return d // not a SAY, or the tool will say what is wrong
	}
	return a.addressed(d, room)
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

// resultDraft drafts the result of a call. show bounds what enters the context,
// in characters; 0 takes all of it.
func (a *Agent) resultDraft(p mind.Pending, status string, out []byte, show int, touched string) draft {
	d := happen("result", []string{p.ID(), p.Call.Tool}, "status", status)
	if show > 0 && len(out) > show {
		d = d.field("show", strconv.Itoa(show))
	}
	if touched != "" {
		if text, err := a.files.read(touched); err == nil {
			d = d.field("file", touched+":"+digest(text))
		}
	}
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", a.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return d.with(gist, out)
}
