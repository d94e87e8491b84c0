package agent

import (
	"fmt"
	"slices"
	"time"

	"lethe/chat"
	"lethe/life/event"
)

// roomIO is how far a room was read and searched, and what keeps it from being
// read or written. It ends with the process; the state has what must not.
type roomIO struct {
	readAhead *chat.Cursor // how far it was read, if that is beyond the state's cursor
	scanned   scanned      // how far it was searched for commands
	replaced  bool         // its file is another one, or was edited, and no event says so yet

	unreadable string // why it cannot be read
	unwritable string // why it cannot be written; what it is owed waits
	wait       time.Duration
	retryAt    time.Time // when it is written to again
}

// Bounds of the time after which a room that could not be written is tried again.
const (
	postFirst = time.Second
	postMost  = time.Minute
)

func (a *Agent) io(room string) *roomIO {
	if a.rooms[room] == nil {
		a.rooms[room] = &roomIO{}
	}
	return a.rooms[room]
}

func (a *Agent) path(room string) string { return chat.Path(a.cfg.Home.Dir, room) }

// joined returns the rooms that are heard, sorted.
func (a *Agent) joined() []string {
	var out []string
	for name, r := range a.state.Rooms {
		if r.Joined {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// cursor is where to read on in a room.
func (a *Agent) cursor(room string) chat.Cursor {
	if c := a.io(room).readAhead; c != nil {
		return *c
	}
	return a.state.Rooms[room].Cursor
}

// subscriptions brings the state in line with the links in subs/, which anyone
// may have changed.
func (a *Agent) subscriptions() error {
	linked, err := chat.Rooms(a.id.Subs())
	if err != nil {
		return err
	}
	for _, room := range linked {
		if r := a.state.Rooms[room]; r == nil || !r.Joined {
			if err := a.join(room, r == nil); err != nil {
				return err
			}
		}
	}
	files, err := chat.NoLinks(a.id.Subs())
	if err != nil {
		return err
	}
	for _, room := range files {
		a.cannotRead(room, fmt.Errorf("subs/%[1]s is not a link; remove it, and link the room again with: ln -s ../../../chats/%[1]s %[2]s", chat.FileName(room), a.id.Subs()))
	}
	for room, io := range a.rooms {
		if !slices.Contains(linked, room) && !slices.Contains(files, room) {
			io.unreadable = ""
		}
	}
	for name, r := range a.state.Rooms {
		if r.Joined && !slices.Contains(linked, name) {
			if err := a.commit(record{event: event.Left{Room: name}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// join records a subscription. A first one begins before the last lines of the
// room and says how many there are; a renewed one goes on at its cursor. A room that
// cannot be read is joined later.
func (a *Agent) join(room string, first bool) error {
	text := fmt.Sprintf("You hear room %s again, from where you left it.", room)
	e := event.Joined{N: a.state.Next, Room: room}
	if first {
		lines, total, at, err := chat.Tail(a.path(room), firstHeard)
		if err != nil {
			a.cannotRead(room, err)
			return nil
		}
		e.First = &event.First{Inode: at.Inode, At: at.Offset, Before: at.Before, Last: at.Last, Total: total}
		if len(lines) > 0 {
			e.First.End = lines[len(lines)-1].To
		}
		switch {
		case total == 0:
			text = fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
		case total <= len(lines):
			text = fmt.Sprintf("You now hear room %s, all of it: lines so far: %d.", room, total)
		default:
			text = fmt.Sprintf("You now hear room %s. It held %d lines before; you hear the last %d. Read rooms/%s.md for the others.", room, total, len(lines), room)
		}
	}
	return a.commit(record{event: e, bodies: []body{{"joined room " + room, []byte(text)}}})
}

// cannotRead notes why a room cannot be read; the others are. It reports whether
// the permissions that it was refused for are restored.
func (a *Agent) cannotRead(room string, err error) (again bool) {
	if a.restoredFor(err) {
		return true
	}
	if io := a.io(room); io.unreadable != err.Error() {
		io.unreadable = err.Error()
		a.cfg.Log.Warn("a room cannot be read; the others are heard", "room", room, "error", err)
	}
	return false
}

// cannotWrite notes why a room cannot be written, and when it is tried again.
func (a *Agent) cannotWrite(room string, err error) {
	io := a.io(room)
	if io.unwritable != err.Error() {
		a.cfg.Log.Warn("a room cannot be written; what is to be said there waits, and everything else goes on", "room", room, "error", err)
	}
	io.unwritable, io.wait = err.Error(), min(max(2*io.wait, postFirst), postMost)
	io.retryAt = time.Now().Add(io.wait)
}

// canWrite notes that a room was written.
func (a *Agent) canWrite(room string) {
	io := a.io(room)
	if io.unwritable != "" {
		a.cfg.Log.Info("the room can be written again", "room", room)
	}
	io.unwritable, io.wait, io.retryAt = "", 0, time.Time{}
}

// nextPost is when a line that waits is tried again; zero when none does.
func (a *Agent) nextPost() (at time.Time) {
	for _, io := range a.rooms {
		if io.unwritable != "" && (at.IsZero() || io.retryAt.Before(at)) {
			at = io.retryAt
		}
	}
	return at
}

// trouble says in a line each what is wrong with rooms, for people.
func (a *Agent) trouble() []string {
	var out []string
	for room, io := range a.rooms {
		if io.unwritable != "" {
			waiting := 0
			for _, p := range a.state.Owed().Posts {
				if p.Room == room {
					waiting++
				}
			}
			out = append(out, fmt.Sprintf("room %s cannot be written, lines that wait: %d: %s", room, waiting, io.unwritable))
		}
		if io.unreadable != "" {
			out = append(out, fmt.Sprintf("room %s cannot be read: %s", room, io.unreadable))
		}
	}
	slices.Sort(out)
	return out
}
