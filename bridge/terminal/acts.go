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
func (t *transcript) tell(room string, event ownEvent) {
	last := t.turns[event.Agent]
	if event.Type == events.UserMessage {
		if event.Room == room {
			last.here = event.Turn
		} else {
			last.there = event.Turn
		}
		t.turns[event.Agent] = last
		return
	}
	elsewhere := event.Turn == last.there && event.Turn != last.here
	if elsewhere && event.Turn > 0 {
		return
	}
	switch deed := actOf(event); {
	case event.Type == events.MessageDone && event.Status != "":
		l := message{Agent: true, Name: event.Agent, Text: event.Text, At: event.At}
		t.insert(block{message: l, mark: cutOff[event.Status]}, event.old)
	case event.Type == events.ToolResult:
		t.result(event)
	case deed != nil && !deed.says(room):
		if t.several {
			deed.label = event.Agent + " " + deed.label
		}
		t.insert(block{message: message{At: event.At}, act: deed}, event.old)
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
func (t *transcript) insert(shown block, old bool) {
	at, second := len(t.blocks), shown.At.Truncate(time.Second)
	for ; at > 0; at-- {
		before := t.blocks[at-1]
		answer := before.Agent && before.At.Equal(second)
		if !answer && !before.At.Truncate(time.Second).After(second) {
			break
		}
	}
	if !old || at > 0 {
		t.put(at, shown)
	}
}

// result ends the call that it is of.
func (t *transcript) result(event ownEvent) {
	for i := range t.blocks {
		shown := &t.blocks[i]
		deed := shown.act
		if deed == nil || !deed.calls(event) {
			continue
		}
		deed.running, deed.failed, deed.end = false, event.Status != "ok", event.Status
		deed.text, deed.cut, deed.hash = event.Text, event.Cut, event.Hash
		took := event.At.Sub(shown.At)
		switch {
		case event.Job > 0:
			deed.end = fmt.Sprintf("goes on as job %d", event.Job)
		case event.Status == "interrupted": // nobody knows when
		case took >= 50*time.Millisecond:
			deed.end += " " + took.Round(100*time.Millisecond).String()
		}
		shown.rows = nil
	}
}

// calls reports whether an act is the call of a result.
func (a *act) calls(e ownEvent) bool {
	isSame := a.Agent == e.Agent && a.Entry == e.Entry
	return isSame && a.Type == events.ToolRequest
}

// actOf makes an act of an event, or nil where the room or the bar tells of the event.
func actOf(event ownEvent) *act {
	deed := &act{Event: event.Event, label: event.Words()}
	switch event.Type {
	case events.ToolRequest:
		brief, all := event.Arguments()
		deed.label, deed.args, deed.running = strings.TrimSpace("↳ "+event.Tool+" "+brief), all, true
		if event.Tool == "EDIT_FILE" || event.Tool == "WRITE_FILE" {
			deed.changes(event.Args)
		}
	case events.Error:
		deed.label, deed.failed, deed.end, deed.text = "error: "+event.Why, true, event.Text, event.Text
	case events.Forgot, events.Reminded, events.Opened:
		for _, ref := range event.Originals() {
			deed.text += fmt.Sprintf("%s: lethe cat %.16s\n", ref.Gist, ref.Hash)
		}
	case events.FileChanged:
		if event.By != "" {
			return nil // a call tells it
		}
	default:
		return nil
	}
	return deed
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
	toldByLabel := label == oneLine(a.label) && strings.Count(a.args, "\n") <= 1
	for _, line := range a.body(width-8, !toldByLabel) {
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

// body returns the lines of an act that is open: its arguments, unless the row tells them, and its text. Of a long text
// they are the first, or the last while the act runs.
func (a *act) body(width int, withArgs bool) (lines []string) {
	text := a.text
	if withArgs {
		text = a.args + text
	}
	if text != "" {
		lines = wrap(strings.TrimRight(clean(text), "\n"), width)
	}
	long := len(lines) > maxOpen
	switch {
	case long && a.running:
		lines = append([]string{"…"}, lines[len(lines)-maxOpen:]...)
	case long:
		lines = append(lines[:maxOpen], "…")
	}
	cut := a.cut || long
	if cut && a.hash != "" {
		lines = append(lines, fmt.Sprintf("… all of it: lethe cat %.16s", a.hash))
	}
	return lines
}

// progress shows the output of each call that runs, by agent. A call whose agent has stopped has no result.
func (t *transcript) progress(live map[string]status.Live) {
	for i := range t.blocks {
		shown := &t.blocks[i]
		if shown.act == nil || !shown.act.running {
			continue
		}
		now, alive := live[shown.act.Agent]
		switch {
		case !alive:
			shown.act.running, shown.act.end = false, "no result yet"
		case now.Call == shown.act.Entry:
			shown.act.text = now.Output
		}
		shown.rows = nil
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
	for _, who := range f.all {
		if who.store == nil || !slices.Contains(who.Rooms, f.seen.Room) {
			continue
		}
		stream, known := f.follows[who.Self]
		if !known {
			path := filepath.Join(who.dir, "LIFE.md")
			stream, _ = events.Open(who.store, events.Log{Path: path, Name: who.Name}, recent(path, history))
		}
		f.follows[who.Self] = stream
		if stream == nil {
			continue
		}
		for event, err := range stream.All() {
			if err != nil {
				_ = stream.Close() // the log was replaced, or is damaged: the daemon says so
				f.follows[who.Self] = nil
				break
			}
			all = append(all, ownEvent{!known, event})
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
