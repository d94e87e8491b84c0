package page

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/events"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/life"
)

// log shows what happened, window by window from the end.
var log = view{Name: "life", Title: "Life", data: lifeOf}

type lifeData struct {
	Kind   string
	Kinds  []string
	Events []happening
	window
	After string // the last event that was looked at
}

// window is a run of lines of LIFE.
type window struct {
	Lines  int
	Older  int64 // where it begins, in bytes; 0: no line is older
	end    int64 // where it ends
	Newest bool  // no line is newer
}

// happening is an event as it is shown. A call and its result make one.
type happening struct {
	events.Event
	About  string        // what a call is about
	Result *events.Event // of a call; nil while it is under way
	NewDay bool

	Shown, More []blobs.Ref // originals that a mind has let go, was reminded of or has opened
}

const refsShown = 3

// kinds groups the types of events that one may look for.
var kinds = map[string][]string{
	"talk":    {events.UserMessage, events.MessageDone, events.Asked, events.Answered},
	"thought": {events.ThinkingDone},
	"tools":   {events.ToolRequest, events.ToolResult, events.FileChanged},
	"memory":  {events.Forgot, events.Reminded, events.Opened, events.Noted},
	"waking":  {events.Fired, events.Booted, events.Resumed, events.Stopped, events.Paused, events.Joined, events.Left},
	"cost":    {events.Usage},
	"trouble": {events.Error, events.Paused},
}

const (
	lifeShown  = 120 // lines of LIFE
	lifeSought = 400 // where one looks for a kind
)

func lifeOf(page *frame, r *http.Request) (content, error) {
	data := &lifeData{Kind: r.FormValue("kind")}
	data.Kinds = append([]string{""}, slices.Sorted(maps.Keys(kinds))...)
	if !slices.Contains(data.Kinds, data.Kind) {
		there := strings.Join(data.Kinds[1:], ", ")
		return nil, report.Invalid("%.40q is no kind of event; there are %s", data.Kind, there)
	}
	if after := r.FormValue("after"); after != "" { // what came since
		got, err := page.read(after, -1, lifeShown)
		data.After = after
		data.take(page, got)
		return data, err
	}
	before, err := backend.Place(r, "before")
	if err != nil {
		return nil, err
	}
	lines := lifeShown
	if data.Kind != "" {
		lines = lifeSought
	}
	data.window, err = page.window(before, lines)
	if errors.Is(err, life.ErrOtherLog) {
		return nil, report.Invalid("no line of LIFE begins at %d; leave out before", before)
	}
	if err != nil {
		return nil, err
	}
	got, err := page.happened(data.window)
	if err != nil {
		return nil, err
	}
	data.After = idAt(data.end)
	data.take(page, got)
	if data.Newest {
		page.Live = data.After
	}
	return data, nil
}

// window finds so many lines of LIFE before a byte, or before its end for 0 or less.
func (f *frame) window(before int64, lines int) (seen window, err error) {
	size, err := life.ReadBack(f.ID.LIFE(), before, func(_ life.Event, offset int64) bool {
		seen.Older = offset
		seen.Lines++
		return seen.Lines < lines
	})
	seen.end = before
	if before <= 0 || before >= size {
		seen.end, seen.Newest = size, true
	}
	return seen, err
}

// happened reads the events of a window.
func (f *frame) happened(w window) ([]events.Event, error) { return f.read(idAt(w.Older), w.end, -1) }

// idAt is the ID behind which the events of the line come that begins at a byte of LIFE.
func idAt(offset int64) string { return strconv.FormatInt(offset, 10) }

// read reads the events behind an ID, up to a byte of LIFE and at most so many. A negative bound does not bound.
func (f *frame) read(after string, to int64, most int) (got []events.Event, err error) {
	stream, err := f.Events(f.ID, after)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for event, err := range stream.All() {
		if err != nil {
			return nil, err
		}
		over := to >= 0 && isBehind(event, to)
		if over || len(got) == most {
			break
		}
		got = append(got, event)
	}
	return got, nil
}

// isBehind reports whether an event stands behind a byte at which a line of LIFE ends. Its ID is the byte at which its
// line ends, or, where the line has further events, the byte at which the line begins and a number.
func isBehind(e events.Event, end int64) bool {
	offset, _, further := strings.Cut(e.ID, ".")
	at, _ := strconv.ParseInt(offset, 10, 64)
	if further {
		return at >= end
	}
	return at > end
}

// take takes over the events that are to be shown.
func (d *lifeData) take(page *frame, got []events.Event) {
	if len(got) > 0 {
		d.After = got[len(got)-1].ID
	}
	day := ""
	for _, happened := range join(got) {
		if !d.shows(happened.Event) {
			continue
		}
		this := happened.At.In(page.Clock()).Format(time.DateOnly)
		happened.NewDay, day = this != day, this
		d.Events = append(d.Events, happened)
	}
}

// shows reports whether an event is of the kind that is looked for. Events that each turn has are of no kind.
func (d *lifeData) shows(event events.Event) bool {
	switch {
	case d.Kind != "":
		return slices.Contains(kinds[d.Kind], event.Type)
	case event.Type == events.TurnEnd:
		return event.Why != "" && event.Why != "asked"
	}
	return event.Type != events.Usage
}

// join makes one happening of a call and its result, and one of an answer and its line.
func join(got []events.Event) (list []happening) {
	calls := map[string]int{} // their places in list, by entry
	for _, event := range got {
		if i, ok := calls[event.Entry]; ok && event.Type == events.ToolResult {
			list[i].Result = &event
			continue
		}
		happened := happening{Event: event}
		switch event.Type {
		case events.ToolRequest:
			calls[event.Entry], happened.About = len(list), blobs.Gist(event.Brief())
		case events.Answered: // the line before it has the words
			last := len(list) - 1
			if last >= 0 && list[last].Type == events.UserMessage {
				line := list[last]
				happened.Line, happened.Text = line.Line, answerOf(event.Choice, line.Text)
				list = list[:last]
			}
		}
		happened.Shown = event.Originals()
		if len(happened.Shown) > refsShown {
			happened.Shown, happened.More = happened.Shown[:refsShown], happened.Shown[refsShown:]
		}
		list = append(list, happened)
	}
	return list
}

// answerOf returns an answer in words: the words of its line, or the option where the line has a number or less.
func answerOf(choice, line string) string {
	_, said := chat.Cited(line)
	if len(said) < len(choice) {
		return choice
	}
	return said
}

var original = view{Name: "original", Title: "Original", data: originalOf, Apart: true}

const originalShown = 200 << 10 // bytes

func originalOf(f *frame, r *http.Request) (content, error) {
	blob, err := f.Blob(r.FormValue("hash"))
	if err != nil {
		return nil, err
	}
	text := short(originalShown, strings.ToValidUTF8(string(blob.Body), "\uFFFD"))
	return originalData{Blob: blob, Text: text, Rest: max(0, len(blob.Body)-originalShown)}, nil
}
