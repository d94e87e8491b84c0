package listen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/agent/work"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

// maxCommand is the longest line of a command that LIFE keeps, in bytes; of a longer one it keeps the hash.
const maxCommand = 1000

// runCommand runs a command and records it. next is the cursor behind it; early
// says that lines before it are still unread.
func (l *Listener) runCommand(room string, line chat.Line, next chat.Cursor, early bool) error {
	// What is owed is posted first: a post is looked for behind where its room ended
	// when it was decided.
	if err := l.outbox.PostOwed(); err != nil {
		return err
	}
	command := event.Command{
		Passage: event.Passed(room, line.From, next),
		Name:    "/" + line.Command,
		By:      line.Name,
		Line:    string(line.Raw),
		Early:   early,
	}
	command.At.To = line.To
	if len(line.Raw) > maxCommand {
		command.Line, command.Last = "", line.Hash
	}
	if shape.Text(command.Line) != command.Line { // which the log does not keep
		command.Last = line.Hash
	}
	if progress := l.progress(room); !early && progress.replaced {
		command.Moved, progress.replaced = true, false
	}
	say, err := l.obey(&command, line, early)
	if err != nil {
		return err
	}
	var note []part.Record
	if say == chat.Stopped {
		say += l.jobsGoOn()
		note = []part.Record{l.stopNote(room, line, early)}
	}
	if line.Command == "audience" {
		note, say = l.nameAudience(line)
	}
	command.Notice = l.Notice(say, room)
	records := append([]part.Record{{Event: command}}, note...)
	if err := l.Commit(records...); err != nil {
		return err
	}
	if command.Raise != 0 {
		return l.thinker.Release()
	}
	return nil
}

// obey carries out the part of a command that the fold of its event does not, and returns the answer to it.
func (l *Listener) obey(command *event.Command, line chat.Line, early bool) (say string, err error) {
	switch line.Command {
	case "stop":
		var working []string // rooms of children
		for _, c := range l.State.Working() {
			working = append(working, c.Room)
		}
		command.Relay = l.Posting(working...).Posts
		busy := l.Busy() || len(working) > 0
		if !early && !busy {
			return "Nothing to stop.", nil
		}
		return chat.Stopped, nil
	case "jobs":
		return l.jobsLine(), nil
	case "status":
		return l.StatusLine(), nil
	case "budget":
		book, err := budget.ReadBook(l.Home, l.Store, l.conf.Budget, time.Now(), l.Zone)
		if err != nil {
			return fmt.Sprintf("I cannot tell: %v.", err), nil
		}
		return budget.Obey(book, l.ID.Self, l.conf.People, command, line.Arg), nil
	case "model":
		if may := l.conf.Switchers; may != nil && !slices.Contains(may, line.Name) {
			return fmt.Sprintf("Only %s may change the model.", strings.Join(may, ", ")), nil
		}
		command.Model, say, err = l.thinker.TryModel(line.Arg)
		return say, err
	case "work":
		words := strings.SplitN(line.Arg, " ", 2) // names may have spaces
		if len(words) > 1 && !slices.Contains(l.conf.People, line.Name) {
			return fmt.Sprintf("Only %s may change my plans.", strings.Join(l.conf.People, ", ")), nil
		}
		if say, err = work.Obey(l.Home.Dir, l.Tools.Workspace, l.State, words...); err != nil {
			return fmt.Sprintf("Not done: %v.", err), nil
		}
		l.Wake()
	case "forget":
		command.Forget, say = l.forget(line)
	}
	return say, nil
}

// nameAudience obeys /audience, and returns the answer to it.
func (l *Listener) nameAudience(line chat.Line) (named []part.Record, say string) {
	names, readers := strings.Fields(line.Arg), l.State.Readers
	if len(names) > 0 {
		if !slices.Contains(l.conf.People, line.Name) {
			return nil, fmt.Sprintf("Only %s may name my audience.", strings.Join(l.conf.People, ", "))
		}
		readers = names
		named = []part.Record{{Event: event.Audience{By: line.Name, People: mind.PeopleOf(readers)}}}
	}
	return named, fmt.Sprintf("What I say is for %s.", readers)
}

// jobsLine answers /jobs.
func (l *Listener) jobsLine() string {
	var lines []string
	for _, job := range l.Tools.Running() {
		lines = append(lines, fmt.Sprintf("%s, for %s", wake.JobName(job), tools.Span(time.Since(job.Began))))
	}
	return cmp.Or(strings.Join(lines, "\n"), "No jobs run.")
}

