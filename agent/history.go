package agent

import (
	"os"
	"path/filepath"
	"strings"

	"lethe/chat"
)

// findHistory finds what another identity has answered of the lines that are still to be heard in a room, when the
// identity begins to hear it or its file was changed. In the room of a child each line has one addressee, and counts.
func (a *Agent) findHistory(room string) {
	io, at, spoken := a.io(room), a.cursor(room), false
	io.history, io.begun = 0, true
	for more := !chat.ForWork(room); more; {
		batch, err := a.readLines(a.path(room), at, 1<<20)
		if err != nil { // readRoom says why
			io.begun = false
			return
		}
		for _, l := range batch.Lines {
			if spoken && l.Agent && a.isAnother(l.Name) {
				if io.history = l.To; strings.Contains(l.Text, a.id.Name) { // it may ask this one for something
					io.history = l.From
				}
			}
			spoken = spoken || !l.Agent
		}
		at, more = batch.Next, batch.More
	}
}

// isAnother reports whether a name is that of another identity of the home. Its reviewer answers nobody.
func (a *Agent) isAnother(name string) bool {
	_, err := os.Lstat(filepath.Join(a.cfg.Home.Names(), name))
	return err == nil && name != a.id.Name && name != a.cfg.Reviewer
}

// over reports whether a line owes nothing any more: a /stop behind it was obeyed, or others have answered it. What
// wakes this identity alone is nobody else's to answer.
func (a *Agent) over(room string, l chat.Line, moved bool) bool {
	return !moved && l.From < a.state.Rooms[room].Stopped || l.From < a.io(room).history && !a.state.Waking(room, l.Hash)
}
