package terminal

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/rogpeppe/go-internal/diff"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/life"
)

// act is a deed of an identity, or something that happened to it, between lines of the room. It has one
// row, and more when it is opened.
type act struct {
	events.Event
	label   string // what is shown of it before its end
	args    string // of a call, a line each
	diff    bool   // args is one
	running bool
	failed  bool
	end     string // how it ended, and how long it took
	text    string // what has come of it, or comes
	cut     bool   // text is not all of it
	hash    string // of all of it
}

// ownEvent is an event of an identity.
type ownEvent struct {
	old bool // from before the room was opened
	events.Event
}

// turns are the newest turns of an identity that answer lines of this room, and of others.
type turns struct{ here, there int }

// tell shows an event between the lines of the room, if it belongs there.
func (t *transcript) tell(room string, e ownEvent) {
	last := t.turns[e.Agent]
	if e.Type == events.UserMessage {
		if e.Room == room {
			last.here = e.Turn
		} else {
			last.there = e.Turn
		}
		t.turns[e.Agent] = last
		return
	}
	elsewhere := e.Turn == last.there && e.Turn != last.here
	if elsewhere && e.Turn > 0 {
		return
	}
	switch a := actOf(e); {
	case e.Type == events.MessageDone && e.Status != "":
		l := message{Agent: true, Name: e.Agent, Text: e.Text, At: e.At}
		t.insert(block{message: l, mark: cutOff[e.Status]}, e.old)
	case e.Type == events.ToolResult:
		t.result(e)
	case a != nil && !a.says(room):
		if t.several {
			a.label = e.Agent + " " + a.label
		}
		t.insert(block{message: message{At: e.At}, act: a}, e.old)
	}
}

// cutOff says why an answer was not posted.
var cutOff = map[string]string{
	"stopped": "cut off by /stop: not posted",
	"cut":     "cut off for its length: not posted",
	"refused": "did not count: not posted",
}

// insert shows a block where its time says, between what somebody said and what was answered in the same second. What
// is older than the oldest line is left out.
func (t *transcript) insert(b block, old bool) {
	at, second := len(t.blocks), b.At.Truncate(time.Second)
	for ; at > 0; at-- {
		before := t.blocks[at-1]
		answer := before.Agent && before.At.Equal(second)
		if !answer && !before.At.Truncate(time.Second).After(second) {
			break
		}
	}
	if !old || at > 0 {
		t.put(at, b)
	}
}

// result ends the call that it is of.
func (t *transcript) result(e ownEvent) {
	for i := range t.blocks {
		b := &t.blocks[i]
		a := b.act
		if a == nil || !a.calls(e) {
			continue
		}
		a.running, a.failed, a.text, a.cut, a.hash, a.end = false, e.Status != "ok", e.Text, e.Cut, e.Hash, e.Status
		took := e.At.Sub(b.At)
		switch {
		case e.Job > 0:
			a.end = fmt.Sprintf("goes on as job %d", e.Job)
		case e.Status == "interrupted": // nobody knows when
		case took >= 50*time.Millisecond:
			a.end += " " + took.Round(100*time.Millisecond).String()
		}
		b.rows = nil
	}
}

// calls reports whether an act is the call of a result.
func (a *act) calls(e ownEvent) bool {
	return a.Type == events.ToolRequest && a.Agent == e.Agent && a.Entry == e.Entry
}

// actOf makes an act of an event, or nil where the room or the bar tells of the event.
func actOf(e ownEvent) *act {
	a := &act{Event: e.Event, label: e.Words()}
	switch e.Type {
	case events.ToolRequest:
		brief, all := e.Arguments()
		a.label, a.args, a.running = strings.TrimSpace("↳ "+e.Tool+" "+brief), all, true
		if e.Tool == "EDIT_FILE" || e.Tool == "WRITE_FILE" {
			a.changes(e.Args)
		}
	case events.Error:
		a.label, a.failed, a.end, a.text = "error: "+e.Why, true, e.Text, e.Text
	case events.Forgot, events.Reminded, events.Opened:
		for _, ref := range e.Originals() {
			a.text += fmt.Sprintf("%s: lethe cat %.16s\n", ref.Gist, ref.Hash)
		}
	case events.FileChanged:
		if e.By != "" {
			return nil // a call tells it
		}
	default:
		return nil
	}
	return a
}

