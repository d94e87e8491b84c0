package agent

import (
	"os"
	"path/filepath"

	"lethe/chat"
	"lethe/mind"
)

// over says why lines owe nothing any more.
type over int

const (
	owed    over = iota // they do
	stopped             // a /stop behind them was obeyed
	history             // others have answered them
)

// over says why a line owes nothing. What wakes this identity alone is nobody else's to answer.
func (a *Agent) over(room string, l chat.Line, moved bool) over {
	switch {
	case !moved && l.From < a.state.Rooms[room].Stopped:
		return stopped
	case l.From < a.io(room).history && !a.state.Waking(room, l.Hash):
		return history
	}
	return owed
}

// pastOf names the entries that others have answered, as they will be numbered behind one note.
func (a *Agent) pastOf(entries []entry) (names []string) {
	for k, e := range entries {
		if e.past {
			names = append(names, mind.EntryID(a.state.Next+1+k))
		}
	}
	return names
}

// findHistory finds what another identity has answered of the lines that are still to be heard in a room, when the
// identity begins to hear it or its file was changed. In the rooms of children lines have one addressee, and count.
func (a *Agent) findHistory(room string) {
	io, task := a.io(room), a.state.Task
	if a.state.Child(room) != nil || task != nil && task.Room == room {
		return
	}
	last, err := a.lastAnswer(room)
	io.history, io.begun = last.To, err == nil // readRoom says why
}

// lastAnswer returns the last of the unheard lines in a room with which another identity answers a user's.
func (a *Agent) lastAnswer(room string) (last chat.Line, err error) {
	spoken, at := false, a.cursor(room)
	for more := true; more; {
		batch, err := a.readLines(a.path(room), at, 1<<20)
		if err != nil {
			return last, err
		}
		for _, l := range batch.Lines {
			if spoken && a.byAnother(l) {
				last = l
			}
			spoken = spoken || !l.Agent
		}
		at, more = batch.Next, batch.More
	}
	return last, nil
}

// byAnother reports whether another identity of the home signs a line. Its reviewer answers nobody.
func (a *Agent) byAnother(l chat.Line) bool {
	if !l.Agent || l.Name == a.id.Name || l.Name == a.cfg.Reviewer || !ValidName(l.Name) {
		return false
	}
	_, err := os.Lstat(filepath.Join(a.cfg.Home.Names(), l.Name))
	return err == nil
}
