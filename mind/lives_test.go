package mind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// must fails the test for an error.
func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// world is a life without disk and model: rooms and blobs in memory, and what
// package agent does around the fold.
type world struct {
	t      failer
	state  *State
	blobs  map[blobs.Hash][]byte
	rooms  map[string]*roomFile
	now    time.Time
	epoch  []byte   // body of the newest epoch
	log    []logged // the epoch's event and what followed, as read back from lines
	memory string
	soul   string
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
func newWorld(t failer) *world {
	w := &world{
		t: t, state: New(), blobs: map[blobs.Hash][]byte{}, rooms: map[string]*roomFile{},
		now: time.Date(2026, 11, 20, 12, 57, 16, 123456000, time.UTC), soul: "You are Ada. You help.",
	}
	w.happen("boot", nil, []string{"name", "ada", "version", "1"}, w.soul)
	w.renew("boot")
	return w
}

// store keeps a blob and returns its ref.
func (w *world) store(gist string, body []byte) Ref {
	file := blobs.Encode(blobs.Meta{At: w.now, Gist: gist, Life: w.state.Self, Parent: w.state.LastBlob}, body)
	h := blobs.Sum(file)
	w.blobs[h] = body
	return Ref{Hash: h, Short: h.String()[:16], Gist: blobs.Gist(gist)}
}

func (w *world) read(h blobs.Hash) ([]byte, error) {
	body, ok := w.blobs[h]
	if !ok {
		return nil, fmt.Errorf("no blob %s", h)
	}
	return body, nil
}

// happen commits an event with the bodies of its blobs.
func (w *world) happen(kind string, args, kv []string, bodies ...string) {
	w.t.Helper()
	e := life.New(w.now, kind, args, kv...)
	var with []Body
	for i, b := range bodies {
		ref := w.store(fmt.Sprintf("%s %s %d", kind, strings.Join(args, " "), i), []byte(b))
		e.Refs = append(e.Refs, blobs.Ref{Hash: ref.Short, Gist: ref.Gist})
		with = append(with, Body{ref.Hash, []byte(b)})
		w.state.LastBlob = ref.Hash
	}
	read, err := life.ParseLine(e.String() + " #000000000000\n")
	if err != nil {
		w.t.Fatalf("%s: %v", e, err)
	}
	if kind == life.Epoch {
		w.epoch, w.log = []byte(bodies[0]), nil
	}
	w.log = append(w.log, logged{read, with})
	if err := w.state.Apply(e, with...); err != nil {
		w.t.Fatalf("apply %s: %v", e, err)
	}
	w.now = w.now.Add(time.Second)
}

// fold does what a resume does: the newest epoch and what followed.
func (w *world) fold() *State {
	w.t.Helper()
	s, err := Restore(w.epoch, w.read)
	must(w.t, err)
	for _, l := range w.log {
		if err := s.Apply(l.event, l.bodies...); err != nil {
			w.t.Fatalf("fold %s: %v", l.event, err)
		}
	}
	return s
}

// count writes an epoch that changes nothing.
func (w *world) count(why string) {
	w.t.Helper()
	body, err := w.state.Snapshot()
	must(w.t, err)
	w.happen(life.Epoch, []string{strconv.Itoa(w.state.Epoch)}, []string{"why", why}, string(body))
}

const someTools = `[{"type":"function", "function":{"name":"BASH","description":"runs <cmd> & waits"}}]`

// renew begins a new epoch.
func (w *world) renew(why string) {
	w.t.Helper()
	ref := Ref{Short: "0123456789abcdef", Gist: "SEGMENT.md"}
	w.state.Renew(Inputs{
		System: System(w.state.Name, w.state.Self, w.soul, ref, ref),
		Tools:  json.RawMessage(someTools),
		Params: Params{Model: "deepseek-v4-pro", MaxTokens: 1000},
	})
	w.state.Open(w.memory, []string{"[2026-11-20T12:57:16.123456Z] boot name=ada"})
	w.count(why)
}

func (w *world) next() []string { return []string{EntryID(w.state.Next)} }

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
	must(w.t, err)
	w.write(room, line)
}

func (w *world) before(room string, at int64) string {
	return blobs.Sum(w.file(room).data[max(0, at-4096):at]).String()[:16]
}

func (w *world) at(room string, from, to int64) []string {
	return []string{"room", room, "inode", strconv.FormatUint(w.file(room).inode, 10),
		"at", Span{From: from, To: to}.String(), "before", w.before(room, to)}
}

func (w *world) join(room string) {
	w.t.Helper()
	kv := []string{"room", room}
	if w.state.Rooms[room] == nil {
		kv = []string{"room", room, "inode", strconv.FormatUint(w.file(room).inode, 10), "at", "0", "before", "", "last", "", "total", "0"}
	}
	w.happen("joined", w.next(), kv, "You now hear room "+room+".")
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
	return Covered(w.state.Rooms[room].Own, l.from, l.to)
}

