package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/chat"
	"lethe/compactor"
	"lethe/life/event"
)

// speaksIn returns the rooms that SAY reaches: those that are heard, and a reviewer's also
// where the one that it reviews is.
func (a *Agent) speaksIn() []string {
	rooms := a.joined()
	if a.cfg.Reviews.Self != "" {
		more, _ := chat.Rooms(a.cfg.Reviews.Subs()) // unreadable ones are not spoken in
		rooms = append(rooms, more...)
	}
	return rooms
}

// readLines is chat.Read. /forget is a command also when the configured reviewer says it.
func (a *Agent) readLines(path string, at chat.Cursor, size int) (chat.Batch, error) {
	batch, err := chat.Read(path, at, size)
	if a.cfg.Reviewer == "" {
		return batch, err
	}
	for i := range batch.Lines {
		l := &batch.Lines[i]
		if !l.By(a.cfg.Reviewer) {
			continue
		}
		said := *l
		said.Agent = false
		if name, arg := chat.Command(said); name == "forget" {
			l.Command, l.Arg = name, arg
		}
	}
	return batch, err
}

// forget answers a /forget: which entries of the range are to fade, and what is said.
func (a *Agent) forget(l chat.Line) (asked event.Entries, say string) {
	may := append(slices.Clone(a.cfg.People), a.cfg.Reviewer)
	if !l.Agent && !slices.Contains(a.cfg.People, l.Name) {
		return asked, "Only these may tell me what to forget: " + strings.Trim(strings.Join(may, ", "), ", ") + "."
	}
	fmt.Sscanf(l.Arg, "e%d..e%d", &asked.From, &asked.To) // which is its form
	tokens, worth := compactor.Within(a.state, a.thinker.estimate.Tokens, asked)
	if !worth {
		return event.Entries{}, fmt.Sprintf(
			"%s holds some %d tokens that can fade, of whole turns or finished steps, and a summary would have as many.",
			l.Arg, tokens,
		)
	}
	return asked, fmt.Sprintf("I forget %s, some %d tokens; every original can still be opened.", l.Arg, tokens)
}

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
	history := l.From < a.io(room).history && !a.state.Waking(room, l.Hash)
	if history && a.cfg.Mentions {
		history = !chat.Mentions(l.Text, a.id.Name)
	}
	return history || !moved && l.From < a.state.Rooms[room].Stopped
}
