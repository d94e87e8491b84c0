package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

type (
	record = journal.Record
	body   = journal.Text
)

// noted is a note to the model.
func noted(why, gist, text string, kept ...body) record {
	return journal.Told(event.Note{Why: why}, gist, text, kept...)
}

// view shows an identity to its parts. They read the State, and change it by commits alone.
type view struct {
	id    home.Identity
	cfg   *Config
	store *blobs.Store
	state *mind.State // what the log says
	log   door

	tools  *tools.Set
	team   *children.Team // that runs its children; nil where nobody does
	screen *status.View   // where others see the identity
	wishes []home.Wish    // of people, as of the last look

	loop
}

// door is as much of the journal as parts have: through it alone they write into LIFE, and change the State.
type door interface {
	// Commit makes records happen, together: they are in LIFE and folded into the State when it returns.
	Commit(records ...record) error
	// FinishPending commits a result for each call of the newest reply without one: it says why the call did not start.
	FinishPending(why string) error
	// Epoch commits records and a snapshot of the State behind them. change, which may be nil, is made to the State first.
	Epoch(why string, change func(*mind.State) error, records ...record) error

	// Put stores a text of the life. It is durable with the next commit.
	Put(m blobs.Meta, text []byte) (mind.Ref, error)
	// ReadOwn reads one of the identity's own files.
	ReadOwn(name string) ([]byte, error)
	// Wrote is the version of the trigger that a call has written although it was cut short.
	Wrote(c *mind.Call) event.File
	// Now is the time of the next event.
	Now() time.Time
}

// loop has the functions of the Agent that its parts call.
type loop interface {
	// during runs f beside the loop, which goes on listening for commands.
	during(ctx context.Context, f func(context.Context)) error
	// show has others see what the identity does: a state of package status, and the tool that runs, or "".
	show(state, tool string)
	// showResting shows where the identity stands between turns.
	showResting()
	// statusLine says, to people, what show has others see.
	statusLine() string
}

// commit makes records happen, together; see journal.Commit.
func (v *view) commit(records ...record) error { return v.log.Commit(records...) }

// happen records one event.
func (v *view) happen(e event.Event) error { return v.commit(record{Event: e}) }

// tell records a note about a text, once for each version of it.
func (v *view) tell(why string, about mind.Text, gist, note string) error {
	if v.state.Knows(about) {
		return nil
	}
	return v.commit(journal.Told(event.Note{Why: why, File: about.Version()}, gist, note))
}

// pause stops asking until a person acts, or until a time if there is one, and says so where
// people are.
func (v *view) pause(why, say string, until time.Time) error {
	v.cfg.Log.Error("paused", "why", why, "until", until)
	rooms := v.people()
	if v.state.Works() { // failUnfinishedWork says it there, and only a line there calls it again
		say = fmt.Sprintf("My work in room %s has failed: %s.", v.state.Task.Room, strings.TrimRight(why, ". "))
		rooms = slices.DeleteFunc(rooms, func(room string) bool { return room == v.state.Task.Room })
	}
	if v.state.Told != mind.ToldPause(until) { // once, however often somebody speaks before the next reply
		rooms = v.notify(rooms...)
	}
	return v.happen(event.Paused{Why: why, Until: until, Notice: v.notice(say, rooms...)})
}

// posting fixes when and where a line is posted.
func (v *view) posting(rooms ...string) event.Posting {
	p := event.Posting{TS: time.Now().UTC().Truncate(time.Second)}
	for _, room := range rooms {
		end, _ := chat.End(v.path(room)) // an error is found when it is posted, and all is searched
		p.Posts = append(p.Posts, event.Place{Room: room, Mark: end})
	}
	return p
}

// notice is a line that the daemon says in rooms; with no rooms, it says nothing.
func (v *view) notice(text string, rooms ...string) event.Notice {
	if len(rooms) == 0 {
		return event.Notice{}
	}
	return event.Notice{Say: text, Posting: v.posting(rooms...)}
}

// notify returns rooms, and behind them those of Config.Notify: where something is posted
// that people are to notice wherever they are.
func (v *view) notify(rooms ...string) []string {
	return chat.Notify(v.cfg.Notify, "", rooms...)
}

func (v *view) path(room string) string { return v.cfg.Home.Room(room) }

// joined returns the rooms that are heard, sorted.
func (v *view) joined() []string {
	var out []string
	for name, r := range v.state.Rooms {
		if r.Joined {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// company are the rooms that are heard, without the rooms of its children, to whom every
// line is work.
func (v *view) company() []string {
	return slices.DeleteFunc(v.joined(), func(room string) bool { return v.state.Child(room) != nil })
}

// audience are the rooms for a final text: all that wait for it and are still
// heard, and the room from which a child gets its work.
func (v *view) audience() []string {
	joined := v.joined()
	if v.state.Works() {
		joined = append(joined, v.state.Task.Room)
	}
	return slices.DeleteFunc(v.state.Audience(), func(room string) bool { return !slices.Contains(joined, room) })
}

// people are the rooms in which somebody waits for an answer, else all in which people may be.
func (v *view) people() []string {
	if rooms := v.audience(); len(rooms) > 0 {
		return rooms
	}
	return v.company()
}

// busy reports whether anything is owed that /stop would clear.
func (v *view) busy() bool {
	calls := len(v.state.Owed().Calls) + len(v.state.Approved)
	return v.state.Owes || calls+len(v.state.Waiting) > 0
}

// stopReason returns a reason to stop if there is one, else "". It knows the wishes of the last look.
func (v *view) stopReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "signal"
	}
	if v.wished(home.WishStop) {
		return home.StopReason(v.id)
	}
	return ""
}

// wished reports whether a wish without an argument was there when the wishes were read.
func (v *view) wished(w home.Wish) bool { return slices.Contains(v.wishes, w) }

// obeyed removes a wish that the identity has obeyed.
func (v *view) obeyed(w home.Wish) error {
	v.wishes = slices.DeleteFunc(v.wishes, func(other home.Wish) bool { return other == w })
	return w.Drop(v.id)
}
