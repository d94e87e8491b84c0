package mind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// world is a life without disk and model: rooms and blobs in memory, and what
// package agent does around the fold.
type world struct {
	model    string // "" is deepseek-v4-pro
	pictured bool   // lines name pictures, and results show some
	spare    bool   // of epochs
	t        lethetest.Failer
	state    *State
	blobs    map[blobs.Hash][]byte // the bodies
	files    map[blobs.Hash][]byte
	lines    []life.Event // of all the life
	rooms    map[string]*roomFile
	now      time.Time
	epoch    []byte   // body of the newest epoch
	log      []logged // the epoch's event and what followed, as read back from lines
	memory   string
	soul     string
	then     [][]byte // snapshots of moments
}

type roomFile struct {
	inode uint64
	data  []byte
}

type logged struct {
	event  life.Event
	bodies []Body
}

// newWorld boots a life named ada. Everything in it is the same each time.
func newWorld(t lethetest.Failer) *world {
	w := &world{
		t: t, state: New(), blobs: map[blobs.Hash][]byte{}, files: map[blobs.Hash][]byte{}, rooms: map[string]*roomFile{},
		now: time.Date(2026, 11, 20, 12, 57, 16, 123456000, time.UTC), soul: "You are Ada. You help.",
	}
	w.happen(event.Boot{Name: "ada", Version: "1"}, w.soul)
	w.renew("boot")
	return w
}

// store keeps a blob and returns its ref.
func (w *world) store(gist string, body []byte) Ref {
	file := blobs.Encode(blobs.Meta{At: w.now, Gist: gist, Life: w.state.Self, Parent: w.state.LastBlob}, body)
	h := blobs.Sum(file)
	w.blobs[h], w.files[h] = body, file
	return Ref{Hash: h, Short: h.String()[:16], Gist: blobs.Gist(gist)}
}

func (w *world) read(h blobs.Hash) ([]byte, error) {
	body, ok := w.blobs[h]
	if !ok {
		return nil, fmt.Errorf("no blob %s", h)
	}
	return body, nil
}

// happen commits an event with the bodies of its blobs, as read back from its line.
func (w *world) happen(e event.Event, bodies ...string) {
	w.t.Helper()
	line := event.Line(w.now, e)
	var with []Body
	for i, b := range bodies {
		ref := w.store(fmt.Sprintf("%s %s %d", line.Kind, strings.Join(line.Args, " "), i), []byte(b))
		line.Refs = append(line.Refs, blobs.Ref{Hash: ref.Short, Gist: ref.Gist})
		with = append(with, Body{ref.Hash, []byte(b)})
		w.state.LastBlob = ref.Hash
	}
	w.lines = append(w.lines, line)
	read, err := life.ParseLine(line.String() + " #000000000000\n")
	lethetest.Must(w.t, err)
	if line.Kind == life.Epoch {
		w.epoch, w.log = []byte(bodies[0]), nil
	}
	w.log = append(w.log, logged{read, with})
	lethetest.Must(w.t, w.state.Apply(read, with...))
	w.now = w.now.Add(time.Second)
}

// fold does what a resume does: the newest epoch and what followed.
func (w *world) fold() *State {
	w.t.Helper()
	s, err := Restore(w.epoch, w.read)
	lethetest.Must(w.t, err)
	for _, l := range w.log {
		lethetest.Must(w.t, s.Apply(l.event, l.bodies...))
	}
	return s
}

// count writes an epoch that changes nothing.
func (w *world) count(why string) {
	w.t.Helper()
	body, err := w.state.Snapshot()
	lethetest.Must(w.t, err)
	w.happen(event.Epoch{K: w.state.Epoch, Why: why}, string(body))
}

// older makes the epoch one that a version before indented notes began.
func (w *world) older() {
	w.t.Helper()
	w.state.Stable.Indented = false
	w.count("count")
	w.state = w.fold()
}

const someTools = `[{"type":"function", "function":{"name":"BASH","description":"runs <cmd> & waits"}}]`

