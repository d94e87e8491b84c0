package listen

import (
	"bytes"
	"fmt"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/part"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
	"slices"
	"strings"
)

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

	struck []shape.Found // secrets that people have written in these entries

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
		looked := in.progress.size - l.cursor(room).Offset // what came later may be for other readers
		batch, err := l.readLines(l.Path(room), l.cursor(room), int(min(size, max(looked, 1))))
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
		if !batch.More || l.cursor(room).Offset >= in.progress.size {
			return batch.More, l.commitEntries(in)
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
		if !l.isCommand(in.room, line, in.moved) || l.ownOrObeyed(in.room, line, in.moved) {
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

// ownOrObeyed reports whether the identity posted a line itself, or has run it as a
// command already. A command without a tag, as editors leave it, looks
// like any later one.
func (l *Listener) ownOrObeyed(room string, line chat.Line, moved bool) bool {
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
	if !moved && event.Covered(heard.Own, line.From, line.To) {
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
	var text, said []byte // said are a line with a tag and the lines without one behind it
	var own []event.Span
	var heard []chat.Line
	var changed []string
	strike := func() {
		struck, found := shape.Strike(secret.Text(string(said)))
		changed = append(changed, changes(string(said), struck)...)
		text, said = append(text, struck...), nil
		last := len(heard) - 1
		isNew := last >= 0 && heard[last].From >= in.progress.history
		if isNew && !heard[last].Agent {
			in.struck = append(in.struck, found...)
		}
	}
	for _, line := range in.run {
		isOwn := l.ownOrObeyed(in.room, line, in.moved)
		if isOwn || line.Tagged {
			strike()
		}
		said = append(append(said, line.Raw...), '\n')
		if isOwn {
			text, said = append(text, said...), nil
			own = event.AddSpan(own, event.Span{From: int64(len(text) - len(line.Raw) - 1), To: int64(len(text))})
			continue
		}
		heard = append(heard, line)
	}
	strike()
	from := in.from
	in.run, in.from = nil, next.Offset
	if len(heard) == 0 {
		return
	}
	inbound := event.Inbound{
		Passage: event.Passed(in.room, from, next), Lines: len(heard), Own: own, Moved: in.moved,
		Asleep: in.over || !l.wakes(in.room, heard), Struck: changed,
	}
	first := shape.Text(heard[0].Text)
	gist := fmt.Sprintf("%s: %s", in.room, first)
	if len(heard) > 1 {
		gist = fmt.Sprintf("%s: %d lines, from %s: %s", in.room, len(heard), heard[0].Name, first)
	}
	in.entries = append(in.entries, entry{
		event: inbound, body: part.Body{Gist: gist, Data: text}, shown: mind.Heard(text, own), heard: heard,
	})
	in.moved = false
	byChild := func(line chat.Line) bool { return line.Name == l.State.Child(in.room).Name }
	if l.State.Child(in.room) == nil {
		return
	}
	if l.Wake(); !all(heard, byChild) { // a plan goes on
		l.outbox.CallChild(in.room)
	}
}

// changes returns event.Inbound's Struck for lines before and after a strike. Of a secret over several lines, which
// becomes a part of one, it knows the first line.
func changes(said, struck string) (pairs []string) {
	written, kept := strings.SplitAfter(said, "\n"), strings.SplitAfter(struck, "\n")
	if len(written) != len(kept) {
		written, kept = written[:1], kept[:1]
	}
	for i := range kept {
		if kept[i] != written[i] {
			pairs = append(pairs, chat.Hash([]byte(kept[i]))+":"+chat.Hash([]byte(written[i])))
		}
	}
	return pairs
}

// wakes reports whether lines that were heard in a room together are owed an answer.
func (l *Listener) wakes(room string, heard []chat.Line) bool {
	if !l.State.MaySay(room) {
		return false
	}
	for _, line := range heard {
		if l.State.Waking(room, line.Hash) || l.State.FromParent(room, line) {
			return true
		}
	}
	peers := l.State.Rooms[room].AgentTurns >= l.conf.MaxAgentTurns // have talked enough
	if child := l.State.Child(room); child != nil {                 // nothing but a result wakes
		return child.Results(heard) && !peers
	}
	if peers && all(heard, func(line chat.Line) bool { return line.Agent }) {
		return false
	}
	mentioned := func(line chat.Line) bool { return chat.Mentions(line.Text, l.ID.Name, chat.Everybody) }
	return !l.conf.Mentions || slices.ContainsFunc(heard, mentioned)
}

// all reports whether something holds of all lines.
func all(lines []chat.Line, holds func(chat.Line) bool) bool {
	return !slices.ContainsFunc(lines, func(line chat.Line) bool { return !holds(line) })
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
		grants, images := lookup.Named(l.Home, l.Store, l.State, entry.heard, in.quota/message.WeightPicture)
		in.quota -= len(images) * message.WeightPicture
		entry.event.Images = images
		out = append(out, part.Record{Event: entry.event, Texts: []part.Body{entry.body}})
		for _, g := range grants {
			granted = append(granted, part.Record{Event: g})
		}
	}
	in.entries = nil
	if len(in.struck) > 0 {
		granted = append(granted, l.struck(in))
	}
	l.thinker.AskAtOnce() // somebody is there
	return l.Commit(append(out, granted...)...)
}

// struck tells people of secrets that they have written.
func (l *Listener) struck(in *intake) part.Record {
	var names []string
	for _, found := range in.struck {
		names = append(names, found.String())
	}
	in.struck = nil
	text := fmt.Sprintf("struck out of room %s: %s", in.room, strings.Join(names, "; "))
	l.Log.Warn("secrets in a room were struck out", "room", in.room, "secrets", len(names))
	say := fmt.Sprintf("I struck out what looks like a secret (%s), before I read it. The file of this room still has it: "+
		"lethe erase takes it out. Keys go into keys.env: docs/configuration.md, which also tells how to let it stand.",
		strings.Join(names, "; "))
	return part.Record{Event: event.Error{What: "secret", Text: text, Notice: l.Notice(say, in.room)}}
}

// signed reports whether a line begins as the identity's own do, even if it is cut off.
func (l *Listener) signed(line chat.Line) bool {
	return bytes.HasPrefix(line.Raw, []byte("[AGENT:"+l.ID.Name+" "))
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
