// Package part holds the things that the parts of an identity share: a View of the identity, the one Door through which
// they change it, and the Outbox, which posts the lines that it owes to rooms.
//
// A part embeds the View. It reads the State, asks the View where lines go, and commits what happens:
//
//	err := p.Commit(part.Noted("cut", "answer cut off", text))
//
// Only the goroutine of the loop uses a View.
package part

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
)

// Record is an event to be committed, with its texts.
type Record = journal.Record

// Body is a text that a commit stores.
type Body = journal.Text

// Noted is a note to the model. What is kept goes into blobs beside the note's.
func Noted(why, gist, text string, kept ...Body) Record {
	return journal.Told(event.Note{Why: why}, gist, text, kept...)
}

// View shows an identity to its parts. They read the State, and change it by commits; a new epoch, or an edit
// of the context, replaces it by State.Become and State.Amend.
type View struct {
	ID     home.Identity
	Home   home.Home
	Store  *blobs.Store
	Log    *slog.Logger
	Zone   *time.Location // of the times that people read
	Notify []string       // rooms that also tell people when they are needed
	State  *mind.State    // what LIFE says

	Tools  *tools.Set
	Team   *children.Team // runs the identity's children; nil where nobody does
	Screen *status.View   // where others see the identity
	Wishes []home.Wish    // of people, as of the last look
	wishes durable.Look   // their directory at that time

	Door
	Loop
}

// Door is as much of the journal as parts use: through it alone they write into LIFE, and change the State.
type Door interface {
	// Commit makes records happen, together: they are in LIFE and folded into the State when it returns.
	Commit(records ...Record) error
	// CancelCalls commits a result for each call of the newest reply without one: why says why the call did not start.
	CancelCalls(why string) error
	// Epoch commits records and a snapshot of the State behind them. change, which may be nil, is made to the State
	// first.
	Epoch(why string, change func(*mind.State) error, records ...Record) error

	// Put stores a text of the life. It is durable with the next commit.
	Put(m blobs.Meta, text []byte) (mind.Ref, error)
	// ReadOwn reads one of the identity's own files.
	ReadOwn(name string) ([]byte, error)
	// Wrote is the version of an own file that a call has written although it was cut short.
	Wrote(call, tool string) event.File
	// Now is the time of the next event.
	Now() time.Time
}

// Loop has the functions of the loop that parts call.
type Loop struct {
	// During runs f beside the loop, which goes on listening for commands.
	During func(ctx context.Context, f func(context.Context)) error
	// Show tells others what the identity does: a state of package status, and the tool that runs, or "".
	Show func(state, tool string)
	// ShowResting shows where the identity stands between turns; when it returns, others see it.
	ShowResting func()
	// StatusLine says to people what Show tells.
	StatusLine func() string
}

// Happen commits one event.
func (v *View) Happen(e event.Event) error { return v.Commit(Record{Event: e}) }

// Tell commits a note about a text, once for each version of the text.
func (v *View) Tell(why string, about mind.Text, gist, note string) error {
	if v.State.Knows(about) {
		return nil
	}
	return v.Commit(journal.Told(event.Note{Why: why, File: about.Version()}, gist, note))
}

// Pause stops asking the model until a person acts, or until a time if there is one, and says so where people are.
func (v *View) Pause(why, say string, until time.Time) error {
	v.Log.Error("paused", "why", why, "until", until)
	rooms := v.People()
	if v.State.Works() { // its failure is said there, and only a line there calls it again
		say = fmt.Sprintf("My work in room %s has failed: %s.", v.State.Task.Room, strings.TrimRight(why, ". "))
		rooms = slices.DeleteFunc(rooms, func(room string) bool { return room == v.State.Task.Room })
	}
	if v.State.Told != mind.ToldPause(until) { // once, however often somebody speaks before the next reply
		rooms = v.Notified(rooms...)
	}
	return v.Happen(event.Paused{Why: why, Until: until, Notice: v.Notice(say, rooms...)})
}

// Posting fixes when and where a line is posted.
func (v *View) Posting(rooms ...string) event.Posting {
	posting := event.Posting{TS: time.Now().UTC().Truncate(time.Second)}
	for _, room := range rooms {
		end, _ := chat.End(v.Path(room)) // an error is found when it is posted, and all is searched
		posting.Posts = append(posting.Posts, event.Place{Room: room, Mark: end})
	}
	return posting
}

