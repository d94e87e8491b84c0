package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// world is a life in memory: the fold, the blobs, and what was ever said.
type world struct {
	t      lethetest.Failer
	state  *mind.State
	blobs  map[blobs.Hash][]byte
	about  map[blobs.Hash]string // summaries that are stored with a blob
	short  map[string]blobs.Hash
	now    time.Time
	show   int               // clips what is heard and what tools give; 0 does not
	room   int64             // length of the room
	said   map[int]string    // by entry: a text that its original must hold, escaped
	calls  map[int]int       // by reply, how many calls it has; -1 when a person was at its turn
	heard  map[int]bool      // entries that were heard
	early  map[int]bool      // entries that faded before their turn was over
	people func(string) bool // see Input
	set    Settings
	kept   []Fade
	notes  []string
	puts   int
	lines  []Line
}

func meter(weight int) int { return (weight + 2) / 3 }

func newWorld(t lethetest.Failer, limit int) *world {
	w := &world{
		t: t, state: mind.New(), blobs: map[blobs.Hash][]byte{}, about: map[blobs.Hash]string{}, short: map[string]blobs.Hash{},
		said: map[int]string{}, calls: map[int]int{}, heard: map[int]bool{}, early: map[int]bool{},
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), set: Default(limit),
	}
	w.set.Target = 0.5
	w.state.Name, w.state.Self = "ada", strings.Repeat("ab", 32)
	w.state.Stable = mind.Stable{System: "the soul and the harness", Tools: "[]", Params: mind.Params{Model: "m", MaxTokens: limit / 10}}
	w.state.Open("notes", []string{"[…] boot"}, w.now)
	return w
}

func (w *world) put(gist string, body []byte) (mind.Ref, error) {
	return w.store(blobs.Meta{Gist: gist}, body)
}

func (w *world) store(m blobs.Meta, body []byte) (mind.Ref, error) {
	w.puts++
	m.At, m.Life = w.now, w.state.Self
	file := blobs.Encode(m, body)
	h := blobs.Sum(file)
	w.blobs[h], w.about[h] = body, m.Summary
	w.short[h.String()[:16]] = h
	return mind.Ref{Hash: h, Short: h.String()[:16], Gist: blobs.Gist(m.Gist)}, nil
}

func (w *world) read(h blobs.Hash) ([]byte, error) {
	body, ok := w.blobs[h]
	if !ok {
		return nil, fmt.Errorf("no blob %s", h)
	}
	return body, nil
}

func (w *world) happen(e event.Event, body string) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	line := event.Line(w.now, e)
	ref, _ := w.put(line.Kind+" "+line.Arg(0), []byte(body))
	line.Refs = []blobs.Ref{{Hash: ref.Short, Gist: ref.Gist}}
	lethetest.Must(w.t, w.state.Apply(line, mind.Body{Hash: ref.Hash, Data: []byte(body)}))
}

// hear adds an inbound entry of one line.
func (w *world) hear(who, text string) {
	w.t.Helper()
	line := fmt.Sprintf("[USER:%s 2026-11-20T12:57:16Z] %s\n", who, strings.ReplaceAll(text, "\n", "\u2028"))
	w.said[w.state.Next] = strings.ReplaceAll(blobs.Escape(text), "\n", "\n    ")
	w.heard[w.state.Next] = true
	from := w.room
	w.room += int64(len(line))
	w.happen(event.Inbound{N: w.state.Next, Passage: event.Passage{Room: "dev", At: event.Span{From: from, To: w.room}}, Show: w.show}, line)
}

// reply adds a whole unit: a reply, and a result for each command that it runs.
func (w *world) reply(text string, results ...string) {
	w.t.Helper()
	n := w.state.Next
	w.ask(text, len(results))
	for k, r := range results {
		w.finish(n, k+1, r)
		w.said[n] += "\x00" + blobs.Escape(r)
	}
}