// jobsGoOn names the jobs that run; "" if no job does.
func (l *Listener) jobsGoOn() string {
	if len(l.Tools.Running()) == 0 {
		return ""
	}
	return " Jobs go on: " + l.jobsLine()
}

// stopNote tells the model of a /stop, with the beginning of the answer that it cut off.
func (l *Listener) stopNote(room string, line chat.Line, early bool) part.Record {
	text := fmt.Sprintf("%s stopped you here; what you were asked before is no longer owed.", line.Name)
	if early {
		text += fmt.Sprintf(" Nor is what you hear in room %s next, which was said before that.", room)
	}
	partial := l.thinker.TakePartial()
	if strings.TrimSpace(partial.Text) != "" {
		text += " You had begun an answer, which was not posted:\n" + blobs.Unescape(partial.Text)
	}
	note := part.Noted("stop", "stopped by "+line.Name, text)
	if partial.Text+partial.Reasoning != "" {
		note.Texts = append(note.Texts, part.Body{Gist: "an answer that " + line.Name + " cut off", Data: partial.Encode()})
	}
	return note
}

// PollCommands looks for commands among all unread lines, and runs them ahead of
// their turn. In a turn a /stop is left in place: PollCommands reports it, and it is
// run when the turn has ended.
func (l *Listener) PollCommands(inTurn bool) (stop bool, err error) {
	for _, room := range l.Joined() {
		if stop, err = l.scanRoom(room, inTurn); stop || err != nil {
			return stop, err
		}
	}
	return false, l.outbox.PostOwed()
}

// scanned is the end of the search for commands in a room, beyond its cursor.
type scanned struct {
	chat.Cursor
	moved bool // the file was changed behind the cursor
}

// scanRoom is PollCommands for one room.
func (l *Listener) scanRoom(room string, inTurn bool) (stop bool, err error) {
	progress, heard := l.progress(room), l.cursor(room)
	at := progress.scanned
	if at.Offset < heard.Offset && !at.moved {
		at.Cursor = heard
	}
	for more := true; more; {
		batch, err := l.readLines(l.Path(room), at.Cursor, 1<<20)
		if err != nil {
			return false, nil // readRooms says so
		}
		if batch.Realigned || batch.Restarted {
			if at.Offset > heard.Offset && !at.moved {
				at.Cursor = heard // perhaps only what is unread was changed
				continue
			}
			at.moved = true
			progress.old, _ = chat.End(l.Path(room))
		}
		moved := at.moved || progress.replaced
		for i, line := range batch.Lines {
			switch {
			case !l.isCommand(room, line, moved) || l.ownOrObeyed(room, line, moved):
			case line.Command == "stop" && inTurn:
				return true, nil
			case moved: // readRooms sorts the offsets out, between turns
			default:
				if err := l.runCommand(room, line, batch.After(i+1), true); err != nil {
					return false, err
				}
			}
		}
		at.Cursor, more = batch.Next, batch.More
		progress.scanned = at
	}
	return false, nil
}

// isCommand reports whether a line is a command to this identity. A line from before the
// identity came was not meant for it; nor is a line to its children, or a command that another identity has obeyed.
// Where it may not speak, it obeys nobody.
func (l *Listener) isCommand(room string, line chat.Line, moved bool) bool {
	if line.Command == "" || l.State.Child(room) != nil || !l.State.MaySay(room) {
		return false
	}
	if line.From < l.progress(room).history {
		return false
	}
	return moved || line.From >= l.State.Rooms[room].Began
}

// forget returns the entries that a /forget lets fade, and the answer to it.
func (l *Listener) forget(line chat.Line) (asked event.Entries, say string) {
	may := append(slices.Clone(l.conf.People), l.conf.Reviewer)
	if !line.Agent && !slices.Contains(l.conf.People, line.Name) {
		return asked, "Only these may tell me what to forget: " + strings.Trim(strings.Join(may, ", "), ", ") + "."
	}
	fmt.Sscanf(line.Arg, "e%d..e%d", &asked.From, &asked.To) // which is its form
	tokens, worth := compactor.Within(l.State, l.thinker.Tokens, asked)
	if !worth {
		return event.Entries{}, fmt.Sprintf(
			"%s holds some %d tokens that can fade, of whole turns or finished steps, and a summary would have as many.",
			line.Arg, tokens,
		)
	}
	return asked, fmt.Sprintf("I forget %s, some %d tokens; every original can still be opened.", line.Arg, tokens)
}