// Notice is a line that the daemon says in rooms; with no rooms, it says nothing.
func (v *View) Notice(text string, rooms ...string) event.Notice {
	if len(rooms) == 0 {
		return event.Notice{}
	}
	return event.Notice{Say: text, Posting: v.Posting(rooms...)}
}

// Notified returns rooms, and behind them the rooms of Notify: there people who may read the first of the rooms, or
// without one what the identity says, notice a line wherever they are.
func (v *View) Notified(rooms ...string) []string {
	return chat.Notify(v.noticesOf(rooms), "", rooms...)
}

func (v *View) noticesOf(rooms []string) []string {
	readers := v.State.Readers
	if len(rooms) > 0 {
		readers = v.State.RoomReaders(rooms[0])
	}
	return slices.DeleteFunc(slices.Clone(v.Notify), func(notices string) bool {
		return !readers.Has(chat.Notified(notices))
	})
}

// Path returns the file of a room.
func (v *View) Path(room string) string { return v.Home.Room(room) }

// Joined returns the rooms that are heard, sorted.
func (v *View) Joined() []string {
	var out []string
	for name, r := range v.State.Rooms {
		if r.Joined {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Speaks returns the rooms in which the identity may speak: those that are heard, and that nobody reads who is not in
// its audience.
func (v *View) Speaks() []string {
	return slices.DeleteFunc(v.Joined(), func(room string) bool { return !v.State.MaySay(room) })
}

// Company returns the rooms in which it may speak, without the rooms of the identity's children: to a child every line
// is work.
func (v *View) Company() []string {
	return slices.DeleteFunc(v.Speaks(), func(room string) bool { return v.State.Child(room) != nil })
}

// Mentioned returns rooms that the same people read, and the rooms for notices of those of them whom a text mentions.
func (v *View) Mentioned(text string, rooms ...string) []string {
	return chat.Notify(v.noticesOf(rooms), text, rooms...)
}

// Audience returns the rooms for a final text: all that wait for it and are still heard. A child's room of work counts
// as heard.
func (v *View) Audience() []string {
	joined := v.Speaks()
	if v.State.Works() {
		joined = append(joined, v.State.Task.Room)
	}
	return slices.DeleteFunc(v.State.Audience(), func(room string) bool { return !slices.Contains(joined, room) })
}

// People returns the rooms where somebody waits for an answer, else all rooms where people may be.
func (v *View) People() []string {
	if rooms := v.Audience(); len(rooms) > 0 {
		return rooms
	}
	return v.Company()
}

// Busy reports whether anything is owed that /stop would clear.
func (v *View) Busy() bool {
	calls := len(v.State.Owed().Calls) + len(v.State.Approved)
	return v.State.Owes || calls+len(v.State.Waiting) > 0
}

// StopReason returns why the identity is to stop, or "". It knows the wishes of the last look.
func (v *View) StopReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "signal"
	}
	if v.Wished(home.WishStop) {
		return home.StopReason(v.ID)
	}
	return ""
}

// ReadWishes looks at the wishes of people, and obeys any that waits for nothing. The watcher tells of later ones.
func (v *View) ReadWishes() {
	now := durable.LookAt(home.WishDir(v.ID))
	if v.wishes.Same(now) {
		return
	}
	v.wishes, v.Wishes = now, home.Wishes(v.ID)
	for _, w := range v.Wishes {
		if job, ok := w.Of(home.WishStopJob); ok {
			_ = w.Drop(v.ID)
			n, _ := strconv.Atoi(job)
			_ = v.Tools.StopJob(n, "by a person") // if it does not run, it has ended meanwhile
		}
	}
}

// Wished reports whether a wish without an argument was there at the last look.
func (v *View) Wished(w home.Wish) bool { return slices.Contains(v.Wishes, w) }

// Obeyed removes a wish that the identity has obeyed.
func (v *View) Obeyed(w home.Wish) error {
	v.Wishes = slices.DeleteFunc(v.Wishes, func(other home.Wish) bool { return other == w })
	return w.Drop(v.ID)
}
