// Package listen hears for an identity: it takes in the lines of its rooms, obeys the commands among them, finds
// answers to questions, and asks what wakes the identity by itself.
//
//	l := listen.New(view, listen.Config{Hearing: hearing, Watcher: watcher}, outbox, thinker, wakes)
//	more, err := l.Listen() // new lines are entries now; more: a room holds more
//
// The loop calls it, and nobody else: between turns Listen and FireDue, during one PollCommands, which leaves a /stop
// to the loop. It commits each line once, whatever people do to the files of rooms meanwhile: a room that was edited or
// replaced is read again from its cursor, which knows the bytes before it.
//
// Lines become entries in intake.go; rooms.go follows the links of an identity and looks at the files of its rooms;
// commands are obeyed in command.go, and answers found in answer.go; source.go asks what wakes the identity by itself.
package listen

import (
	"fmt"
	"path/filepath"
	"time"

	"lethe"
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/part"
	"lethe/agent/wake"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Hearing names the people that an identity hears, and what else wakes it.
type Hearing struct {
	People        []string      // users who may answer questions, approve calls and raise budgets
	Switchers     []string      // users who may give /model; nil: everybody
	Mentions      bool          // a line of others wakes it only if it mentions it: chat.Mentions
	MaxAgentTurns int           // turns in a room where only agents speak; default 8
	Notify        []string      // rooms that also tell people when they are needed: chat.NotifyRoom
	Reviews       home.Identity // that this one reviews; default nobody
	Reviewer      string        // the name of the identity that reviews this one; default nobody

	AddTriggers string   // when the identity may make and change triggers: wake.AddSpoken (default) or wake.AddAlways
	Webhooks    []string // triggers of mail whose directories the HTTP server fills: ada/github

	RestAfter time.Duration // of nothing to do, a run ends with a *home.Rest; 0: never
}

// Config holds the settings of a Listener.
type Config struct {
	Hearing
	Watcher     *chat.Watcher
	Budget      budget.Limits // that /budget tells of
	ReviewEvery time.Duration // as in wake.Review
}

// Thinker is as much of an identity's thinking as its Listener needs.
type Thinker interface {
	// BatchChars bounds the weighted characters that a round of lines may bring into the context.
	BatchChars() int
	// Tokens estimates the tokens of weighted characters.
	Tokens(weight int) int
	// AskAtOnce ends a rest of the model: somebody is there.
	AskAtOnce()
	// Hint records the best of hits, if the context has room for it.
	Hint(why string, hits []recall.Hit) error

	// TryModel tries the model that somebody named, and returns an answer to that. taken is "" if the model refuses.
	TryModel(name string) (taken, say string, err error)
	// TakePartial returns the beginning of an answer that a /stop cut off, once.
	TakePartial() mind.Answer
	// Release settles what is put aside of the budget by LIFE.
	Release() error
}

// Listener hears for one identity. Only Wake may be called from other goroutines than the loop's.
type Listener struct {
	*part.View
	conf    Config
	outbox  *part.Outbox
	thinker Thinker

	rooms map[string]*progress
	subs  subscribed

	changed <-chan struct{} // something that concerns the identity changed on disk
	unwatch func()
	watched []chat.Scope // changes there are told

	woken    chan struct{}  // a source has something to say
	sources  []wake.Source  // what wakes the identity by itself
	Triggers *wake.Triggers // a source
	jobs     wake.Jobs      // a source
	plans    wake.Plans     // a source, where the workspace is its own
	due      time.Time      // when the clock makes them due again, as of the last look
	missing  time.Time      // when it was found that lines have gone from rooms unheard

	rest   home.Rest // begins at restAt, unless something happens before
	restAt time.Time // zero while there is something to do
}

// New returns the Listener of an identity, with the sources that wake it by itself, which are
// configured by wakes.
func New(view *part.View, config Config, outbox *part.Outbox, thinker Thinker, wakes wake.Config) *Listener {
	l := &Listener{
		View: view, conf: config, outbox: outbox, thinker: thinker,
		unwatch: func() {}, woken: make(chan struct{}, 1), rooms: map[string]*progress{},
	}
	l.Triggers, l.jobs = wake.NewTriggers(wakes), wake.Jobs{Config: wakes}
	l.sources = []wake.Source{l.Triggers, l.jobs}
	isOwn := view.Tools.Workspace == filepath.Join(view.ID.Dir, "workspace") // and no parent's, nor shared
	if isOwn {
		l.plans.Config = wakes
		l.sources = append(l.sources, &l.plans)
	}
	if config.Reviews.Self != "" {
		review := &wake.Review{Config: wakes, Of: config.Reviews, Every: config.ReviewEvery}
		l.sources = append(l.sources, review)
	}
	return l
}

// Changed sends when something that concerns the identity has changed on disk.
func (l *Listener) Changed() <-chan struct{} { return l.changed }

// Woken sends when a source may have become due.
func (l *Listener) Woken() <-chan struct{} { return l.woken }

// Heard returns how many bytes of each room that is heard have been taken in. A room that was cut counts as short as it
// is now.
func (l *Listener) Heard() map[string]int64 {
	heard := map[string]int64{}
	for _, room := range l.Joined() {
		heard[room] = min(l.cursor(room).Offset, l.progress(room).size)
	}
	return heard
}

// Trouble says, to people, which rooms cannot be read, and which triggers fail: a line each, in no order.
func (l *Listener) Trouble() (lines []string) {
	for room, progress := range l.rooms {
		if progress.unreadable != "" {
			lines = append(lines, fmt.Sprintf("room %s cannot be read: %s", room, progress.unreadable))
		}
	}
	if l.State.Apart() {
		lines = append(lines, l.silent()...)
	}
	for _, t := range l.Triggers.Status() {
		if t.Error != "" {
			lines = append(lines, fmt.Sprintf("trigger %s: %s", t.Name, t.Error))
		}
	}
	return lines
}

// silent says why the identity says nothing in rooms that it hears: their settings make no sense, or it has spoken there,
// and somebody reads them now who may not read what it says.
func (l *Listener) silent() (lines []string) {
	for _, room := range l.Joined() {
		isAllowed := len(l.State.Readers) == 1 && len(l.Speaks()) > 0 // by the only person
		isMute := !l.State.MaySay(room) && !isAllowed && len(l.State.Rooms[room].Posted) > 0
		_, err := chat.ReadAbout(l.Home.Dir, room)
		switch {
		case err != nil:
			lines = append(lines, fmt.Sprintf("room %s: %v", room, err))
		case isMute:
			lines = append(lines, fmt.Sprintf("room %s is silent: %s may read it, and what is said is for %s. "+
				"Take the others out of readers, say /audience there with all names, and put them back",
				room, l.State.RoomReaders(room), l.State.Readers))
		}
	}
	return lines
}

// Happened tells the Listener of a line of LIFE.
func (l *Listener) Happened(e life.Event) {
	if progress := l.rooms[e.Get("room")]; progress != nil {
		progress.readAhead = nil // the state's cursor knows better now
	}
}

// FirstHeard bounds the lines of a room that a first subscription hears.
const FirstHeard = 20

// Listen takes in new lines, and runs the commands that stand further behind. It
// reports whether a room holds more.
func (l *Listener) Listen() (more bool, err error) {
	more, held, err := l.readRooms()
	isBehind := more || held
	if isBehind && err == nil {
		_, err = l.PollCommands(false)
	}
	return more, err
}

// readRooms takes in the lines since the last look, room by room, each in the
// order of its file. It reports whether a room holds more: a flood becomes at most
// compactor.MaxEntries entries before the next model call. Lines of rooms that other people read than the rooms of the
// turn are held back until its end.
func (l *Listener) readRooms() (more, held bool, err error) {
	for _, room := range l.Joined() { // before it is asked who may read them
		l.lookInto(room)
	}
	if err := l.FollowLinks(); err != nil {
		return false, false, err
	}
	rooms, news := l.Joined(), 0
	for _, room := range rooms {
		if l.progress(room).size != l.cursor(room).Offset {
			news++
		}
	}
	for _, room := range rooms {
		progress := l.progress(room)
		look := progress.look
		if progress.size == l.cursor(room).Offset && progress.read.Same(look) {
			continue
		}
		if l.State.Holds(room) {
			held = true
			if err := l.resumeFor(room); err != nil {
				return false, false, err
			}
			continue
		}
		left, err := l.readRoom(room, max(1, news))
		if err != nil {
			return false, false, err
		}
		progress.read = look
		if left || progress.unreadable != "" {
			progress.read = durable.Look{}
		}
		more = more || left
	}
	return more, held, nil
}

// resumeFor ends the pause of a turn for which the lines of a room wait, once for what people have said there.
func (l *Listener) resumeFor(room string) error {
	progress := l.progress(room)
	if l.State.Paused == "" || progress.resumed == progress.size {
		return nil
	}
	progress.resumed = progress.size
	batch, err := l.readLines(l.Path(room), l.cursor(room), 1<<20)
	if err != nil || all(batch.Lines, func(line chat.Line) bool { return line.Agent }) {
		return nil // readRoom says why
	}
	return l.Happen(event.Resumed{Version: lethe.Version, Why: "asked"})
}

// readLines is chat.Read. /forget is a command also when the configured reviewer says it.
func (l *Listener) readLines(path string, at chat.Cursor, size int) (chat.Batch, error) {
	batch, err := chat.Read(path, at, size)
	if l.conf.Reviewer == "" {
		return batch, err
	}
	for i := range batch.Lines {
		line := &batch.Lines[i]
		if !line.By(l.conf.Reviewer) {
			continue
		}
		said := *line
		said.Agent = false
		if name, arg := chat.Command(said); name == "forget" {
			line.Command, line.Arg = name, arg
		}
	}
	return batch, err
}
