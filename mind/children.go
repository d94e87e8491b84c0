package mind

import (
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Work counts the pieces of work that a parent has given a child: each line that the
// parent says in the child's room is one. Parent and child count the same, since each
// line is posted once and heard once.
type Work struct {
	Given int    `json:"given"`          // pieces so far
	Ended int    `json:"ended"`          // pieces that need no further result
	How   string `json:"how,omitempty"`  // WorkDone, WorkFailed or WorkStopped: the end of the newest
	Gist  string `json:"gist,omitempty"` // the gist of the newest result
}

// Ends of a piece of work.
const (
	WorkDone    = "done"
	WorkFailed  = "failed"
	WorkStopped = "stopped"
)

// Open reports whether a result is still to come.
func (w Work) Open() bool { return w.Given > w.Ended }

func (w *Work) stop() { w.Ended, w.How = w.Given, WorkStopped }

// end takes in an outcome. It returns false if the parent was not waiting for it. If the
// outcome counts more pieces than the parent has given, end counts the given ones.
func (w *Work) end(outcome chat.Outcome) bool {
	if !w.Open() || outcome.N <= w.Ended {
		return false
	}
	w.Ended, w.How, w.Gist = min(outcome.N, w.Given), WorkDone, blobs.Gist(outcome.Text)
	if outcome.Failed {
		w.How = WorkFailed
	}
	return true
}

// Child is an identity that works for this one.
type Child struct {
	Name string    `json:"name"`
	Room string    `json:"room"`
	Call string    `json:"call"` // the SPAWN that made it
	At   time.Time `json:"at"`   // the time in the line of its brief
	// For are the rooms that wait for the newest piece of work; Peers is true if only agents wait there.
	For   []string `json:"for,omitempty"`
	Peers bool     `json:"peers,omitempty"`
	Step  string   `json:"step,omitempty"` // of the plan that it works for; its result opens no turn
	Work
}

// Task is the work of an identity that is a child itself.
type Task struct {
	Parent string `json:"parent"` // the parent's name
	Room   string `json:"room"`   // the room of their talk
	Work
}

// Family holds the children of an identity, and its own task if it is a child itself.
type Family struct {
	Children []Child `json:"children,omitempty"` // oldest first
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

// Working returns the children that still owe a result.
func (f *Family) Working() []Child {
	return without(f.Children, func(c Child) bool { return !c.Open() })
}

// spawned notes the child of a call. Its brief is the first line that the parent owes its room. The work is for the
// rooms that wait when that line is owed, or for others if no room waits.
func (f *Family) spawned(call, name string, brief event.Posting, others ...string) {
	child := Child{Name: name, Room: brief.Posts[0].Room, Call: call, At: brief.TS, For: others}
	f.Children = plus(f.Children, child)
}

// notSpawned forgets the child of a call that has failed.
func (f *Family) notSpawned(call string) {
	f.Children = without(f.Children, func(c Child) bool { return c.Call == call })
}

// gives notes that a line is owed to a room. In a child's room the line is a piece of work
// for the rooms in due that wait now.
func (f *Family) gives(room string, due Due) {
	f.Children = slices.Clone(f.Children)
	child := f.Child(room)
	if child == nil {
		return
	}
	child.Given++
	switch {
	case len(due.Waiting) > 0:
		child.For, child.Peers = due.Waiting, false
	case len(due.Peers) > 0:
		child.For, child.Peers = due.Peers, true
	}
}

// Results reports whether one of lines is an outcome of this child that the parent still awaits.
func (c Child) Results(lines []chat.Line) (any bool) {
	for _, line := range lines {
		outcome, ok := chat.ParseOutcome(line.Text)
		if ok && line.By(c.Name) {
			any = c.end(outcome) || any
		}
	}
	return any
}

// Works reports whether the identity is a child that owes a result.
func (f *Family) Works() bool { return f.Task != nil && f.Task.Open() }

// FromParent reports whether a line in a room is work for this child.
func (f *Family) FromParent(room string, line chat.Line) bool {
	if f.Task == nil || room != f.Task.Room {
		return false
	}
	return line.By(f.Task.Parent)
}

// giveWork counts a line of a child's parent as a piece of work. If a /stop stands behind the line, it ends the work at
// once.
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

// plain puts a space before a child's text that looks like an outcome, since only the daemon
// may write the outcomes of a child.
func (f *Family) plain(text string) string {
	if _, ok := chat.ParseOutcome(text); ok && f.Task != nil {
		return " " + text
	}
	return text
}
