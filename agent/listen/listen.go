// Package listen hears for an identity: it takes in the lines of its rooms, obeys the commands among them, finds
// answers to questions, and asks what wakes the identity by itself.
//
//	l := listen.New(view, listen.Config{Hearing: hearing, Watcher: watcher}, outbox, thinker, wakes)
//	more, err := l.Listen() // new lines are entries now; more: a room holds more
//
// The loop calls it, and nobody else: between turns Listen and FireDue, during one PollCommands, which leaves a /stop
// to the loop. It commits each line once, whatever people do to the files of rooms meanwhile: a room that was edited or
// replaced is read again from its cursor, which knows the bytes before it.
package listen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/part"
	"lethe/agent/wake"
	"lethe/chat"
	"lethe/compactor"
	"lethe/compactor/recall"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
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
	due      time.Time      // when the clock makes them due again, as of the last look
	missing  time.Time      // when it was found that lines have gone from rooms unheard
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
	for _, t := range l.Triggers.Status() {
		if t.Error != "" {
			lines = append(lines, fmt.Sprintf("trigger %s: %s", t.Name, t.Error))
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

// firstHeard bounds the lines of a room that a first subscription hears.
const firstHeard = 20

// listen takes in new lines, and runs the commands that stand further behind. It
// reports whether a room holds more.
func (l *Listener) Listen() (more bool, err error) {
	more, err = l.readRooms()
	if more && err == nil {
		_, err = l.PollCommands(false)
	}
	return more, err
}

// readRooms takes in the lines since the last look, room by room, each in the
// order of its file. It reports whether a room holds more: a flood becomes at most
// compactor.MaxEntries entries before the next model call.
func (l *Listener) readRooms() (more bool, err error) {
	if err := l.Subscriptions(); err != nil {
		return false, err
	}
	rooms, news := l.Joined(), 0
	for _, room := range rooms {
		l.lookInto(room)
		if l.progress(room).size != l.cursor(room).Offset {
			news++
		}
	}
	for _, room := range rooms {
		look, progress := l.lookInto(room), l.progress(room) // to read another one may have taken a while
		if progress.size == l.cursor(room).Offset && progress.read.Same(look) {
			continue
		}
		left, err := l.readRoom(room, max(1, news))
		if err != nil {
			return false, err
		}
		progress.read = look
		if left || progress.unreadable != "" {
			progress.read = durable.Look{}
		}
		more = more || left
	}
	return more, nil
}

// intake holds the news of one look into a room.
type intake struct {
	room     string
	progress *progress
	quota    int     // weighted characters that it may still bring into the context
	entries  []entry // to be committed

	run   []chat.Line // lines of the entry that follows
	from  int64       // offset at which that entry begins
	moved bool        // that entry is the first of another file
	over  bool        // that entry owes no answer

	open []string // questions that these entries leave open
	cite []string // answers that a person could have meant: each question gets its answer spelled out
}

// entry is an inbound entry that is to be committed.
type entry struct {
	event event.Inbound
	body  part.Body
	shown string      // as it would stand in the context, whole
	heard []chat.Line // its lines that are not the identity's own
}

// readRoom takes in the news of one room. It may bring in one share of a round's quota, which is parted by the number
// of rooms with news. more says that the room holds more.
func (l *Listener) readRoom(room string, sharers int) (more bool, err error) {
	in := &intake{room: room, progress: l.progress(room), quota: l.thinker.BatchChars() / sharers}
	most := max(1, compactor.MaxEntries/sharers)
	unread := in.progress.size - l.cursor(room).Offset
	size := min(compactor.MaxEntry, max(compactor.EntryBytes, unread/int64(most)))
	for range most {
		batch, err := l.readLines(l.Path(room), l.cursor(room), int(size))
		if err != nil {
			return l.cannotRead(room, err), l.commitEntries(in)
		}
		in.progress.unreadable = ""
		if batch.Missing {
			return false, l.commitEntries(in)
		}
		if batch.Realigned || batch.Restarted {
			in.progress.scanned, in.progress.replaced = scanned{}, true // its offsets are another file's
			in.progress.old, _ = chat.End(l.Path(room))
			l.findHistory(room)
		}
		if len(batch.Lines) == 0 && !batch.More {
			in.progress.readAhead = &batch.Next // an aligned cursor need not be aligned again
			return false, l.commitEntries(in)
		}
		if batch.Restarted && l.State.Rooms[room].Cursor.Offset > 0 {
			const text = "a room was replaced and nothing in it was heard before; it is read from its start"
			l.Log.Warn(text, "room", room)
		}
		if err := l.splitBatch(batch, in); err != nil {
			return false, err
		}
		if in.progress.replaced { // the next lines are told from own ones by the new offsets
			if err := l.commitEntries(in); err != nil {
				return false, err
			}
		}
		if !batch.More {
			return false, l.commitEntries(in)
		}
	}
	return true, l.commitEntries(in)
}

// splitBatch makes inbound entries of the runs of lines between commands, which it
// runs.
func (l *Listener) splitBatch(batch chat.Batch, in *intake) error {
	in.from, in.moved = batch.After(0).Offset, in.progress.replaced
	for i, line := range batch.Lines {
		if over := l.over(in.room, line, in.moved); over != in.over {
			l.endRun(in, batch.After(i))
			in.over = over
		}
		if taken, err := l.takeAnswer(in, batch, i); err != nil {
			return err
		} else if taken {
			continue
		}
		if !l.isCommand(in.room, line, in.moved) || l.alreadyHeard(in.room, line, in.moved) {
			in.run = append(in.run, line)
			continue
		}
		l.endRun(in, batch.After(i))
		if err := l.commitEntries(in); err != nil {
			return err
		}
		if err := l.runCommand(in.room, line, batch.After(i+1), false); err != nil {
			return err
		}
		in.from, in.moved = line.To, false
	}
	l.endRun(in, batch.Next)
	in.progress.readAhead = &batch.Next
	return nil
}

// alreadyHeard reports whether the identity posted a line itself, or has run it as a
// command already. A command without a tag, as editors leave it, looks
// like any later one.
func (l *Listener) alreadyHeard(room string, line chat.Line, moved bool) bool {
	heard, signed := l.State.Rooms[room], l.signed(line)
	posting := func(p mind.Post) bool { return p.Room == room && strings.HasPrefix(p.Line, string(line.Raw)) }
	if signed && slices.ContainsFunc(l.State.Outbox, posting) {
		return true // an attempt at a post that failed, and yet is there, or its beginning
	}
	// Offsets count in one file only, and another file may have taken the name of this one unnoticed.
	command := line.Command != ""
	if !signed && !command {
		return false
	}
	if !moved && mind.Covered(heard.Own, line.From, line.To) {
		return true
	}
	old := line.Tagged && line.From < l.progress(room).old.Size()
	if !signed && !old { // a new command
		return false
	}
	return slices.Contains(heard.Posted, line.Hash)
}

// endRun makes an entry of the lines so far, unless all are the identity's own. next is the cursor behind them.
func (l *Listener) endRun(in *intake, next chat.Cursor) {
	var made entry
	var text []byte
	var own []event.Span
	agents, woken, called := 0, false, !l.conf.Mentions
	for _, line := range in.run {
		at := int64(len(text))
		text = append(append(text, line.Raw...), '\n')
		if l.alreadyHeard(in.room, line, in.moved) {
			own = mind.AddSpan(own, event.Span{From: at, To: int64(len(text))})
			continue
		}
		made.heard = append(made.heard, line)
		wakes := l.State.Waking(in.room, line.Hash) || l.State.FromParent(in.room, line)
		woken = woken || wakes
		called = called || chat.Mentions(line.Text, l.ID.Name, chat.Everybody)
		if line.Agent {
			agents++
		}
	}
	from, heard := in.from, len(made.heard)
	in.run, in.from = nil, next.Offset
	if heard == 0 {
		return
	}
	peers := l.State.Rooms[in.room].AgentTurns >= l.conf.MaxAgentTurns // have talked enough
	chatter := agents == heard && peers
	asleep := chatter || !called
	if c := l.State.Child(in.room); c != nil { // nothing but a result wakes
		asleep = !c.Results(made.heard) || peers
		if slices.ContainsFunc(made.heard, func(line chat.Line) bool { return line.Name != c.Name }) {
			defer l.outbox.CallChild(in.room)
		}
	}
	made.event = event.Inbound{
		Passage: event.Passed(in.room, from, next), Lines: heard, Own: own, Moved: in.moved,
	}
	made.event.Asleep = in.over || asleep && !woken
	first := made.heard[0]
	gist := fmt.Sprintf("%s: %s", in.room, first.Text)
	if heard > 1 {
		gist = fmt.Sprintf("%s: %d lines, from %s: %s", in.room, heard, first.Name, first.Text)
	}
	made.body, made.shown = part.Body{Gist: gist, Data: text}, mind.Heard(text, own)
	in.entries, in.moved = append(in.entries, made), false
}

// commitEntries commits the entries of an intake, with what users granted in them.
// They share the rest of its quota.
func (l *Listener) commitEntries(in *intake) error {
	if len(in.entries) == 0 {
		return nil
	}
	out, granted := l.leftOpen(in)
	for i, entry := range in.entries {
		if entry.event.Moved {
			in.progress.replaced = false
		}
		if entry.event.Asleep && entry.event.At.From < in.progress.history {
			out = append(out, part.Noted("history", "history of room "+in.room, mind.HistoryText))
		}
		share := min(in.quota, in.quota/(len(in.entries)-i))
		entry.event.Show = mind.Fit(entry.shown, entry.body.Gist, len(entry.shown), share, llm.Weight)
		if entry.event.Show > 0 {
			entry.event.Places = true
			in.quota -= max(0, share)
		} else {
			in.quota -= llm.Weight(entry.shown)
		}
		grants, images := lookup.Named(l.Store, l.State, entry.heard, in.quota/message.WeightPicture)
		in.quota -= len(images) * message.WeightPicture
		entry.event.Images = images
		out = append(out, part.Record{Event: entry.event, Texts: []part.Body{entry.body}})
		for _, g := range grants {
			granted = append(granted, part.Record{Event: g})
		}
	}
	in.entries = nil
	l.thinker.AskAtOnce() // somebody is there
	return l.Commit(append(out, granted...)...)
}

// signed reports whether a line begins as the identity's own do, even if it is cut off.
func (l *Listener) signed(line chat.Line) bool {
	return bytes.HasPrefix(line.Raw, []byte("[AGENT:"+l.ID.Name+" "))
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

// over reports whether nobody waits for an answer to a line: a /stop behind it was obeyed, or others have answered
// it. What wakes this identity alone is nobody else's to answer.
func (l *Listener) over(room string, line chat.Line, moved bool) bool {
	if !moved && line.From < l.State.Rooms[room].Stopped {
		return true
	}
	if line.From >= l.progress(room).history || l.State.Waking(room, line.Hash) {
		return false
	}
	return !l.conf.Mentions || !chat.Mentions(line.Text, l.ID.Name)
}
