package agent

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life"
	"lethe/mind"
)

func (w *world) path(room string) string { return chat.Path(w.home.Dir, room) }

// own is the path of one of the identity's files.
func (w *world) own(id home.Identity, name string) string { return filepath.Join(id.Dir, name) }

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	lethetest.Must(w, err)
	return string(data)
}

func (w *world) write(path, text string) {
	w.Helper()
	lethetest.Must(w, os.WriteFile(path, []byte(text), 0o600))
}

// whole is where the last line of a room that has a newline ends.
func (w *world) whole(room string) int64 {
	text, _ := os.ReadFile(w.path(room))
	return int64(bytes.LastIndexByte(text, '\n') + 1)
}

// put appends bytes to a file, or to a room, as anything outside would.
func (w *world) put(room, text string) { w.Helper(); w.appendTo(w.path(room), text) }

func (w *world) appendTo(path, text string) {
	w.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	lethetest.Must(w, err)
	_, err = f.WriteString(text)
	lethetest.Must(w, errors.Join(err, f.Close()))
}

// say appends messages of a user.
func (w *world) say(room, who string, texts ...string) {
	w.Helper()
	var all []byte
	for _, text := range texts {
		line, err := chat.Format(false, who, time.Now(), text)
		lethetest.Must(w, err)
		all = append(all, line...)
	}
	w.put(room, string(all))
}

// parsed are the whole lines of a room as far as they were read.
type parsed struct {
	text  []byte
	lines []chat.Line
}