// finish gives call k of entry n its result.
func (w *world) finish(n, k int, result string) {
	w.t.Helper()
	w.happen(event.Result{ID: mind.CallID(n, k), Tool: "BASH", Status: mind.OK, Show: w.show}, result)
}

// ask adds a reply whose calls have no results yet.
func (w *world) ask(text string, calls int) {
	w.t.Helper()
	n := w.state.Next
	a := mind.Answer{Reasoning: fmt.Sprintf("I think about e%d.", n), Text: text}
	for k := range calls {
		a.Calls = append(a.Calls, mind.AnswerCall{Tool: "BASH", Args: fmt.Sprintf(`{"command":"make step%d"}`, k)})
	}
	w.said[n] = blobs.Escape(blobs.Unescape(text))
	w.calls[n] = calls
	w.happen(event.Reply{N: n, Turn: 1, Model: "m"}, string(a.Encode()))
}

func (w *world) note(text string) {
	w.t.Helper()
	w.said[w.state.Next] = blobs.Escape(text)
	w.happen(event.Note{N: w.state.Next}, text)
}

// turns adds n exchanges of about so many tokens each.
func (w *world) turns(n, tokens int) {
	w.t.Helper()
	for range n {
		k := w.state.Next
		w.hear("ada", fmt.Sprintf("please look at ticket-%d in src/mod%d/file%d.go", k, k%7, k))
		w.reply("", fmt.Sprintf("ticket-%d is open\n%s", k,
			strings.Repeat(fmt.Sprintf("line of output %d of the build\n", k), max(1, (tokens*3-600)/33))))
		w.reply(fmt.Sprintf("ticket-%d was caused by code%d; it is fixed now.", k, k))
	}
}

func (w *world) input() Input {
	return Input{Settings: w.set, Meter: meter, Segment: "Cut it.", Summarise: "Sum it up.", Kept: w.kept, People: w.people}
}

func (w *world) plan() Job {
	w.t.Helper()
	j, ok := Plan(w.state, w.input())
	if !ok {
		w.t.Fatalf("there is nothing to forget")
	}
	return j
}

// swap swaps fades in and begins the epoch, as package agent does.
func (w *world) swap(fades []Fade) Outcome {
	w.t.Helper()
	out, err := Swap(w.state, fades, w.set, meter, w.store, w.read)
	lethetest.Must(w.t, err)
	w.kept = out.Kept
	if out.Note != "" {
		w.notes = append(w.notes, out.Note)
	}
	w.lines = append(w.lines, out.Lines...)
	if len(out.Lines) == 0 {
		return out
	}
	w.state = w.state.Forget(out.Context, w.state.LastBlob)
	w.state.Epoch++
	w.state.Open("notes", []string{"[…] boot"}, w.now)
	return out
}

// forget plans a compaction, runs it and swaps it in.
func (w *world) forget(model Model) Outcome {
	w.t.Helper()
	return w.swap(w.plan().fades(context.Background(), model))
}

func (w *world) mechanically() Outcome {
	w.t.Helper()
	return w.swap(w.plan().Mechanical())
}

// live is what the live entries cost.
func (w *world) live() int {
	n := 0
	for _, e := range w.state.Live {
		n += Meter(meter).messages(e.Messages(mind.Stable{Indented: true})...)
	}
	return n
}

func (w *world) level(level string) (ranges []mind.Range, tokens int) {
	for _, r := range w.state.Faded {
		if r.Level == level {
			ranges = append(ranges, r)
			tokens += Meter(meter).of(w.state.Line(r) + "\n")
		}
	}
	return ranges, tokens
}

