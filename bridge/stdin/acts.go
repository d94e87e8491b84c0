package stdin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lethe/events"
	"lethe/internal/status"
	"lethe/life"
)

// act is what an identity has done, or what happened to it, between what is said. It has one
// row, and more when it is opened.
type act struct {
	events.Event
	label   string // what is shown of it before its end
	args    string // of a call, a line each
	running bool
	failed  bool
	end     string // how it ended, and how long it took
	text    string // what has come of it, or comes
	cut     bool   // text is not all of it
	hash    string // of all of it
}

// heard is an event of an identity.
type heard struct {
	self string
	old  bool // from before the room was opened
	events.Event
}

// place is how far the events of an identity have come in the viewed room.
type place struct {
	turn        int
	here, there bool   // lines of this room, of others are answered in the turn
	after       int64  // offset in the room
	said        string // posted since, and not found yet
}

// tell shows an event between the lines of the room where it belongs, if it does.
func (t *transcript) tell(room string, p *place, e heard) {
	if e.Turn != p.turn {
		p.turn, p.here, p.there = e.Turn, false, false
	}
	if e.Type == events.UserMessage {
		if p.here = p.here || e.Room == room; e.Room == room {
			p.after = e.To
		}
		p.there = p.there || e.Room != room
		return
	}
	if p.there && !p.here {
		return
	}
	t.catchUp(p, e.Agent)
	switch a := actOf(e); {
	case e.Type == events.MessageDone:
		if e.Status != "" {
			l := message{Agent: true, Name: e.Agent, Text: e.Text, At: e.At}
			t.insert(block{message: l, mark: cutOff[e.Status]}, p.after, e.old)
		} else if e.InRoom(room) {
			p.said = strings.TrimSpace(e.Text)
		}
	case e.Type == events.ToolResult:
		t.result(e)
	case a != nil && !a.says(room):
		if t.several {
			a.label = e.Agent + " " + a.label
		}
		t.insert(block{message: message{At: e.At}, act: a}, p.after, e.old)
	}
}

// cutOff says why an answer was not posted.
var cutOff = map[string]string{
	"stopped": "cut off by /stop: not posted",
	"cut":     "cut off for its length: not posted",
	"refused": "did not count: not posted",
}

// catchUp looks for the line that an identity has posted since.
func (t *transcript) catchUp(p *place, agent string) {
	if p.said == "" {
		return
	}
	for i := len(t.blocks) - 1; i >= 0; i-- {
		switch b := &t.blocks[i]; {
		case b.To == 0:
		case b.From < p.after:
			return
		case b.Agent && b.Name == agent && strings.TrimSpace(b.Text) == p.said:
			p.after, p.said = b.To, ""
			return
		}
	}
}

// insert shows a block behind the lines that end at an offset of the room. What is older than
// the oldest line is left out.
func (t *transcript) insert(b block, after int64, old bool) {
	at := len(t.blocks)
	for i := at - 1; i >= 0 && (old || after > 0); i-- { // an identity that has heard nothing here acts now
		if l := &t.blocks[i]; l.To > 0 {
			if l.From < after {
				break
			}
			at = i
		}
	}
	if old && at < len(t.blocks) && !slices.ContainsFunc(t.blocks[:at], func(b block) bool { return b.To > 0 }) {
		return
	}
	t.put(at, b)
}

// result ends the call that it is of.
func (t *transcript) result(e heard) {
	for i := len(t.blocks) - 1; i >= 0; i-- {
		b := &t.blocks[i]
		if a := b.act; a != nil && a.Type == events.ToolRequest && a.Entry == e.Entry && a.Agent == e.Agent {
			t.change(i, func() {
				a.running, a.failed, a.text, a.cut, a.hash = false, e.Status != "ok", e.Text, e.Cut, e.Hash
				if a.end = e.Status; e.Job > 0 {
					a.end = fmt.Sprintf("goes on as job %d", e.Job)
				} else if took := e.At.Sub(b.At); took >= 50*time.Millisecond && e.Status != "interrupted" { // nobody knows when
					a.end += " " + span(took)
				}
			})
			return
		}
	}
}

// span is a duration as people say it.
func span(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Truncate(time.Second).String()
}

