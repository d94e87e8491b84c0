package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lethe/chat"
)

// Rooms that cannot be heard or written. The identity goes on in the others, and
// people are told.

// deafError is a room that cannot be read. The identity goes on in the others.
type deafError struct{ error }

func (a *Agent) warnDeaf(room string, err error) {
	if a.deaf[room] != err.Error() {
		a.deaf[room] = err.Error()
		a.cfg.Log.Warn("a room cannot be read; the others are heard", "room", room, "error", err)
	}
}

// lookAtLinks warns of files that stand in the place of links to rooms, and forgets
// what was wrong with rooms that are not linked any more.
func (a *Agent) lookAtLinks(linked []string) error {
	files, err := chat.NoLinks(a.id.Subs())
	if err != nil {
		return err
	}
	for _, room := range files {
		a.warnDeaf(room, fmt.Errorf("subs/%[1]s is not a link; remove it, and link the room again with: ln -s ../../../chats/%[1]s %[2]s", chat.FileName(room), a.id.Subs()))
	}
	maps.DeleteFunc(a.deaf, func(room, _ string) bool { return !slices.Contains(linked, room) && !slices.Contains(files, room) })
	return nil
}

// closedRoom is a room that does not take what is owed to it.
type closedRoom struct {
	why  string
	wait time.Duration // doubled each time
	next time.Time     // when it is tried again
}

// Bounds of what a line waits for a room that cannot be written.
const (
	postFirst = time.Second
	postMost  = time.Minute
)

func (a *Agent) holdBack(room string, err error) {
	c := a.closed[room]
	if c.why != err.Error() {
		a.cfg.Log.Warn("a room cannot be written; what is to be said there waits, and everything else goes on", "room", room, "error", err)
	}
	c.why, c.wait = err.Error(), min(max(2*c.wait, postFirst), postMost)
	c.next = time.Now().Add(c.wait)
	a.closed[room] = c
}

// nextPost is when a line that waits is tried again; zero when none does.
func (a *Agent) nextPost() (at time.Time) {
	for _, c := range a.closed {
		if at.IsZero() || c.next.Before(at) {
			at = c.next
		}
	}
	return at
}

// owed counts the lines that a room is owed.
func (a *Agent) owed(room string) (n int) {
	for _, p := range a.state.Owed().Posts {
		if p.Room == room {
			n++
		}
	}
	return n
}

// trouble says in a line each what is wrong with rooms, for people.
func (a *Agent) trouble() []string {
	var out []string
	for room, c := range a.closed {
		out = append(out, fmt.Sprintf("room %s cannot be written, lines that wait: %d: %s", room, a.owed(room), c.why))
	}
	for room, why := range a.deaf {
		out = append(out, fmt.Sprintf("room %s cannot be read: %s", room, why))
	}
	slices.Sort(out)
	return out
}
