package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Work counts what a parent has given a child to do: each line that it says in the
// room of the child is a piece of work. The two count alike, since each line is posted
// once and heard once.
type Work struct {
	Given int    `json:"given"`          // pieces so far
	Ended int    `json:"ended"`          // of those, the ones that need no result any more
	How   string `json:"how,omitempty"`  // the newest ended
	Gist  string `json:"gist,omitempty"` // of the newest result
}

// How a piece of work ended.
const (
	WorkDone    = "done"
	WorkFailed  = "failed"
	WorkStopped = "stopped"
)

// Open reports whether a result is still to come.
func (w Work) Open() bool { return w.Given > w.Ended }

func (w *Work) stop() { w.Ended, w.How = w.Given, WorkStopped }

// end takes in an outcome, and reports whether it was still to come. It may
// count no pieces that were not given.
func (w *Work) end(o chat.Outcome) bool {
	if !w.Open() || o.N <= w.Ended {
		return false
	}
	w.Ended, w.How, w.Gist = min(o.N, w.Given), WorkDone, blobs.Gist(o.Text)
	if o.Failed {
		w.How = WorkFailed
	}
	return true
}

// Child is an identity that works for this one.
type Child struct {
	Name string    `json:"name"`
	Room string    `json:"room"`
	Call string    `json:"call"` // the SPAWN that made it
	At   time.Time `json:"at"`   // of its brief's line
	// For are the rooms whose answer the newest piece of work was given for;
	// Peers says that only agents wait there.
	For   []string `json:"for,omitempty"`
	Peers bool     `json:"peers,omitempty"`
	Work
}

// Task is what makes an identity a child: whom it works for, and where.
type Task struct {
	Parent string `json:"parent"` // its name
	Room   string `json:"room"`
	Work
}

// Family holds the children of an identity, and its own task if it is a child itself.
type Family struct {
	Children []Child `json:"children,omitempty"` // the ones that it has spawned, oldest first
	Task     *Task   `json:"task,omitempty"`     // nil if nobody has spawned it
}

// Child returns the child that works in a room, or nil.
func (f *Family) Child(room string) *Child {
	for i := range f.Children {
		if f.Children[i].Room == room {
			return &f.Children[i]
		}
	}
	return nil
}

// Working are the children whose result is still to come.
func (f *Family) Working() []Child {
	return without(f.Children, func(c Child) bool { return !c.Open() })
}

// spawned notes the child of a call, whose brief is the first line that is owed to its room.
// Those whom it is for are those who wait, or others, where nobody does.
func (f *Family) spawned(call, name string, brief event.Posting, others ...string) {
	c := Child{Name: name, Room: brief.Posts[0].Room, Call: call, At: brief.TS, For: others}
	f.Children = plus(f.Children, c)
}

// notSpawned forgets the child of a call that came to nothing.
func (f *Family) notSpawned(call string) {
	f.Children = without(f.Children, func(c Child) bool { return c.Call == call })
}

// gives notes that a line is owed to a room. In that of a child it is a piece of work,
// for those who wait now.
func (f *Family) gives(room string, due Due) {
	f.Children = slices.Clone(f.Children)
	c := f.Child(room)
	if c == nil {
		return
	}
	c.Given++
	switch {
	case len(due.Waiting) > 0:
		c.For, c.Peers = due.Waiting, false
	case len(due.Peers) > 0:
		c.For, c.Peers = due.Peers, true
	}
}

// Results reports whether a child's lines end work whose result is still to come.
func (c Child) Results(lines []chat.Line) (any bool) {
	for _, l := range lines {
		if o, ok := chat.ParseOutcome(l.Text); ok && l.By(c.Name) {
			any = c.end(o) || any
		}
	}
	return any
}

