package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
)

// firstHeard is how many lines a first subscription hears.
const firstHeard = 20

// listen takes in what was said, and runs the commands that stand further behind. It
// reports whether a room holds more.
func (a *Agent) listen() (more bool, err error) {
	more, err = a.readRooms()
	if more && err == nil {
		_, err = a.pollCommands(false)
	}
	return more, err
}

// readRooms takes in what was said since the last look, room by room, each in the
// order of its file. It reports whether a room holds more: a flood becomes at most
// compactor.MaxEntries entries before the next model call.
func (a *Agent) readRooms() (more bool, err error) {
	if err := a.subscriptions(); err != nil {
		return false, err
	}
	rooms, news := a.joined(), 0
	for _, room := range rooms {
		if a.lookInto(room); a.io(room).size != a.cursor(room).Offset {
			news++
		}
	}
	for _, room := range rooms {
		look, io := a.lookInto(room), a.io(room) // to read another one may have taken a while
		if io.size == a.cursor(room).Offset && io.read.Same(look) {
			continue
		}
		left, err := a.readRoom(room, max(1, news))
		if err != nil {
			return false, err
		}
		if io.read = look; left || io.unreadable != "" {
			io.read = durable.Look{}
		}
		more = more || left
	}
	return more, nil
}

// intake is what one look into a room brings in.
type intake struct {
	room    string
	io      *roomIO
	quota   int     // weighted characters that it may still bring into the context
	entries []entry // to be committed

	run   []chat.Line // of the entry after those
	from  int64       // where that entry begins
	moved bool        // and that it is the first of another file
	over  bool        // and that it owes nothing

	open []string // questions that what is to be committed leaves open
	cite []string // what to write if it was meant for one of them
}

// entry is an inbound entry that is to be committed.
type entry struct {
	event event.Inbound
	body  body
	shown string      // as it would stand in the context, whole
	heard []chat.Line // its lines that are not the identity's own
}

// readRoom takes in what is new in one room, which shares what may be taken in with
// as many others as have news. It reports whether the room holds more.
func (a *Agent) readRoom(room string, sharers int) (more bool, err error) {
	in := &intake{room: room, io: a.io(room), quota: a.thinker.batchChars() / sharers}
	most := max(1, compactor.MaxEntries/sharers)
	size := min(compactor.MaxEntry, max(compactor.EntryBytes, (in.io.size-a.cursor(room).Offset)/int64(most)))
	for range most {
		batch, err := a.readLines(a.path(room), a.cursor(room), int(size))
		if err != nil {
			return a.cannotRead(room, err), a.commitEntries(in)
		}
		in.io.unreadable = ""
		if batch.Missing {
			return false, a.commitEntries(in)
		}
		if batch.Realigned || batch.Restarted {
			in.io.scanned, in.io.replaced = scanned{}, true // its offsets are another file's
			in.io.old, _ = chat.End(a.path(room))
			a.findHistory(room)
		}
		if len(batch.Lines) == 0 && !batch.More {
			in.io.readAhead = &batch.Next // what was aligned once need not be again
			return false, a.commitEntries(in)
		}
		if batch.Restarted && a.state.Rooms[room].Cursor.Offset > 0 {
			a.cfg.Log.Warn("a room was replaced and nothing in it was heard before; it is read from its start", "room", room)
		}
		if err := a.splitBatch(batch, in); err != nil {
			return false, err
		}
		if in.io.replaced { // what comes next is told from own lines by the new offsets
			if err := a.commitEntries(in); err != nil {
				return false, err
			}
		}
		if !batch.More {
			return false, a.commitEntries(in)
		}
	}
	return true, a.commitEntries(in)
}

// splitBatch makes inbound entries of the runs of lines between commands, which it
// runs.
func (a *Agent) splitBatch(batch chat.Batch, in *intake) error {
	in.from, in.moved = batch.After(0).Offset, in.io.replaced
	for i, l := range batch.Lines {
		if over := a.over(in.room, l, in.moved); over != in.over {
			a.endRun(in, batch.After(i))
			in.over = over
		}
		if taken, err := a.takeAnswer(in, batch, i); err != nil {
			return err
		} else if taken {
			continue
		}
		if !a.isCommand(in.room, l, in.moved) || a.unheard(in.room, l, in.moved) {
			in.run = append(in.run, l)
			continue
		}
		a.endRun(in, batch.After(i))
		if err := a.commitEntries(in); err != nil {
			return err
		}
		if err := a.runCommand(in.room, l, batch.After(i+1), false); err != nil {
			return err
		}
		in.from, in.moved = l.To, false
	}
	a.endRun(in, batch.Next)
	in.io.readAhead = &batch.Next
	return nil
}

