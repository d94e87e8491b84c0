package listen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/journal"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/audience"
)

// progress is the reading of one room: how far it came, and why it cannot go on. It ends
// with the process; all that must outlive it is in the State.
type progress struct {
	readAhead *chat.Cursor // how far it was read, if that is beyond the state's cursor
	scanned   scanned      // how far it was searched for commands
	read      durable.Look // how it looked when it was read to its end
	look      durable.Look // the last one
	size      int64        // its bytes at that time
	resumed   int64        // its bytes when it ended a pause
	replaced  bool         // its file is another one, or was edited, and no event says so yet
	old       chat.Mark    // the file's end when its replacement was noticed: commands before it may have been run
	begun     bool         // it was searched for answers of others; see findHistory
	history   int64        // others have answered all before this offset

	kept       audience.Readers // who may read it when its settings are lost
	unreadable string           // why it cannot be read
}

func (l *Listener) progress(room string) *progress {
	if l.rooms[room] == nil {
		l.rooms[room] = &progress{}
		l.lookInto(room)
	}
	return l.rooms[room]
}

// lookInto looks how a room looks; a missing one is empty.
func (l *Listener) lookInto(room string) {
	progress, now := l.progress(room), durable.LookAt(l.Path(room))
	progress.look, progress.size = now, 0
	if now.FileInfo != nil {
		progress.size = now.Size()
	}
}

// cursor is the place to read on in a room.
func (l *Listener) cursor(room string) chat.Cursor {
	if c := l.progress(room).readAhead; c != nil {
		return *c
	}
	return l.State.Rooms[room].Cursor
}

// subscribed is the content of subs/.
type subscribed struct {
	durable.Look
	rooms, files []string // linked, and no links
}

// FollowLinks brings the State in line with the links in subs/, which anyone
// may have changed.
func (l *Listener) FollowLinks() error {
	if now := durable.LookAt(l.ID.Subs()); !l.subs.Same(now) {
		rooms, files, err := chat.Links(l.ID.Subs())
		if err != nil {
			return err
		}
		l.subs = subscribed{now, rooms, files}
	}
	for _, room := range l.subs.rooms {
		if r := l.State.Rooms[room]; r == nil || !r.Joined {
			l.lookInto(room) // before it is asked who may read it
			if !l.State.MayHear(room, l.Home.Readers(room)) {
				l.cannotRead(room, errors.New("not everybody may read it who reads what "+l.ID.Name+" says"))
				continue
			}
			if err := l.join(room, r == nil); err != nil {
				return err
			}
		}
		if !l.progress(room).begun && l.State.Rooms[room] != nil {
			l.findHistory(room)
		}
	}
	for _, room := range l.subs.files {
		const text = "subs/%[1]s is not a link; remove it, and link the room again with: ln -s ../../../chats/%[1]s %[2]s"
		l.cannotRead(room, fmt.Errorf(text, chat.FileName(room), l.ID.Subs()))
	}
	for room, progress := range l.rooms {
		if !slices.Contains(l.subs.rooms, room) && !slices.Contains(l.subs.files, room) {
			progress.unreadable = ""
		}
	}
	for _, room := range l.Joined() {
		if !slices.Contains(l.subs.rooms, room) {
			if err := l.Happen(event.Left{Room: room}); err != nil {
				return err
			}
			l.progress(room).begun = false
		}
	}
	return l.learnReaders()
}

// keep has the readers of a room stay when its settings are lost.
func (l *Listener) keep(room string, readers audience.Readers) {
	progress := l.progress(room)
	if progress.kept != nil && slices.Equal(progress.kept, readers) {
		return
	}
	if err := chat.KeepReaders(l.Home.Dir, room, readers); err != nil {
		l.Log.Warn("who may read a room is not kept", "room", room, "error", err)
		return
	}
	progress.kept = readers
}

// learnReaders records who may read the rooms that are heard, where their settings say so: nobody, where they make no
// sense. It keeps a room closed that has lost its settings. A room that not everybody in the audience may read any more
// is heard no longer.
func (l *Listener) learnReaders() error {
	spoken := l.Speaks()
	var changed, shut []string // shut: all of the audience could read it
	for _, room := range l.Joined() {
		about, err := chat.ReadAbout(l.Home.Dir, room)
		readers, known := audience.Readers(about.Readers), l.State.Rooms[room].Readers
		isClosed := !known.Open() && len(known) > 0
		switch {
		case err != nil && isClosed:
			continue
		case err != nil:
			readers = audience.Readers{}
		case readers == nil && isClosed:
			readers, l.progress(room).kept = known, nil
		}
		if readers == nil {
			continue
		}
		if err == nil {
			l.keep(room, readers)
		}
		if audience.Same(readers, known) {
			continue
		}
		wasGiven := isClosed && !known.MayRead(l.State.Readers)
		if err := l.Happen(event.Readers{Room: room, People: mind.PeopleOf(readers)}); err != nil {
			return err
		}
		changed = append(changed, room)
		if !wasGiven && !readers.MayRead(l.State.Readers) {
			shut = append(shut, room)
		}
	}
	if err := l.learnAudience(spoken, len(changed) > 0, len(shut) > 0); err != nil || l.State.Newborn() {
		return err
	}
	for _, room := range shut {
		if l.State.RoomReaders(room).MayRead(l.State.Readers) {
			continue
		}
		if err := l.Happen(event.Left{Room: room}); err != nil { // its link stays, and is told as trouble
			return err
		}
		l.progress(room).begun = false
	}
	return nil
}

