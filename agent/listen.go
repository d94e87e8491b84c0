package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/wake"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
)

// listener takes in what is said in rooms, obeys commands, finds answers to questions, and asks what wakes the
// identity by itself.
type listener struct {
	*view
	outbox  *outbox
	thinker *thinker
	caller  *caller

	rooms map[string]*progress
	subs  subscribed

	changed <-chan struct{} // something that concerns the identity changed on disk
	unwatch func()
	watched []chat.Scope // changes there are told

	woken    chan struct{}  // a source has something to say
	sources  []wake.Source  // what wakes the identity by itself
	triggers *wake.Triggers // one of them
	jobs     wake.Jobs      // another
	due      time.Time      // when the clock makes them due again, as of the last look
	missing  time.Time      // when it was found that lines have gone from rooms unheard
}

// firstHeard bounds the lines of a room that a first subscription hears.
const firstHeard = 20

// listen takes in new lines, and runs the commands that stand further behind. It
// reports whether a room holds more.
func (l *listener) listen() (more bool, err error) {
	more, err = l.readRooms()
	if more && err == nil {
		_, err = l.pollCommands(false)
	}
	return more, err
}

// readRooms takes in the lines since the last look, room by room, each in the
// order of its file. It reports whether a room holds more: a flood becomes at most
// compactor.MaxEntries entries before the next model call.
func (l *listener) readRooms() (more bool, err error) {
	if err := l.subscriptions(); err != nil {
		return false, err
	}
	rooms, news := l.joined(), 0
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
	body  body
	shown string      // as it would stand in the context, whole
	heard []chat.Line // its lines that are not the identity's own
}