func (w *world) lines(room string) []chat.Line {
	w.Helper()
	text, err := os.ReadFile(w.path(room))
	if !errors.Is(err, os.ErrNotExist) {
		lethetest.Must(w, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.rooms[room] // which is waited for again and again
	if !bytes.HasPrefix(text, p.text) {
		p = parsed{}
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for raw := range bytes.Lines(whole[len(p.text):]) {
		if l := chat.Parse(raw); !l.Blank() {
			p.lines = append(p.lines, l)
		}
	}
	p.text = whole
	w.rooms[room] = p
	return slices.Clone(p.lines)
}

// said returns the texts that agents have said in a room.
func (w *world) said(room string) []string {
	w.Helper()
	var out []string
	for _, l := range w.lines(room) {
		if l.Agent {
			out = append(out, l.Text)
		}
	}
	return out
}

// answered waits for the n-th agent's line of a room and returns it.
func (w *world) answered(room string, n int) string {
	w.Helper()
	var said []string
	w.eventually(fmt.Sprintf("room %s has %d answers", room, n), func() bool { said = w.said(room); return len(said) >= n })
	return said[n-1]
}

// ask says something and waits for the answer.
func (w *world) ask(room string, texts ...string) string {
	w.Helper()
	n := len(w.said(room))
	w.say(room, "ann", texts...)
	return w.answered(room, n+1)
}

// remark is a line of some ten tokens a sentence.
func remark(i, sentences int) string {
	return fmt.Sprintf("remark-%d: %s", i, strings.Repeat(fmt.Sprintf("the valve at pump-%d leaks a little. ", i), sentences))
}

// talk says n more remarks in room dev, each after the answer to the one before.
func (w *world) talk(n, sentences int) {
	w.Helper()
	for range n {
		w.remarks++
		w.ask("dev", remark(w.remarks, sentences))
	}
}

// life returns all events of an identity, checked.
func (w *world) life(id home.Identity) []life.Event {
	w.Helper()
	text := w.read(id.LIFE())
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.lives[id.Dir]; known.text == text && text != "" { // which is waited for again and again
		return slices.Clone(known.events)
	}
	var out []life.Event
	lethetest.Must(w, life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		explained(w, e)
		out = append(out, e)
		return nil
	}))
	w.lives[id.Dir] = lived{text, out}
	return slices.Clone(out)
}

// lived are the events of a log.
type lived struct {
	text   string
	events []life.Event
}

// events returns those of one kind.
func (w *world) events(id home.Identity, kind string) []life.Event {
	w.Helper()
	return slices.DeleteFunc(w.life(id), func(e life.Event) bool { return e.Kind != kind })
}

// having returns the events of one kind with a value.
func (w *world) having(id home.Identity, kind, key, value string) []life.Event {
	w.Helper()
	return slices.DeleteFunc(w.events(id, kind), func(e life.Event) bool { return e.Get(key) != value })
}

// matching returns the events of one kind, with a value if a key and a value are given.
func (w *world) matching(id home.Identity, kind string, with []string) []life.Event {
	w.Helper()
	if len(with) == 0 {
		return w.events(id, kind)
	}
	return w.having(id, kind, with[0], with[1])
}

// has checks the number of events of one kind, or of those that have a value: a key and a value.
func (w *world) has(id home.Identity, n int, kind string, with ...string) {
	w.Helper()
	equal(w, strings.TrimSpace(kind+" "+strings.Join(with, "=")), len(w.matching(id, kind, with)), n)
}

// until waits for that number.
func (w *world) until(id home.Identity, n int, kind string, with ...string) {
	w.Helper()
	w.eventually(fmt.Sprint(id.Name, " has ", n, " ", kind, " ", with), func() bool {
		return len(w.matching(id, kind, with)) == n
	})
}

// result is what a call came to.
type result struct{ call, status, text string }

func (w *world) results(id home.Identity) (all []result) {
	w.Helper()
	for _, e := range w.events(id, "result") {
		all = append(all, result{e.Arg(0) + " " + e.Arg(1), e.Get("status"), w.body(e, 0)})
	}
	return all
}

// shows waits until an identity shows something.
func (w *world) shows(id home.Identity, what string, is func(status.Status) bool) {
	w.Helper()
	w.eventually(what, func() bool {
		s, err := status.Read(id.Dir)
		return err == nil && is(s)
	})
}

// status is what an identity shows now.
func (w *world) status(id home.Identity) status.Status {
	w.Helper()
	s, err := status.Read(id.Dir)
	lethetest.Must(w, err)
	return s
}

// waitFor waits until the identity is in a state.
func (r *running) waitFor(state, tool string) {
	r.w.Helper()
	r.w.shows(r.id, state+" "+tool, func(s status.Status) bool { return s.State == state && s.Tool == tool })
}

func (w *world) fold(id home.Identity) *mind.State {
	w.Helper()
	s, err := home.Fold(id, w.store)
	lethetest.Must(w, err)
	return s
}

func (w *world) spending(id home.Identity) budget.Spending {
	w.Helper()
	s, err := budget.SpendingOf(id, w.store)
	lethetest.Must(w, err)
	return s
}

func (w *world) owes(id home.Identity) bool {
	w.Helper()
	owed := w.fold(id).Owed()
	return owed.Answer || len(owed.Calls)+len(owed.Posts) > 0
}

// body reads the blob of an event's i-th ref.
func (w *world) body(e life.Event, i int) string { w.Helper(); return w.original(e.Refs[i].Hash) }

// original reads a blob by the beginning of its hash.
func (w *world) original(short string) string {
	w.Helper()
	h, err := w.store.Resolve(short)
	lethetest.Must(w, err)
	body, err := w.bodyOf(h)
	lethetest.Must(w, err)
	return string(body)
}

func (w *world) bodyOf(h blobs.Hash) ([]byte, error) {
	b, err := w.store.Get(h)
	return b.Body, err
}

// heard returns the lines that an identity has heard in a room, in order.
func (w *world) heard(id home.Identity, room string) []string {
	w.Helper()
	var out []string
	for _, e := range w.having(id, "inbound", "room", room) {
		var own []mind.Span
		for _, o := range e.All("own") {
			var span mind.Span
			_, err := fmt.Sscanf(o, "%d..%d", &span.From, &span.To)
			lethetest.Must(w, err)
			own = append(own, span)
		}
		at := int64(0)
		for raw := range strings.Lines(w.body(e, 0)) {
			l := chat.Parse([]byte(raw))
			mine := slices.ContainsFunc(own, func(o mind.Span) bool { return o.From <= at && at < o.To })
			at += int64(len(raw))
			if !mine && !l.Blank() {
				out = append(out, l.Text)
			}
		}
	}
	return out
}

// calls answers with tool calls: pairs of a name and arguments.
func calls(pairs ...string) *rehearsal.Answer {
	a := &rehearsal.Answer{Reasoning: "I do what the script says."}
	for i := 0; i+1 < len(pairs); i += 2 {
		a.Calls = append(a.Calls, rehearsal.Call{Name: pairs[i], Arguments: pairs[i+1]})
	}
	return a
}

// cut is an answer that was cut off for its length.
func cut(s string) *rehearsal.Answer { return &rehearsal.Answer{Text: s, Finish: "length"} }

// text answers with words.
func text(s string) *rehearsal.Answer { return &rehearsal.Answer{Text: s} }

// on answers the first request that contains a text.
func on(contains string, a *rehearsal.Answer) rehearsal.Step {
	return rehearsal.Step{Contains: contains, Answer: a}
}

// always answers whatever nothing else of the script does, but for tasks of a compaction.
func always(s string) rehearsal.Step {
	return rehearsal.Step{Task: "none", Times: -1, Answer: text(s)}
}

func contains(t testing.TB, s, part string) {
	t.Helper()
	if !strings.Contains(s, part) {
		t.Errorf("%q is missing in:\n%s", part, s)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func equalSlices(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