// renew begins a new epoch.
func (w *world) renew(why string) {
	w.t.Helper()
	ref := Ref{Short: "0123456789abcdef", Gist: "SEGMENT.md"}
	w.state.Renew(Inputs{
		System: System(w.state.Name, w.state.Self, w.soul, Rules(), ref, ref),
		Tools:  json.RawMessage(someTools),
		Spare:  w.spare,
		Params: Params{Model: cmp.Or(w.model, "deepseek-v4-pro"), MaxTokens: 1000, Sees: w.pictured && w.state.Next%2 == 0},
	})
	w.state.Open(w.memory, nil, time.Date(2026, 11, 20, 12, 57, 16, 0, time.UTC))
	w.count(why)
}

func (w *world) file(room string) *roomFile {
	f := w.rooms[room]
	if f == nil {
		f = &roomFile{inode: 1<<63 + uint64(len(w.rooms))} // such numbers exist
		w.rooms[room] = f
	}
	return f
}

// write appends raw bytes to a room as a writer does.
func (w *world) write(room string, line []byte) (from, to int64) {
	f := w.file(room)
	if n := len(f.data); n > 0 && f.data[n-1] != '\n' {
		f.data = append(f.data, '\n')
	}
	from = int64(len(f.data))
	f.data = append(f.data, line...)
	return from, int64(len(f.data))
}

// says appends a message of a user.
func (w *world) says(room, name, text string) {
	w.t.Helper()
	line, err := chat.Format(false, name, w.now, text)
	lethetest.Must(w.t, err)
	w.write(room, line)
}

func (w *world) before(room string, at int64) string {
	return blobs.Sum(w.file(room).data[max(0, at-4096):at]).String()[:16]
}

func (w *world) passage(room string, from, to int64) event.Passage {
	return event.Passage{Room: room, Inode: w.file(room).inode, At: Span{From: from, To: to}, Before: w.before(room, to)}
}

func (w *world) join(room string) {
	w.t.Helper()
	joined := event.Joined{N: w.state.Next, Room: room}
	if w.state.Rooms[room] == nil {
		joined.First = &event.First{Inode: w.file(room).inode}
	}
	w.happen(joined, "You now hear room "+room+".")
}

// line is a line of a room with the bytes it has there.
type roomLine struct {
	chat.Line
	from, to int64
}

func (w *world) unheard(room string) []roomLine {
	var out []roomLine
	data := w.file(room).data
	at := min(w.state.Rooms[room].Cursor.Offset, int64(len(data)))
	for raw := range bytes.Lines(data[at:]) {
		to := at + int64(len(raw))
		if raw[len(raw)-1] == '\n' {
			out = append(out, roomLine{chat.Parse(raw), at, to})
		}
		at = to
	}
	return out
}

func (w *world) mine(room string, l roomLine) bool {
	return event.Covered(w.state.Rooms[room].Own, l.from, l.to)
}

// listen hears what is new in a room, as entries like the given one.
func (w *world) listen(room string, like event.Inbound) {
	w.t.Helper()
	from := w.state.Rooms[room].Cursor.Offset
	var text []byte
	heard := like
	end := func(to int64) {
		if heard.Lines > 0 {
			heard.N, heard.Passage, heard.Images = w.state.Next, w.passage(room, from, to), w.images(len(text)%3)
			w.happen(heard, string(text))
		}
		text, heard = nil, like
	}
	last := from
	for _, l := range w.unheard(room) {
		if name, arg := chat.Command(l.Line); name != "" && !w.mine(room, l) {
			end(l.from)
			w.obey(room, l, name, arg, false)
			from, last = l.to, l.to
			continue
		}
		at := int64(len(text))
		text = append(text, w.file(room).data[l.from:l.to]...)
		if w.mine(room, l) {
			heard.Own = append(heard.Own, Span{From: at, To: int64(len(text))})
		} else if !l.Blank() {
			heard.Lines++
		}
		last = l.to
	}
	end(last)
}