// hearChild takes in a line of the room of a child. Nothing but its results wakes, and each
// such opens a turn for those whom the work was for.
func (s *State) hearChild(room string, l chat.Line, asleep bool) {
	s.Children = slices.Clone(s.Children)
	c := s.Child(room)
	if l.Command == "stop" {
		c.stop()
	}
	o, ok := chat.ParseOutcome(l.Text)
	if !ok || !l.By(c.Name) || !c.end(o) || asleep {
		return
	}
	s.room(room).AgentTurns++ // so that a parent and its child do not go on for ever
	s.Steps, s.Cut, s.Owes = 0, 0, true
	for _, room := range c.For {
		if c.Peers {
			s.Peers = with(s.Peers, room)
		} else {
			s.Waiting = with(s.Waiting, room)
		}
	}
}

// hearChildren lets results wake again: a user has spoken.
func (s *State) hearChildren() {
	for _, c := range s.Children {
		s.room(c.Room).AgentTurns = 0
	}
}

// stopChildren ends the work of the children that a /stop is relayed to, and owes its
// line to their rooms.
func (s *State) stopChildren(e event.Command) error {
	if len(e.Relay) == 0 {
		return nil
	}
	line, err := chat.Format(false, e.By, e.TS, e.Name)
	if err != nil {
		return err
	}
	s.Children = slices.Clone(s.Children)
	for _, p := range e.Relay {
		if c := s.Child(p.Room); c != nil {
			c.stop()
		}
		s.Outbox = append(s.Outbox, Post{ID: e.ID, Room: p.Room, Line: string(line), Mark: p.Mark})
	}
	return nil
}

// Works reports whether the identity is a child with work that it owes a result of.
func (f *Family) Works() bool { return f.Task != nil && f.Task.Open() }

// Concludes reports whether the final text of the turn is the result that a child
// owes. While more is to come by itself, it is not.
func (s *State) Concludes() bool { return s.Works() && !s.Expects() }

// Expects reports whether a line is to come by itself: of a child that works, or the end of a job.
func (s *State) Expects() bool {
	unheard := func(w Wake) bool { return !w.Heard }
	return len(s.Working()) > 0 || len(s.Jobs) > 0 || slices.ContainsFunc(s.Wakes, unheard)
}

// FromParent reports whether a line in a room is work for this child.
func (f *Family) FromParent(room string, l chat.Line) bool {
	return f.Task != nil && room == f.Task.Room && l.By(f.Task.Parent)
}

// giveWork counts a line of a child's parent. What a /stop lies behind is stopped.
func (f *Family) giveWork(stopped bool) {
	t := *f.Task
	t.Given++
	if stopped {
		t.stop()
	}
	f.Task = &t
}

// stopWork ends a child's own work.
func (f *Family) stopWork() {
	if f.Works() {
		t := *f.Task
		t.stop()
		f.Task = &t
	}
}

// maxOutcome is how many characters of a result stand in its line; the rest is behind its ref.
const maxOutcome = 2000

// conclude owes the line that ends a child's work to its room, and the text as it is to
// the others.
func (s *State) conclude(id, text string, ref Ref, failed bool, where event.Posting) error {
	t := *s.Task
	o := chat.Outcome{N: t.Given, Failed: failed, Text: cmp.Or(strings.TrimSpace(text), "it said nothing")}
	if err := s.owe(id, o.Text, where); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(o.Text); n > maxOutcome {
		o.Text = fmt.Sprintf("%s… [%d characters in all; UNCOMPACT hash=%s]", CutRunes(o.Text, maxOutcome-100), n, ref.Short)
	}
	line, err := chat.Format(true, s.Name, where.TS, o.String())
	for i, p := range s.Outbox {
		if p.ID == id && p.Room == t.Room {
			s.Outbox[i].Line = string(line)
		}
	}
	t.end(o)
	s.Task = &t
	return err
}

// plain makes a text that is no outcome out of one that looks like one: only the daemon
// writes the outcomes of a child.
func (f *Family) plain(text string) string {
	if _, ok := chat.ParseOutcome(text); ok && f.Task != nil {
		return " " + text
	}
	return text
}