// conserved checks that each entry is live or in exactly one range, and that all
// that it said can be read from there. It returns the most refs that takes.
func (w *world) conserved() int {
	w.t.Helper()
	where := map[int]string{}
	claim := func(n int, by string) {
		if was, ok := where[n]; ok {
			w.t.Fatalf("e%d is in %s and in %s", n, was, by)
		}
		where[n] = by
	}
	for i, e := range w.state.Live {
		if i > 0 && e.N <= w.state.Live[i-1].N {
			w.t.Fatalf("live entries are out of order at e%d", e.N)
		}
		claim(e.N, "the live context")
	}
	deepest := 0
	for i, r := range w.state.Faded {
		if i > 0 && r.From <= w.state.Faded[i-1].To {
			w.t.Fatalf("faded ranges are out of order at e%d", r.From)
		}
		deepest = max(deepest, w.reach(r.From, r.To, r.Original.Short, tier(r), claim))
	}
	for n := 1; n < w.state.Next; n++ {
		if where[n] == "" {
			w.t.Fatalf("e%d is nowhere", n)
		}
	}
	return deepest
}

// together checks that no turn is parted: all of it but its steps is live, or nothing
// is, and no range ends with what was heard, unless a step behind it has faded alone.
func (w *world) together(t lethetest.Failer) {
	t.Helper()
	first, last := 1, 1
	for n := 1; n < w.state.Next; n++ {
		if calls, reply := w.calls[n]; !reply || calls != 0 {
			continue
		}
		last = n + 1
	}
	for n := 1; n < w.state.Next; n++ {
		calls, reply := w.calls[n]
		_, next := w.calls[n+1]
		if !(reply && calls == 0) && !(n >= last && reply && !next && n+1 < w.state.Next) {
			continue // the end of a turn, or in the open one a reply before what people or the daemon told
		}
		live, heard, edited, ending := 0, 0, false, 0
		for k := first; k <= n; k++ {
			calls, reply := w.calls[k]
			edited = edited || calls < 0
			if n < last && w.early[k] || reply && calls > 0 {
				continue
			}
			heard++
			if w.state.Entry(k) != nil {
				live++
			} else if !reply && w.calls[k+1] == 0 && slices.ContainsFunc(w.state.Faded, func(r mind.Range) bool { return r.To == k }) {
				ending = k
			}
		}
		if ending > 0 && !edited {
			t.Fatalf("a range ends with e%d, which was heard", ending)
		}
		if live > 0 && live < heard && !edited {
			t.Fatalf("of e%d..e%d %d entries beside its steps are live, of %d", first, n, live, heard)
		}
		first = n + 1
	}
	for n := last; n < w.state.Next; n++ {
		w.early[n] = w.state.Entry(n) == nil
	}
}

// reach follows one ref down to the originals.
func (w *world) reach(from, to int, short string, t int, claim func(int, string)) int {
	w.t.Helper()
	body := w.blobs[w.short[short]]
	if body == nil {
		w.t.Fatalf("e%d..e%d: no blob %s", from, to, short)
	}
	if t > 0 {
		list := mind.ReadCard(body)
		at, deepest := from, 0
		for _, l := range list {
			if l.From != at {
				w.t.Fatalf("card e%d..e%d goes on with e%d after e%d", from, to, l.From, at-1)
			}
			deepest = max(deepest, w.reach(l.From, l.To, l.Ref.Hash, t-1, claim))
			at = l.To + 1
		}
		if at != to+1 || len(list) > perCard {
			w.t.Fatalf("card e%d..e%d of %d ends with e%d", from, to, len(list), at-1)
		}
		return deepest + 1
	}
	text := string(body)
	for n := from; n <= to; n++ {
		claim(n, fmt.Sprintf("e%d..e%d", from, to))
		_, rest, ok := strings.Cut(text, fmt.Sprintf("◆ e%d ", n))
		if !ok {
			w.t.Fatalf("original of e%d..e%d has no e%d", from, to, n)
		}
		if end := strings.Index(rest, fmt.Sprintf("\n◆ e%d ", n+1)); end >= 0 {
			rest = rest[:end]
		}
		for piece := range strings.SplitSeq(w.said[n], "\x00") {
			if !strings.Contains(rest, piece) {
				w.t.Fatalf("original of e%d..e%d lacks what e%d said", from, to, n)
			}
		}
	}
	return 1
}