// hear has a user say something, and hears it.
func (w *world) hear(room, name, text string) {
	w.t.Helper()
	w.says(room, name, text)
	w.listen(room, event.Inbound{})
}

// hearPeer hears a line of another agent.
func (w *world) hearPeer(room string, like event.Inbound) {
	w.t.Helper()
	w.write(room, []byte("[AGENT:peer 2026-11-20T13:00:00Z] and you?\n"))
	w.listen(room, like)
}

// notice is the number of the next line of the harness.
func (w *world) notice() string { return "k" + strconv.Itoa(w.state.Notices+1) }

// to is where a text goes that is said now.
func (w *world) to(rooms ...string) event.Posting {
	p := event.Posting{TS: w.now}
	for _, r := range rooms {
		f := w.file(r)
		p.Posts = append(p.Posts, event.Place{Room: r, Mark: chat.Mark{Inode: f.inode, From: int64(len(f.data))}})
	}
	return p
}

func (w *world) obey(room string, l roomLine, name, arg string, early bool) {
	w.t.Helper()
	c := event.Command{ID: w.notice(), Passage: w.passage(room, l.from, l.to), Name: "/" + name, By: l.Name, Line: string(l.Raw),
		Early: early, Notice: event.Notice{Say: name + " it is.", Posting: w.to(room)}}
	if name == "model" {
		c.Model = arg
	}
	w.happen(c)
}

// heed obeys the first command in a room that is not /stop, ahead of its turn.
func (w *world) heed(room string) {
	w.t.Helper()
	for _, l := range w.unheard(room) {
		if name, arg := chat.Command(l.Line); name != "" && name != "stop" && !w.mine(room, l) {
			w.obey(room, l, name, arg, true)
			return
		}
	}
}

// answer is a reply of the model. A final one is addressed to its audience.
func (w *world) answer(a Answer) {
	w.t.Helper()
	r := event.Reply{N: w.state.Next, Turn: w.state.Turn + 1, Model: "m",
		Tokens: event.Tokens{In: 1000, Cached: 900, Out: 50, USD: 0.0001}, Weight: 3000, Finish: "stop"}
	rooms := slices.DeleteFunc(w.state.Audience(), func(r string) bool { return !w.state.Rooms[r].Joined })
	if len(a.Calls) == 0 && len(rooms) > 0 && strings.TrimSpace(blobs.Unescape(a.Text)) != "" {
		r.Posting = w.to(rooms...)
	}
	w.happen(r, string(a.Encode()))
}

// start records the intent of the next call that has no result.
func (w *world) start() {
	w.t.Helper()
	p := w.state.Owed().Calls[0]
	c := event.Call{ID: p.ID(), Tool: p.Call.Tool}
	if p.Call.Tool == "SAY" && p.Call.Original == "" {
		room, message := p.Call.Say()
		if r := w.state.Rooms[room]; r != nil && r.Joined && strings.TrimSpace(message) != "" {
			c.Posting = w.to(room)
		}
	}
	w.happen(c)
}

// finish records a result of the next call that has none.
func (w *world) finish(status, body string, show int) {
	w.t.Helper()
	p := w.state.Owed().Calls[0]
	e := event.Result{ID: p.ID(), Tool: p.Call.Tool, Status: status, Show: show, Places: show > 0}
	if open := w.state.Questions; len(open) > 0 && status == OK && len(body)%3 == 2 { // as WAIT does
		e.Withdrawn = open[0].ID
	}
	e.Images = w.images(len(body) % 2)
	w.happen(e, body)
}

// images are so many, where lines name pictures and results show some.
func (w *world) images(n int) (out []string) {
	for i := range n {
		if w.pictured {
			out = append(out, fmt.Sprintf("%s:640x%d", strings.Repeat("3f", 32), i))
		}
	}
	return out
}

// run starts the next call and finishes it.
func (w *world) run(status, body string, show int) {
	w.t.Helper()
	w.start()
	w.finish(status, body, show)
}