// readRoom takes in the news of one room. It may bring in one share of a round's quota, which is parted by the number
// of rooms with news. more says that the room holds more.
func (l *listener) readRoom(room string, sharers int) (more bool, err error) {
	in := &intake{room: room, progress: l.progress(room), quota: l.thinker.batchChars() / sharers}
	most := max(1, compactor.MaxEntries/sharers)
	unread := in.progress.size - l.cursor(room).Offset
	size := min(compactor.MaxEntry, max(compactor.EntryBytes, unread/int64(most)))
	for range most {
		batch, err := l.readLines(l.path(room), l.cursor(room), int(size))
		if err != nil {
			return l.cannotRead(room, err), l.commitEntries(in)
		}
		in.progress.unreadable = ""
		if batch.Missing {
			return false, l.commitEntries(in)
		}
		if batch.Realigned || batch.Restarted {
			in.progress.scanned, in.progress.replaced = scanned{}, true // its offsets are another file's
			in.progress.old, _ = chat.End(l.path(room))
			l.findHistory(room)
		}
		if len(batch.Lines) == 0 && !batch.More {
			in.progress.readAhead = &batch.Next // an aligned cursor need not be aligned again
			return false, l.commitEntries(in)
		}
		if batch.Restarted && l.state.Rooms[room].Cursor.Offset > 0 {
			const text = "a room was replaced and nothing in it was heard before; it is read from its start"
			l.cfg.Log.Warn(text, "room", room)
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
func (l *listener) splitBatch(batch chat.Batch, in *intake) error {
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

// alreadyHeard reports whether a line is one that the identity posted itself, or a
// command that it has run already. A command without a tag, as editors leave it, looks
// like any later one.
func (l *listener) alreadyHeard(room string, line chat.Line, moved bool) bool {
	r, signed := l.state.Rooms[room], l.signed(line)
	posting := func(p mind.Post) bool { return p.Room == room && strings.HasPrefix(p.Line, string(line.Raw)) }
	if signed && slices.ContainsFunc(l.state.Outbox, posting) {
		return true // an attempt at a post that failed, and yet is there, or its beginning
	}
	// Offsets count in one file only, and another file may have taken the name of this one unnoticed.
	command := line.Command != ""
	if !signed && !command {
		return false
	}
	if !moved && mind.Covered(r.Own, line.From, line.To) {
		return true
	}
	old := line.Tagged && line.From < l.progress(room).old.Size()
	if !signed && !old { // a new command
		return false
	}
	return slices.Contains(r.Posted, line.Hash)
}

// endRun makes an entry of the lines so far, unless all of them are the identity's own. next is the cursor behind them.
func (l *listener) endRun(in *intake, next chat.Cursor) {
	var e entry
	var text []byte
	var own []event.Span
	agents, woken, called := 0, false, !l.cfg.Mentions
	for _, line := range in.run {
		at := int64(len(text))
		text = append(append(text, line.Raw...), '\n')
		if l.alreadyHeard(in.room, line, in.moved) {
			own = mind.AddSpan(own, event.Span{From: at, To: int64(len(text))})
			continue
		}
		e.heard = append(e.heard, line)
		wakes := l.state.Waking(in.room, line.Hash) || l.state.FromParent(in.room, line)
		woken = woken || wakes
		called = called || chat.Mentions(line.Text, l.id.Name, chat.Everybody)
		if line.Agent {
			agents++
		}
	}
	from, heard := in.from, len(e.heard)
	in.run, in.from = nil, next.Offset
	if heard == 0 {
		return
	}
	peers := l.state.Rooms[in.room].AgentTurns >= l.cfg.MaxAgentTurns // have talked enough
	chatter := agents == heard && peers
	asleep := chatter || !called
	if c := l.state.Child(in.room); c != nil { // nothing but a result wakes
		asleep = !c.Results(e.heard) || peers
		if slices.ContainsFunc(e.heard, func(line chat.Line) bool { return line.Name != c.Name }) {
			defer l.outbox.callChild(in.room)
		}
	}
	e.event = event.Inbound{
		Passage: event.Passed(in.room, from, next), Lines: heard, Own: own, Moved: in.moved,
	}
	e.event.Asleep = in.over || asleep && !woken
	first := e.heard[0]
	gist := fmt.Sprintf("%s: %s", in.room, first.Text)
	if heard > 1 {
		gist = fmt.Sprintf("%s: %d lines, from %s: %s", in.room, heard, first.Name, first.Text)
	}
	e.body, e.shown = body{Gist: gist, Data: text}, mind.Heard(text, own)
	in.entries, in.moved = append(in.entries, e), false
}

// commitEntries commits the entries of an intake, with what users granted in them.
// They share the rest of its quota.
func (l *listener) commitEntries(in *intake) error {
	if len(in.entries) == 0 {
		return nil
	}
	out, granted := l.leftOpen(in)
	for k, e := range in.entries {
		if e.event.Moved {
			in.progress.replaced = false
		}
		if e.event.Asleep && e.event.At.From < in.progress.history {
			out = append(out, noted("history", "history of room "+in.room, mind.HistoryText))
		}
		share := min(in.quota, in.quota/(len(in.entries)-k))
		e.event.Show = mind.Fit(e.shown, e.body.Gist, len(e.shown), share, llm.Weight)
		if e.event.Show > 0 {
			e.event.Places = true
			in.quota -= max(0, share)
		} else {
			in.quota -= llm.Weight(e.shown)
		}
		grants, images := lookup.Named(l.store, l.state, e.heard, in.quota/message.WeightPicture)
		in.quota -= len(images) * message.WeightPicture
		e.event.Images = images
		out = append(out, record{Event: e.event, Texts: []body{e.body}})
		for _, g := range grants {
			granted = append(granted, record{Event: g})
		}
	}
	in.entries = nil
	l.thinker.askAtOnce() // somebody is there
	return l.commit(append(out, granted...)...)
}

// signed reports whether a line begins as the identity's own do, even if it is cut off.
func (l *listener) signed(line chat.Line) bool {
	return bytes.HasPrefix(line.Raw, []byte("[AGENT:"+l.id.Name+" "))
}

// readLines is chat.Read. /forget is a command also when the configured reviewer says it.
func (l *listener) readLines(path string, at chat.Cursor, size int) (chat.Batch, error) {
	batch, err := chat.Read(path, at, size)
	if l.cfg.Reviewer == "" {
		return batch, err
	}
	for i := range batch.Lines {
		line := &batch.Lines[i]
		if !line.By(l.cfg.Reviewer) {
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
func (l *listener) over(room string, line chat.Line, moved bool) bool {
	if !moved && line.From < l.state.Rooms[room].Stopped {
		return true
	}
	if line.From >= l.progress(room).history || l.state.Waking(room, line.Hash) {
		return false
	}
	return !l.cfg.Mentions || !chat.Mentions(line.Text, l.id.Name)
}
