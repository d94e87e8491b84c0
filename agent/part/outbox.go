package part

import (
	"fmt"
	"slices"
	"time"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// Outbox posts the lines that LIFE owes to rooms, each exactly once.
type Outbox struct {
	*View
	closed map[string]*closedRoom // the rooms that could not be written at the last try
}

// NewOutbox returns the outbox of an identity.
func NewOutbox(v *View) *Outbox { return &Outbox{View: v, closed: map[string]*closedRoom{}} }

// closedRoom is a room that cannot be written. The lines that are owed to it wait.
type closedRoom struct {
	why     string
	wait    time.Duration // before the last try; the next one waits twice as long
	retryAt time.Time
}

// PostOwed appends to rooms the lines that are owed, each exactly once. A line that a room does
// not take waits, and later lines for the room wait behind it.
func (o *Outbox) PostOwed() error {
	var waits []string // rooms
	for i := 0; i < len(o.State.Outbox); {
		post := o.State.Outbox[i]
		if slices.Contains(waits, post.Room) || o.mustWait(post.Room) {
			waits = append(waits, post.Room)
			i++
			continue
		}
		path := o.Path(post.Room)
		from, to, err := o.Home.Post(post.Room, []byte(post.Line), post.Mark)
		var at chat.Cursor
		if err == nil {
			at, err = chat.At(path, to)
		}
		if o.Home.RepairFor(err, o.Log) {
			continue // with the same post
		}
		o.noteWrite(post.Room, err)
		if err != nil {
			continue // it waits now
		}
		posted := event.Posted{ID: post.ID, Passage: event.Passed(post.Room, from, at)}
		posted.Torn = post.Torn(chat.Since(path, post.Mark, from))
		if err := o.Happen(posted); err != nil { // it is no longer owed
			return err
		}
		if !post.Wakes { // a line that wakes is for the identity itself
			o.CallChild(post.Room)
		}
	}
	return nil
}

// mustWait reports whether a room that could not be written is left alone for now.
func (o *Outbox) mustWait(room string) bool {
	closed := o.closed[room]
	return closed != nil && time.Now().Before(closed.retryAt)
}

// noteWrite notes whether a room can be written; where it cannot, when it is tried again.
func (o *Outbox) noteWrite(room string, err error) {
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
		o.Log.Warn(waits, "room", room, "error", err)
	}
	closed.wait = min(max(2*closed.wait, time.Second), time.Minute)
	closed.retryAt = time.Now().Add(closed.wait)
}

// NextTry is the time at which a line that waits is tried again; zero if no line waits.
func (o *Outbox) NextTry() (at time.Time) {
	for _, closed := range o.closed {
		if at.IsZero() || closed.retryAt.Before(at) {
			at = closed.retryAt
		}
	}
	return at
}

// Trouble says, to people, which rooms cannot be written: a line each, in no order.
func (o *Outbox) Trouble() (lines []string) {
	for room, closed := range o.closed {
		lines = append(lines, fmt.Sprintf("room %s cannot be written, and lines wait: %s", room, closed.why))
	}
	return lines
}

// SaidIn tells the model whether the line that a call has fixed was written into a room.
func (o *Outbox) SaidIn(call, room string) string {
	if slices.ContainsFunc(o.State.Owed().Posts, func(p mind.Post) bool { return p.ID == call && p.Room == room }) {
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

// CallChild lets the child of a room work, if there is one: something was said to it.
func (o *Outbox) CallChild(room string) {
	if c := o.State.Child(room); c != nil {
		if id, err := o.Home.Find(c.Name); err == nil && id.IsChild() { // otherwise it is booted first
			o.Team.Start(id)
		}
	}
}

// keptRooms bounds the rooms of children that the identity goes on hearing.
const keptRooms = 32

// LeaveOld leaves the rooms of the oldest children that have nothing to do, so that the rooms of a life do not grow in
// number.
func (o *Outbox) LeaveOld() {
	for _, child := range o.State.Children[:max(0, len(o.State.Children)-keptRooms)] {
		if !child.Open() {
			_ = chat.Unsubscribe(o.ID.Subs(), child.Room) // it is tried again at the next
		}
	}
}