func (w *world) last() *Entry { return w.state.Live[len(w.state.Live)-1] }

// end is the length of a room.
func (w *world) end(room string) int64 { return int64(len(w.file(room).data)) }

// pay posts what is owed.
func (w *world) pay() {
	w.t.Helper()
	for _, p := range w.state.Owed().Posts {
		from, to := w.write(p.Room, []byte(p.Line))
		w.happen(event.Posted{ID: p.ID, Passage: w.passage(p.Room, from, to)})
	}
}

func (w *world) note(text, why string) {
	w.t.Helper()
	w.happen(event.Note{N: w.state.Next, Why: why}, text)
}

// fade makes a summary of the n oldest live entries that stand in a row, and a
// pin, and begins an epoch.
func (w *world) fade(n int, summary string) {
	w.t.Helper()
	live := w.state.Live
	n = min(n, len(live))
	for i := 1; i < n; i++ {
		if live[i].N != live[i-1].N+1 {
			n = i
		}
	}
	if n == 0 {
		return
	}
	r := Range{From: live[0].N, To: live[n-1].N, Level: Gist, Relevance: 3}
	text := ""
	for _, e := range live[:n] {
		text += e.Full()
	}
	r.Original = w.store(summary, []byte(text))
	if strings.TrimSpace(summary) != "" {
		ref := w.store(summary, []byte(summary))
		r.Level, r.Summary, r.Text = Summary, &ref, outside(summary)
	}
	w.state.Live = slices.Clone(live[n:])
	w.state.Faded = append(slices.Clone(w.state.Faded), r)
	slices.SortFunc(w.state.Faded, func(a, b Range) int { return a.From - b.From })
	w.state.Pins = append(slices.Clone(w.state.Pins), Pin{From: r.From, To: r.To, Text: blobs.Escape(blobs.Gist(summary)) + "!", Weight: 10})
	w.renew("fade")
}

// back goes back to another moment, as package agent does.
func (w *world) back(snapshot []byte) {
	w.t.Helper()
	then, err := Restore(snapshot, w.read)
	lethetest.Must(w.t, err)
	next, left := w.state.Back(then)
	if len(left) > 0 {
		text := ""
		for _, e := range left {
			text += e.Full()
		}
		next.keep(next.Next, Range{From: left[0].N, To: left[len(left)-1].N, Level: Gist, Original: w.store("left", []byte(text)),
			Epoch: next.Epoch})
	}
	w.state = next
	w.note("You were taken back.", "branch")
	w.count("branch")
}

func (w *world) put(gist string, body []byte) (Ref, error) { return w.store(gist, body), nil }

// edit obeys an edited context.md, as package agent does.
func (w *world) edit(file []byte) Edit {
	w.t.Helper()
	seen, ok := ReadView(file)
	if !ok || seen.Intact {
		return Edit{}
	}
	ed := w.state.Compare(seen)
	if ed.Empty() {
		return ed
	}
	lethetest.Must(w.t, w.state.Amend(ed, w.put))
	text := "A person edited your context."
	if ed.Added != "" {
		text += " They wrote to you:\n" + blobs.Unescape(ed.Added)
	}
	w.note(text, "edit")
	w.renew("edit")
	return ed
}

// dump is all of a state, for comparison: what it stores and what it renders.
func dump(t lethetest.Failer, s *State) string {
	t.Helper()
	body, err := s.Snapshot()
	lethetest.Must(t, err)
	var b strings.Builder
	b.Write(body)
	for _, e := range s.Live {
		fmt.Fprintf(&b, "e%d %q %q\n", e.N, e.Text, e.Reasoning)
		for _, c := range e.Calls {
			fmt.Fprintf(&b, "  %q %q %q\n", c.Args, c.Original, c.Text)
		}
	}
	for _, r := range s.Faded {
		fmt.Fprintf(&b, "faded %d %q\n", r.From, r.Text)
	}
	fmt.Fprintf(&b, "tools %q\n", s.Stable.Tools)
	return b.String()
}
