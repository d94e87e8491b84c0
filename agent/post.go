package agent

import (
	"fmt"
	"slices"
	"time"

	"lethe/agent/wake"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// outbox posts the lines that the log owes to rooms, each exactly once.
type outbox struct {
	*view
	closed map[string]*closedRoom // the rooms that could not be written at the last try
}

// closedRoom is a room that cannot be written. What it is owed waits.
type closedRoom struct {
	why     string
	wait    time.Duration // before the last try; the next one waits twice as long
	retryAt time.Time
}

// postOwed appends to rooms the lines that are owed, each exactly once. A line that a room does
// not take waits, and later lines for the room wait behind it.
func (o *outbox) postOwed() error {
	var waits []string // rooms
	for i := 0; i < len(o.state.Outbox); {
		p := o.state.Outbox[i]
		if slices.Contains(waits, p.Room) || o.mustWait(p.Room) {
			waits = append(waits, p.Room)
			i++
			continue
		}
		path := o.path(p.Room)
		from, to, err := o.cfg.Home.Post(p.Room, []byte(p.Line), p.Mark)
		var at chat.Cursor
		if err == nil {
			at, err = chat.At(path, to)
		}
		if o.cfg.restoredFor(err) {
			continue // with the same post
		}
		o.noteWrite(p.Room, err)
		if err != nil {
			continue // it waits now
		}
		posted := event.Posted{ID: p.ID, Passage: event.Passed(p.Room, from, at)}
		posted.Torn = p.Torn(chat.Since(path, p.Mark, from))
		if err := o.happen(posted); err != nil { // it is no longer owed
			return err
		}
		if !p.Wakes { // that is for the identity itself
			o.callChild(p.Room)
		}
	}
	return nil
}

// mustWait reports whether a room that could not be written is left alone for now.
func (o *outbox) mustWait(room string) bool {
	closed := o.closed[room]
	return closed != nil && time.Now().Before(closed.retryAt)
}

// noteWrite notes whether a room can be written; where it cannot, when it is tried again.
func (o *outbox) noteWrite(room string, err error) {
	if err == nil {
		delete(o.closed, room)
		return
	}
	if o.closed[room] == nil {
		o.closed[room] = &closedRoom{}
	}
	closed := o.closed[room]
	if why := err.Error(); closed.why != why {
		closed.why = why
		const waits = "a room cannot be written; what is to be said there waits, and everything else goes on"
		o.cfg.Log.Warn(waits, "room", room, "error", err)
	}
	closed.wait = min(max(2*closed.wait, time.Second), time.Minute)
	closed.retryAt = time.Now().Add(closed.wait)
}

// nextPost is the time at which a line that waits is tried again; zero if no line waits.
func (o *outbox) nextPost() (at time.Time) {
	for _, closed := range o.closed {
		at = wake.Sooner(at, closed.retryAt)
	}
	return at
}

// saidIn tells the model whether a post that the log has fixed was written.
func (o *outbox) saidIn(call, room string) string {
	if slices.ContainsFunc(o.state.Owed().Posts, func(p mind.Post) bool { return p.ID == call && p.Room == room }) {
		why := ""
		if closed := o.closed[room]; closed != nil {
			why = closed.why
		}
		const later = "room %s cannot be written now (%s). The line is recorded and will be said as soon as " +
			"the room can be written; do not repeat it"
		return fmt.Sprintf(later, room, why)
	}
	return "said in room " + room
}

// callChild lets the child of a room work, if there is one: something was said to it.
func (o *outbox) callChild(room string) {
	if c := o.state.Child(room); c != nil {
		if id, err := o.cfg.Home.Find(c.Name); err == nil && id.IsChild() { // otherwise it is booted first
			o.team.Start(id)
		}
	}
}
