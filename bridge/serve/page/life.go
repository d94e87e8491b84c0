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
	"lethe/chat"
	"lethe/life"
)

// log is all that happened, by windows from the end.
var log = view{Name: "life", Title: "Life", data: lifeOf}

type lifeData struct {
	Kind   string
	Kinds  []string
	Events []happening
	Lines  int    // of LIFE, that were looked at
	Older  int64  // the window begins at this byte of LIFE; 0: there is no older one
	Newest bool   // the window goes to the end
	After  string // the last event that was looked at
}

// happening is an event as it is shown. A call and its result are one.
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

func lifeOf(f *frame, r *http.Request) (any, error) {
	d := &lifeData{Kind: r.FormValue("kind")}
	d.Kinds = append([]string{""}, slices.Sorted(maps.Keys(kinds))...)
	if !slices.Contains(d.Kinds, d.Kind) {
		return nil, report.Invalid("%.40q is no kind of event; there are %s", d.Kind, strings.Join(d.Kinds[1:], ", "))
	}
	if after := r.FormValue("after"); after != "" { // what came since
		got, err := f.read(after, -1, lifeShown)
		d.After = after
		d.take(f, got)
		return d, err
	}
	before, err := place(r, "before")
	if err != nil {
		return nil, err
	}
	lines := lifeShown
	if d.Kind != "" {
		lines = lifeSought
	}
	got, err := f.window(before, lines, d)
	if errors.Is(err, life.ErrOtherLog) {
		err = report.Invalid("no line of LIFE begins at %d; leave out before", before)
	}
	if err != nil {
		return nil, err
	}
	d.take(f, got)
	if d.Newest {
		f.Live = d.After
	}
	return d, nil
}

// window reads the events of so many lines of LIFE that end at a byte, or at the end for 0 or less.
func (f *frame) window(before int64, lines int, d *lifeData) ([]events.Event, error) {
	log, err := life.View(f.ID.LIFE())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	size := log.Size()
	if before <= 0 || before >= size {
		before, d.Newest = size, true
	}
	err = log.Back(before, func(_ life.Event, offset int64) bool {
		d.Older, d.Lines = offset, d.Lines+1
		return d.Lines < lines
	})
	if err != nil {
		return nil, err
	}
	after := ""
	if d.Older > 0 {
		after = strconv.FormatInt(d.Older, 10)
	}
	d.After = strconv.FormatInt(before, 10)
	return f.read(after, before, -1)
}

// read reads events behind an ID up to a byte of LIFE, and not many more than most; below 0, all that there are.
func (f *frame) read(after string, to int64, most int) (got []events.Event, err error) {
	s, err := f.Events(f.ID, after)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for e, err := range s.All() {
		if err != nil {
			return nil, err
		}
		at, _, inside := strings.Cut(e.ID, ".")
		if n, _ := strconv.ParseInt(at, 10, 64); to >= 0 && (n > to || inside && n == to) || len(got) == most {
			break
		}
		got = append(got, e)
	}
	return got, nil
}

// take takes over what is to be shown: of all kinds, not what each turn has.
func (d *lifeData) take(f *frame, got []events.Event) {
	day := ""
	for _, e := range got {
		d.After = e.ID
	}
	for _, h := range join(got) {
		wanted := slices.Contains(kinds[d.Kind], h.Type)
		if d.Kind == "" {
			wanted = h.Type != events.Usage && (h.Type != events.TurnEnd || h.Why != "" && h.Why != "asked")
		}
		if !wanted {
			continue
		}
		this := h.At.In(f.Clock()).Format(time.DateOnly)
		h.NewDay, day = this != day, this
		d.Events = append(d.Events, h)
	}
}

// join makes a call and its result one, and so a line and the answer that it is.
func join(got []events.Event) (list []happening) {
	calls := map[string]int{}
	for _, e := range got {
		if i, ok := calls[e.Entry]; ok && e.Type == events.ToolResult {
			list[i].Result = &e
			continue
		}
		h := happening{Event: e}
		switch e.Type {
		case events.ToolRequest:
			calls[e.Entry], h.About = len(list), blobs.Gist(e.Brief())
		case events.Answered: // the line before it has the words
			if last := len(list) - 1; last >= 0 && list[last].Type == events.UserMessage {
				h.Line, h.Text, list = list[last].Line, answerOf(e.Choice, list[last].Text), list[:last]
			}
		}
		h.Shown = e.Originals()
		if len(h.Shown) > refsShown {
			h.Shown, h.More = h.Shown[:refsShown], h.Shown[refsShown:]
		}
		list = append(list, h)
	}
	return list
}

// answerOf is an answer in words: those of its line, and for a number or less the option that it chooses.
func answerOf(choice, line string) string {
	_, said := chat.Cited(line)
	if len(said) < len(choice) {
		return choice
	}
	return said
}

var original = view{Name: "original", Title: "Original", data: originalData, Apart: true}

const originalShown = 200 << 10 // bytes

func originalData(f *frame, r *http.Request) (any, error) {
	b, err := f.Blob(r.FormValue("hash"))
	if err != nil {
		return nil, err
	}
	text := short(originalShown, strings.ToValidUTF8(string(b.Body), "\uFFFD"))
	return map[string]any{"Blob": b, "Text": text, "Rest": max(0, len(b.Body)-originalShown)}, nil
}