// unheard reports whether a line is one that the identity posted itself, or a
// command that it has run already. A command without a tag, as editors leave it, looks
// like any later one.
func (a *Agent) unheard(room string, l chat.Line, moved bool) bool {
	r, signed := a.state.Rooms[room], a.signed(l)
	posting := func(p mind.Post) bool { return p.Room == room && strings.HasPrefix(p.Line, string(l.Raw)) }
	if signed && slices.ContainsFunc(a.state.Outbox, posting) {
		return true // an attempt at a post that failed, and yet is there, or its beginning
	}
	// Offsets mean nothing in another file, and a file may have become another
	// one behind the cursor, where nothing tells.
	if !moved && (l.Command != "" || signed) && mind.Covered(r.Own, l.From, l.To) {
		return true
	}
	return (signed || l.Command != "" && l.Tagged && l.From < a.io(room).old.Size()) && slices.Contains(r.Posted, l.Hash)
}

// endRun makes an entry of the lines so far. There is none when all of them are the
// identity's own. next is the cursor behind them.
func (a *Agent) endRun(in *intake, next chat.Cursor) {
	var e entry
	var text []byte
	var own []event.Span
	agents, woken, called := 0, false, !a.cfg.Mentions
	for _, l := range in.run {
		at := int64(len(text))
		text = append(append(text, l.Raw...), '\n')
		if a.unheard(in.room, l, in.moved) {
			own = mind.AddSpan(own, event.Span{From: at, To: int64(len(text))})
			continue
		}
		e.heard = append(e.heard, l)
		woken = woken || a.state.Waking(in.room, l.Hash) || a.state.FromParent(in.room, l)
		called = called || chat.Mentions(l.Text, a.id.Name, chat.Everybody)
		if l.Agent {
			agents++
		}
	}
	from, heard := in.from, len(e.heard)
	in.run, in.from = nil, next.Offset
	if heard == 0 {
		return
	}
	peers := a.state.Rooms[in.room].AgentTurns >= a.cfg.MaxAgentTurns // have talked enough
	asleep := agents == heard && peers || !called
	if c := a.state.Child(in.room); c != nil { // nothing but a result wakes
		asleep = !c.Results(e.heard) || peers
		if slices.ContainsFunc(e.heard, func(l chat.Line) bool { return l.Name != c.Name }) {
			defer a.outbox.callChild(in.room)
		}
	}
	e.event = event.Inbound{
		Passage: event.Passed(in.room, from, next), Lines: heard, Own: own, Moved: in.moved,
		Asleep: asleep && !woken || in.over,
	}
	first := e.heard[0]
	gist := fmt.Sprintf("%s: %s", in.room, first.Text)
	if heard > 1 {
		gist = fmt.Sprintf("%s: %d lines, from %s: %s", in.room, heard, first.Name, first.Text)
	}
	e.body, e.shown = body{Gist: gist, Data: text}, mind.Heard(text, own)
	in.entries, in.moved = append(in.entries, e), false
}

// commitEntries commits the entries of an intake, with what users granted in them.
// They share what is left of its quota.
func (a *Agent) commitEntries(in *intake) error {
	if len(in.entries) == 0 {
		return nil
	}
	out, granted := a.leftOpen(in)
	for k, e := range in.entries {
		if e.event.Moved {
			in.io.replaced = false
		}
		if e.event.Asleep && e.event.At.From < in.io.history {
			out = append(out, noted("history", "history of room "+in.room, mind.HistoryText))
		}
		share := min(in.quota, in.quota/(len(in.entries)-k))
		if e.event.Show = mind.Fit(e.shown, e.body.Gist, len(e.shown), share, llm.Weight); e.event.Show > 0 {
			e.event.Places = true
			in.quota -= max(0, share)
		} else {
			in.quota -= llm.Weight(e.shown)
		}
		grants, images := lookup.Named(a.store, a.state, e.heard, in.quota/message.WeightPicture)
		in.quota -= len(images) * message.WeightPicture
		e.event.Images = images
		out = append(out, record{Event: e.event, Texts: []body{e.body}})
		for _, g := range grants {
			granted = append(granted, record{Event: g})
		}
	}
	in.entries = nil
	a.thinker.outage.retryAt = time.Time{} // somebody is there: an unreachable model is asked at once
	return a.commit(append(out, granted...)...)
}

// signed reports whether a line begins as the identity's own do, even if it is cut off.
func (a *Agent) signed(l chat.Line) bool {
	return bytes.HasPrefix(l.Raw, []byte("[AGENT:"+a.id.Name+" "))
}
