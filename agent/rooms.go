package agent

import (
	"fmt"
	"slices"

	"lethe/agent/journal"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life/event"
)

// roomIO is how far a room was read and searched, and what keeps it from being
// read or written. It ends with the process; the state has what must not.
type roomIO struct {
	readAhead *chat.Cursor // how far it was read, if that is beyond the state's cursor
	scanned   scanned      // how far it was searched for commands
	read      durable.Look // how it looked when it was read to its end
	size      int64        // its bytes at the last look
	replaced  bool         // its file is another one, or was edited, and no event says so yet
	old       chat.Mark    // what stood in the file before this when that was noticed may be old
	begun     bool         // it was searched for what others have answered; see findHistory
	history   int64        // what stands before this offset others have answered

	unreadable string // why it cannot be read
}

func (a *Agent) io(room string) *roomIO {
	if a.rooms[room] == nil {
		a.rooms[room] = &roomIO{}
		a.lookInto(room)
	}
	return a.rooms[room]
}

// lookInto looks how a room looks; a missing one is empty.
func (a *Agent) lookInto(room string) durable.Look {
	now := durable.LookAt(a.path(room))
	if a.io(room).size = 0; now.FileInfo != nil {
		a.io(room).size = now.Size()
	}
	return now
}

// cursor is where to read on in a room.
func (a *Agent) cursor(room string) chat.Cursor {
	if c := a.io(room).readAhead; c != nil {
		return *c
	}
	return a.state.Rooms[room].Cursor
}

// subscribed is what is in subs/.
type subscribed struct {
	durable.Look
	rooms, files []string // linked, and no links
}

// subscriptions brings the state in line with the links in subs/, which anyone
// may have changed.
func (a *Agent) subscriptions() error {
	if now := durable.LookAt(a.id.Subs()); !a.subs.Same(now) {
		rooms, files, err := chat.Links(a.id.Subs())
		if err != nil {
			return err
		}
		a.subs = subscribed{now, rooms, files}
	}
	linked, files := a.subs.rooms, a.subs.files
	for _, room := range linked {
		if r := a.state.Rooms[room]; r == nil || !r.Joined {
			if err := a.join(room, r == nil); err != nil {
				return err
			}
		}
		if !a.io(room).begun && a.state.Rooms[room] != nil {
			a.findHistory(room)
		}
	}
	for _, room := range files {
		a.cannotRead(
			room,
			fmt.Errorf(
				"subs/%[1]s is not a link; remove it, and link the room again with: ln -s ../../../chats/%[1]s %[2]s",
				chat.FileName(room),
				a.id.Subs(),
			),
		)
	}
	for room, io := range a.rooms {
		if !slices.Contains(linked, room) && !slices.Contains(files, room) {
			io.unreadable = ""
		}
	}
	for _, room := range a.joined() {
		if !slices.Contains(linked, room) {
			if err := a.happen(event.Left{Room: room}); err != nil {
				return err
			}
			a.io(room).begun = false
		}
	}
	return nil
}

// join records a subscription. A first one begins before the last lines of the
// room and says how many there are; a renewed one goes on at its cursor. A room that
// cannot be read is joined later.
func (a *Agent) join(room string, first bool) error {
	text := fmt.Sprintf("You hear room %s again, from where you left it.", room)
	e := event.Joined{Room: room}
	if first {
		most, work := firstHeard, a.state.Task != nil && a.state.Task.Room == room
		if work { // each line is
			most = 1000
		}
		lines, total, at, err := chat.Tail(a.path(room), most)
		if err != nil {
			a.cannotRead(room, err)
			return nil
		}
		e.First = event.FirstAt(at, total)
		if len(lines) > 0 && !work { // nothing there is history
			e.First.End = lines[len(lines)-1].To
		}
		switch {
		case total == 0:
			text = fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
		case total <= len(lines):
			text = fmt.Sprintf("You now hear room %s, all of it: lines so far: %d.", room, total)
		default:
			text = fmt.Sprintf(
				"You now hear room %s. It held %d lines before; you hear the last %d. Read rooms/%s.md for the others.",
				room,
				total,
				len(lines),
				room,
			)
		}
	}
	if c := a.state.Child(room); c != nil {
		text = fmt.Sprintf("%s works for you: of what is said in room %s, only its results call you.", c.Name, room)
	}
	return a.commit(journal.Told(e, "joined room "+room, text))
}

// cannotRead notes why a room cannot be read; the others are. It reports whether
// the permissions that it was refused for are restored.
func (a *Agent) cannotRead(room string, err error) (again bool) {
	if a.cfg.restoredFor(err) {
		return true
	}
	if io := a.io(room); io.unreadable != err.Error() {
		io.unreadable = err.Error()
		a.cfg.Log.Warn("a room cannot be read; the others are heard", "room", room, "error", err)
	}
	return false
}

// trouble says in a line each what is wrong with rooms, for people.
func (a *Agent) trouble() []string {
	var out []string
	for room, closed := range a.outbox.closed {
		out = append(out, fmt.Sprintf("room %s cannot be written, and lines wait: %s", room, closed.why))
	}
	for room, io := range a.rooms {
		if io.unreadable != "" {
			out = append(out, fmt.Sprintf("room %s cannot be read: %s", room, io.unreadable))
		}
	}
	for _, t := range a.triggers.Status() {
		if t.Error != "" {
			out = append(out, fmt.Sprintf("trigger %s: %s", t.Name, t.Error))
		}
	}
	if wanted := a.state.Away; wanted != "" {
		out = append(out, fmt.Sprintf("the model %s does not answer, another one stands in for it", wanted))
	}
	slices.Sort(out)
	return out
}

// settle pays what was decided before: posts that are owed, and results of calls
// that were cut short. No call is begun twice.
func (a *Agent) settle() error {
	if err := a.outbox.postOwed(); err != nil {
		return err
	}
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return a.settleRun()
	}
	if p := pending[0]; p.Call.Started {
		o := a.cutShort(p.ID(), p.Call, a.state.Said)
		if err := a.commit(a.result(p, event.Result{Status: o.state, File: o.file}, o.Body)); err != nil {
			return err
		}
	}
	return a.log.Settle("the daemon stopped before this call's turn came. Call again if it is still needed.")
}