// actOf is what a row tells of an event; nil of one that the room or the bar tells.
func actOf(e heard) *act {
	a := &act{Event: e.Event, label: e.Words()}
	switch e.Type {
	case events.ToolRequest:
		brief, all := e.Arguments()
		a.label, a.args, a.running = strings.TrimSpace("↳ "+e.Tool+" "+brief), all, true
	case events.Forgot:
		for _, f := range e.Faded {
			a.text += fmt.Sprintf("e%d..e%d  %s", f.First, f.Last, f.Level)
			if r := cmp.Or(f.Replacement, f.Original); r != nil {
				a.text += "  " + r.String()
			}
			a.text += "\n"
		}
	case events.Reminded:
		for _, r := range e.Refs {
			a.text += r.String() + "\n"
		}
	case events.Error:
		a.label, a.failed, a.end, a.text = "error: "+e.Why, true, e.Text, e.Text
	case events.Opened:
	case events.FileChanged:
		if e.By != "" {
			return nil // a call tells it
		}
	default:
		return nil
	}
	return a
}

// says reports that a call is told by the line that it adds to the room.
func (a *act) says(room string) bool {
	var to struct{ Room string }
	_ = json.Unmarshal(a.Args, &to) // without one it is of no room
	return a.Tool == "WAIT" || a.Tool == "SAY" && to.Room == room
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// maxOpen bounds the rows of what an act was called with, and of what has come of it.
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
	var body []string
	cut := false
	part := func(text string, newest bool) {
		all := wrap(strings.TrimRight(clean(text), "\n"), width-8)
		switch more := len(all) - maxOpen; {
		case text == "":
			return
		case more > 0 && newest:
			all = append([]string{"…"}, all[more:]...)
		case more > 0:
			all, cut = append(all[:maxOpen], "…"), true
		}
		body = append(body, all...)
	}
	if label != oneLine(a.label) || strings.Count(a.args, "\n") > 1 { // the row does not tell them
		part(a.args, false)
	}
	cut = a.cut
	part(a.text, a.running)
	if cut && a.hash != "" {
		body = append(body, fmt.Sprintf("… all of it: lethe cat %.16s", a.hash))
	}
	for _, line := range body {
		rows = append(rows, "      "+dim.Render(line))
	}
	return rows
}

// progress shows the output of what runs, by agent. What nobody runs any more has no result.
func (t *transcript) progress(live map[string]status.Live) {
	for i := range t.blocks {
		a := t.blocks[i].act
		if a == nil || !a.running {
			continue
		}
		now, alive := live[a.Agent]
		switch {
		case !alive:
			t.change(i, func() { a.running, a.end = false, "no result yet" })
		case now.Call == a.Entry && now.Output != a.text:
			t.change(i, func() { a.text = now.Output })
		}
	}
}

// toggle opens all acts, or closes them. What is being read stays where it is.
func (t *transcript) toggle() {
	i := t.count()
	for below := 0; i > 0 && below+len(t.rows(i-1)) <= t.up; below += len(t.rows(i)) {
		i--
	}
	t.open = !t.open
	for j := range t.blocks {
		if t.blocks[j].act != nil {
			t.blocks[j].rows = nil
		}
	}
	for t.up = 0; i < t.count(); i++ {
		t.up += len(t.rows(i))
	}
}

// running is what an agent runs: the tool, with its arguments where they are known.
func (t *transcript) running(agent, tool string) string {
	for i := len(t.blocks) - 1; i >= 0; i-- {
		if a := t.blocks[i].act; a != nil && a.running && a.Agent == agent {
			_, what, _ := strings.Cut(a.label, "↳ ")
			return what
		}
	}
	return tool
}

// recent is the place in a log behind which the newest lines stand, n at least. It is before lines of
// a room, so that what follows has its place.
func recent(path string, n int) (after string) {
	log, err := life.View(path)
	if err != nil {
		return ""
	}
	defer log.Close()
	at := int64(0)
	_ = log.Back(0, func(e life.Event, offset int64) bool { // what is damaged ends it
		n--
		at = offset
		return n > 0 || e.Kind != "inbound"
	})
	if at > 0 {
		after = strconv.FormatInt(at, 10)
	}
	return after
}

// happened reads what has happened since to the identities that hear the room.
func (f *files) happened() (all []heard) {
	if f.cfg.Store == nil {
		return nil
	}
	for _, a := range f.all {
		if !slices.Contains(a.Rooms, f.seen.Room) {
			continue
		}
		s, known := f.follows[a.Self]
		if !known {
			path := a.dir + "/LIFE.md"
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
			all = append(all, heard{a.Self, !known, e})
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