// listen hears what is new in a room; extra are fields of the inbound entries.
func (w *world) listen(room string, extra ...string) {
	w.t.Helper()
	from := w.state.Rooms[room].Cursor.Offset
	var text []byte
	var own []string
	heard := 0
	end := func(to int64) {
		if heard > 0 {
			w.happen(Inbound, w.next(), slices.Concat(w.at(room, from, to), own, extra), string(text))
		}
		text, own, heard = nil, nil, 0
	}
	last := from
	for _, l := range w.unheard(room) {
		if name, arg, ok := chat.Command(l.Line); ok && !w.mine(room, l) {
			end(l.from)
			w.obey(room, l, name, arg, false)
			from, last = l.to, l.to
			continue
		}
		at := int64(len(text))
		text = append(text, w.file(room).data[l.from:l.to]...)
		if w.mine(room, l) {
			own = append(own, "own", Span{From: at, To: int64(len(text))}.String())
		} else if !l.Blank() {
			heard++
		}
		last = l.to
	}
	end(last)
}

func (w *world) notice() []string { return []string{"k" + strconv.Itoa(w.state.Notices+1)} }

func (w *world) place(room string) string {
	f := w.file(room)
	return event.Place{Room: room, Inode: f.inode, Size: int64(len(f.data))}.String()
}

func (w *world) addressed(kv []string, rooms ...string) []string {
	kv = append(kv, "ts", w.now.Format(time.RFC3339))
	for _, r := range rooms {
		kv = append(kv, "post", w.place(r))
	}
	return kv
}

func (w *world) obey(room string, l roomLine, name, arg string, early bool) {
	w.t.Helper()
	kv := append(w.at(room, l.from, l.to), "name", "/"+name, "by", l.Name, "line", string(l.Raw))
	if name == "model" {
		kv = append(kv, "model", arg)
	}
	if early {
		kv = append(kv, "early", "yes")
	}
	w.happen("command", w.notice(), w.addressed(append(kv, "say", name+" it is."), room))
}

// heed obeys the first command in a room that is not /stop, ahead of its turn.
func (w *world) heed(room string) {
	w.t.Helper()
	for _, l := range w.unheard(room) {
		if name, arg, ok := chat.Command(l.Line); ok && name != "stop" && !w.mine(room, l) {
			w.obey(room, l, name, arg, true)
			return
		}
	}
}

// answer is a reply of the model. A final one is addressed to its audience.
func (w *world) answer(a Answer) {
	w.t.Helper()
	kv := []string{"turn", strconv.Itoa(w.state.Turn + 1), "model", "m", "in", "1000", "cached", "900", "out", "50", "usd", "0.000100", "weight", "3000", "finish", "stop"}
	rooms := slices.DeleteFunc(w.state.Audience(), func(r string) bool { return !w.state.Rooms[r].Joined })
	if len(a.Calls) == 0 && len(rooms) > 0 && strings.TrimSpace(blobs.Unescape(a.Text)) != "" {
		kv = w.addressed(kv, rooms...)
	}
	w.happen(Reply, w.next(), kv, string(a.Encode()))
}

// start records the intent of the next call that has no result.
func (w *world) start() {
	w.t.Helper()
	p := w.state.Owed().Calls[0]
	kv := []string{}
	if p.Call.Tool == "SAY" && p.Call.Original == "" {
		room, message := p.Call.Say()
		if r := w.state.Rooms[room]; r != nil && r.Joined && strings.TrimSpace(message) != "" {
			kv = w.addressed(kv, room)
		}
	}
	w.happen("call", []string{p.ID(), p.Call.Tool}, kv)
}

// finish records a result of the next call that has none.
func (w *world) finish(status, body string, show int) {
	w.t.Helper()
	p := w.state.Owed().Calls[0]
	kv := []string{"status", status}
	if show > 0 {
		kv = append(kv, "show", strconv.Itoa(show))
	}
	w.happen("result", []string{p.ID(), p.Call.Tool}, kv, body)
}

// pay posts what is owed.
func (w *world) pay() {
	w.t.Helper()
	for _, p := range w.state.Owed().Posts {
		from, to := w.write(p.Room, []byte(p.Line))
		w.happen("posted", []string{p.ID}, w.at(p.Room, from, to))
	}
}

func (w *world) note(text string, kv ...string) {
	w.t.Helper()
	w.happen(Note, w.next(), kv, text)
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

func (w *world) put(gist string, body []byte) (Ref, error) { return w.store(gist, body), nil }

// edit obeys an edited context.md, as package agent does.
func (w *world) edit(file []byte) Edit {
	w.t.Helper()
	seen, ok := ReadView(file)
	if !ok || seen.Intact {
		return Edit{}
	}
	ed := w.state.Compare(file, seen.Through)
	if ed.Empty() {
		return ed
	}
	if ed.Memory != nil {
		w.memory = *ed.Memory
	}
	must(w.t, w.state.Amend(ed, w.put))
	text := "A person edited your context."
	if ed.Added != "" {
		text += " They wrote to you:\n" + blobs.Unescape(ed.Added)
	}
	w.note(text, "why", "edit")
	w.renew("edit")
	return ed
}

// dump is all of a state, for comparison: what it stores and what it renders.
func dump(t failer, s *State) string {
	t.Helper()
	body, err := s.Snapshot()
	must(t, err)
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