// changes has an act show what a call changes in a file, as a diff, in the place of its arguments.
func (a *act) changes(args []byte) {
	var file struct{ Path, Old, New, Content string }
	_ = json.Unmarshal(args, &file) // long arguments are cut
	text := string(diff.Diff("", []byte(file.Old), "", []byte(file.New+file.Content)))
	_, hunks, found := strings.Cut(strings.ReplaceAll(text, "\n\\ No newline at end of file", ""), "\n@@")
	if found {
		a.args, a.diff = file.Path+"\n@@"+hunks, true
	}
}

// says reports whether the line that a call adds to the room tells of the call.
func (a *act) says(room string) bool {
	if a.Tool == "WAIT" {
		return true
	}
	var to struct{ Room string }
	_ = json.Unmarshal(a.Args, &to) // without one it is of no room
	return a.Tool == "SAY" && to.Room == room
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// maxOpen bounds the rows of an act that is open.
const maxOpen = 40

// rows shows an act: one row, and where it is open what it was called with, and what has come of it.
func (a *act) rows(width int, open bool) []string {
	end := a.end
	if a.running {
		end = "…"
	}
	if end != "" {
		end = " · " + oneLine(end)
	}
	end = fit(end, max(width/2, width-40))
	label := fit(oneLine(a.label), max(width-4-lipgloss.Width(end), 8))
	style := dim
	if a.failed {
		style = bad
	}
	rows := []string{"   " + dim.Render(label) + style.Render(end)}
	if !open {
		return rows
	}
	text := a.text
	if label != oneLine(a.label) || strings.Count(a.args, "\n") > 1 { // the row does not tell them
		text = a.args + text
	}
	var body []string
	if text != "" {
		body = wrap(strings.TrimRight(clean(text), "\n"), width-8)
	}
	cut := a.cut || len(body) > maxOpen
	if len(body) > maxOpen && a.running {
		body = append([]string{"…"}, body[len(body)-maxOpen:]...)
	} else if len(body) > maxOpen {
		body = append(body[:maxOpen], "…")
	}
	if cut && a.hash != "" {
		body = append(body, fmt.Sprintf("… all of it: lethe cat %.16s", a.hash))
	}
	for _, line := range body {
		style := dim
		switch {
		case a.diff && strings.HasPrefix(line, "+"):
			style = good
		case a.diff && strings.HasPrefix(line, "-"):
			style = bad
		}
		rows = append(rows, "      "+style.Render(line))
	}
	return rows
}

// progress shows the output of each call that runs, by agent. A call whose agent has stopped has no result.
func (t *transcript) progress(live map[string]status.Live) {
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.act == nil || !b.act.running {
			continue
		}
		now, alive := live[b.act.Agent]
		switch {
		case !alive:
			b.act.running, b.act.end = false, "no result yet"
		case now.Call == b.act.Entry:
			b.act.text = now.Output
		}
		b.rows = nil
	}
}

// toggle opens all acts, or closes them.
func (t *transcript) toggle() {
	t.open = !t.open
	for i := range t.blocks {
		if t.blocks[i].act != nil {
			t.blocks[i].rows = nil
		}
	}
}

// recent returns the ID behind which the newest n lines of a log begin, or more: the first is a line that was heard, so
// that a turn comes with the line that it answers. It returns "" for a log that cannot be read.
func recent(path string, n int) (after string) {
	_, _ = life.ReadBack(path, 0, func(e life.Event, offset int64) (more bool) { // what is damaged ends it
		n--
		after = strconv.FormatInt(offset, 10)
		return n > 0 || e.Kind != "inbound"
	})
	return after
}

// happened reads what has happened since to the identities that hear the room.
func (f *files) happened() (all []ownEvent) {
	if f.cfg.Store == nil {
		return nil
	}
	for _, a := range f.all {
		if !slices.Contains(a.Rooms, f.seen.Room) {
			continue
		}
		s, known := f.follows[a.Self]
		if !known {
			path := filepath.Join(f.agents(), a.Self, "LIFE.md")
			s, _ = events.Open(f.cfg.Store, events.Log{Path: path, Name: a.Name}, recent(path, history))
		}
		f.follows[a.Self] = s
		if s == nil {
			continue
		}
		for e, err := range s.All() {
			if err != nil {
				_ = s.Close() // the log was replaced, or is damaged: the daemon says so
				f.follows[a.Self] = nil
				break
			}
			all = append(all, ownEvent{!known, e})
		}
	}
	return all
}

// unfollow forgets the logs of a room.
func (f *files) unfollow() {
	for _, s := range f.follows {
		if s != nil {
			_ = s.Close() // it was only read
		}
	}
	clear(f.follows)
}