// fades runs a job, whatever its failure.
func (j Job) fades(ctx context.Context, model Model) []Fade {
	fades, _ := j.Run(ctx, model)
	return fades
}

// scripted answers with a function, and keeps what it was asked.
type scripted struct {
	mu     sync.Mutex
	asked  []Ask
	answer func(ctx context.Context, a Ask) (string, error)
}

func (m *scripted) Ask(ctx context.Context, a Ask) (string, error) {
	m.mu.Lock()
	m.asked = append(m.asked, a)
	m.mu.Unlock()
	return m.answer(ctx, a)
}

func (m *scripted) count(task string) int {
	n := 0
	for _, a := range m.asked {
		if a.Task == task {
			n++
		}
	}
	return n
}

// taskRange reads the range that a request is about.
func taskRange(a Ask) (from, to int) {
	last := a.Messages[len(a.Messages)-1].Content.String()
	i := strings.LastIndex(last, "<task name=")
	var name string
	if _, err := fmt.Sscanf(last[i:], "<task name=%q from=\"e%d\" to=\"e%d\">", &name, &from, &to); err != nil || name != a.Task {
		panic(fmt.Sprintf("task %q: %v", last[i:], err))
	}
	return from, to
}

// able answers as a good model does: chunks of so many entries, short summaries.
func able(each, relevance int) *scripted {
	return &scripted{answer: func(_ context.Context, a Ask) (string, error) {
		from, to := taskRange(a)
		if a.Task == Summarise {
			return fmt.Sprintf(`{"summary":"what e%d to e%d were about","gist":"about e%d","relevance":%d}`, from, to, from, relevance), nil
		}
		var chunks []string
		for n := from; n <= to; n += each {
			chunks = append(chunks, fmt.Sprintf(`{"from":"e%d","to":"e%d","relevance":%d}`, n, min(to, n+each-1), relevance))
		}
		return `{"chunks":[` + strings.Join(chunks, ",") + `]}`, nil
	}}
}

var errProvider = errors.New("503 from the provider")

// complete checks that fades hold each eligible entry once, in order.
func complete(t lethetest.Failer, j Job, fades []Fade) {
	t.Helper()
	want := map[int]bool{}
	for _, run := range j.runs {
		for _, u := range run {
			want[u.N] = true
		}
	}
	for _, f := range j.kept {
		for n := f.From; n <= f.To; n++ {
			want[n] = true
		}
	}
	last := 0
	for _, f := range fades {
		if f.From <= last {
			t.Fatalf("e%d..e%d follows e%d", f.From, f.To, last)
		}
		last = f.To
		for n := f.From; n <= f.To; n++ {
			if !want[n] {
				t.Fatalf("e%d..e%d holds e%d, which nobody asked about, or twice", f.From, f.To, n)
			}
			delete(want, n)
		}
		if f.Gist == "" && f.Relevance > 0 { // it stays
			continue
		}
		if f.Relevance < 1 || f.Relevance > 10 || f.Summary == "" || f.Gist == "" ||
			utf8.RuneCountInString(f.Gist) > blobs.MaxGist || strings.Contains(f.Gist, "\n") {
			t.Fatalf("a fade is not whole: %+v", f)
		}
		for _, p := range append(f.pins, mind.Pin{Text: f.Gist}) {
			if strings.Contains(p.Text, "\n") || p.From > 0 && strings.ContainsAny(p.Text, "◱◲◳◆") {
				t.Fatalf("a pin or gist can forge structure: %q", p.Text)
			}
		}
		if strings.ContainsAny(f.Summary, "◱◲◳◆") {
			t.Fatalf("a summary can forge structure: %q", f.Summary)
		}
	}
	if len(want) > 0 {
		t.Fatalf("%d entries are in no fade", len(want))
	}
}