// learnAudience records the audience by the rooms, some of which have changed or were shut to a part of it, until
// somebody in people names it, or the identity has a past that another audience may not read. Then it becomes smaller
// with the rooms in which it has spoken.
func (l *Listener) learnAudience(spoken []string, changed, shut bool) error {
	isOpen, isGiven := l.State.Readers == nil && changed, l.State.Newborn() && l.State.Apart()
	rooms := l.Joined()
	switch {
	case isOpen || isGiven:
	case shut && !l.State.Named:
		rooms = spoken
	default:
		return nil
	}
	var all []audience.Readers
	for _, room := range rooms {
		all = append(all, l.State.RoomReaders(room))
	}
	together := audience.Together(all...)
	if shut && len(together) == 0 || audience.Same(together, l.State.Readers) {
		return nil
	}
	return l.Happen(event.Audience{People: mind.PeopleOf(together)})
}

// join records a subscription. A first one begins before the last lines of the
// room and says their number; a renewed one goes on at its cursor. A room that
// cannot be read is joined later.
func (l *Listener) join(room string, first bool) error {
	text := fmt.Sprintf("You hear room %s again, from where you left it.", room)
	joined := event.Joined{Room: room}
	if first {
		most, work := FirstHeard, l.State.Task != nil && l.State.Task.Room == room
		if work { // each line is
			most = 1000
		}
		lines, total, at, err := chat.Tail(l.Path(room), most)
		if err != nil {
			l.cannotRead(room, err)
			return nil
		}
		joined.First = event.FirstAt(at, total)
		if len(lines) > 0 && !work { // nothing there is history
			joined.First.End = lines[len(lines)-1].To
		}
		switch {
		case total == 0:
			text = fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
		case total <= len(lines):
			text = fmt.Sprintf("You now hear room %s, all of it: lines so far: %d.", room, total)
		default:
			text = fmt.Sprintf(
				"You now hear room %s. It held %d lines before; you hear the last %d. Read rooms/%s.md for the others.",
				room,
				total,
				len(lines),
				room,
			)
		}
	}
	if c := l.State.Child(room); c != nil {
		text = fmt.Sprintf("%s works for you: of what is said in room %s, only its results call you.", c.Name, room)
	}
	return l.Commit(journal.Told(joined, "joined room "+room, text))
}

// cannotRead notes why a room cannot be read; the others are. It reports whether
// the permissions that it was refused for are restored.
func (l *Listener) cannotRead(room string, err error) (again bool) {
	if l.Home.RepairFor(err, l.Log) {
		return true
	}
	if progress := l.progress(room); progress.unreadable != err.Error() {
		progress.unreadable = err.Error()
		l.Log.Warn("a room cannot be read; the others are heard", "room", room, "error", err)
	}
	return false
}

// findHistory finds what another identity has answered of the lines that are still to be heard in a room, when the
// identity begins to hear it or its file was changed. In the room of a child each line has one addressee, and counts.
func (l *Listener) findHistory(room string) {
	progress, at, spoken := l.progress(room), l.cursor(room), false
	progress.history, progress.begun = 0, true
	for more := !chat.ForWork(room); more; {
		batch, err := l.readLines(l.Path(room), at, 1<<20)
		if err != nil { // readRoom says why
			progress.begun = false
			return
		}
		for _, line := range batch.Lines {
			if !line.Agent {
				spoken = true
				continue
			}
			if !spoken || !l.isAnother(line.Name) {
				continue
			}
			progress.history = line.To
			if strings.Contains(line.Text, l.ID.Name) { // it may ask this one for something
				progress.history = line.From
			}
		}
		at, more = batch.Next, batch.More
	}
}

// isAnother reports whether a name belongs to another identity of the home that answers people: a reviewer does not.
func (l *Listener) isAnother(name string) bool {
	if name == l.ID.Name || name == l.conf.Reviewer {
		return false
	}
	_, err := os.Lstat(filepath.Join(l.Home.Names(), name))
	return err == nil
}
