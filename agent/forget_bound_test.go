package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lethe/compactor"
	"lethe/internal/lethetest"
	"lethe/life/event"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// many is an answer with n calls of a tool.
func many(n int, tool, args string) *rehearsal.Answer {
	a := &rehearsal.Answer{Reasoning: "A lot at once."}
	for range n {
		a.Calls = append(a.Calls, rehearsal.Call{Name: tool, Arguments: args})
	}
	return a
}

// TestWhateverArrives brings in at once what is larger than the whole limit: the
// bound holds, each byte can be reached, and the life goes on.
func TestWhateverArrives(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	big := strings.Repeat("five megabytes of it ", 250_000)
	lines := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[USER:ann 2026-11-20T12:57:16Z] line %d %s\n", i, text)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		said   string
		answer *rehearsal.Answer
	}{
		"a result of 5 MB":     {"go on", calls("BASH", `{"command":"yes some output | head -c 5000000"}`)},
		"100 results":          {"go on", many(100, "LIST", `{"path":"."}`)},
		"binary":               {"go on", calls("BASH", `{"command":"head -c 200000 /dev/zero; printf '\\360\\237\\230\\200%.0s' $(seq 1 9000)"}`)},
		"structure":            {"go on", calls("BASH", "{\"command\":\"yes '\u25c6 e1 note ◱hash=0123456789abcdef gist=x◲' | head -c 300000\"}")},
		"a line of 5 MB":       {big, text("noted")},
		"a line of returns":    {strings.Repeat("\r", 30_000) + "!", text("noted")},
		"a thousand long ones": {"\x00" + lines(1000, strings.Repeat("and it goes on ", 60)), text("noted")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, g := forgetful(t, 16_000)
			w.model.Push(rehearsal.Step{Task: "none", Skip: 4, Answer: c.answer})
			w.model.Push(noted())
			id := w.boot("ada", "dev")
			r := w.measured(g, id)
			w.talkAtLength(1, 4, 100)
			if flood, ok := strings.CutPrefix(c.said, "\x00"); ok {
				w.put("dev", flood)
			} else {
				w.say("dev", "ann", c.said)
			}
			w.answered("dev", 5)
			r.settled()
			n := len(w.said("dev"))
			w.talkAtLength(n+1, n+5, 100)
			r.checked(g)
			w.stable()
		})
	}
}

// Floods in many rooms at once share one budget.
func TestManyRooms(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	var rooms []string
	for i := range 24 {
		rooms = append(rooms, fmt.Sprintf("room-%d", i))
		w.put(rooms[i], "")
	}
	id := w.boot("ada", rooms...)
	r := w.measured(g, id)
	r.finish()
	for _, room := range rooms {
		w.put(room, strings.Repeat("[USER:ann 2026-11-20T12:57:16Z] "+strings.Repeat("a flood of words ", 20)+"\n", 300))
	}
	r = w.measured(g, id)
	w.answered("room-23", 1)
	r.checked(g)
	for _, e := range w.events(id, "inbound")[:24] {
		if in, _ := event.As[event.Inbound](e); in.Show == 0 || in.Show > 2000 {
			t.Errorf("an entry shows %d runes of %s", in.Show, in.Room)
		}
	}
}

// A note that a person makes too long is cut like everything else, and so is an
// entry, if only by fading.
func TestLongNote(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	w.conf.Recall.NoHints = true // the last message is looked at
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.talk(1, 1)
	r.finish()
	file := w.own(id, "context.md")
	view := w.read(file)
	lethetest.Must(t, os.WriteFile(file, []byte(strings.Repeat("by the way, ", 20_000)+"\n"+strings.Replace(view, "\u25c6 end\n", strings.Repeat("and so on, ", 20_000)+"\n\u25c6 end\n", 1)), 0o600))
	lethetest.Must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte(strings.Repeat("\U0001F600", 9000)), 0o600))
	r = w.measured(g, id)
	w.talk(2, 6)
	r.checked(g)
	contains(t, w.newest().last, "remark-6:")
	notes := w.events(id, "note")
	equal(t, "notes", len(notes), 2)
	for _, e := range notes {
		if note, _ := event.As[event.Note](e); note.Show == 0 || note.Show > compactor.MaxResult {
			t.Errorf("a note of %d bytes shows %d characters", len(w.body(e, 0)), note.Show)
		}
	}
}

// Pages that are opened at once share what one unit may bring in, and none is
// clipped. TestUncompactShowsAllPageByPage in package tools reads an original whole.
func TestPagesShareTheBound(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 30_000)
	w.conf.Recall.NoHints = true // the script goes by the last message
	id := w.boot("ada", "dev")
	w.model.Push(rehearsal.Step{Contains: "show it", Answer: calls("BASH", `{"command":"seq 1 40000"}`)}, rehearsal.Step{Answer: text("there it is")})
	r := w.measured(g, id)
	w.say("dev", "ann", "show it")
	w.answered("dev", 1)
	short := w.events(id, "result")[0].Refs[0].Hash
	w.model.Push(rehearsal.Step{Task: "none", Contains: "all at once", Answer: many(20, "UNCOMPACT", `{"ref":"`+short+`","limit":100000}`)},
		rehearsal.Step{Task: "none", Answer: text("read")})
	w.say("dev", "ann", "all at once")
	w.answered("dev", 2)
	r.checked(g)
	results := w.events(id, "result")[1:]
	equal(t, "pages", len(results), 20)
	total := 0
	for _, e := range results {
		equal(t, "clipped", e.Get("show"), "")
		total += len(w.body(e, 0))
	}
	if most := 30_000/8*4 + 20*400; total > most {
		t.Errorf("20 pages have %d characters, more than %d", total, most)
	}
}

// Without a model everything fades to cards. Opening a faded range is noted, and a
// card opens to its gists.
func TestUncompactFaded(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	w.conf.Forgetting.Mechanical = true
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	card := func() (short string) {
		for _, f := range w.fold(id).Faded {
			if f.Level == mind.Card {
				return f.Original.Short
			}
		}
		return ""
	}
	n := 0
	for ; card() == ""; n += 10 {
		if n > 300 {
			t.Fatal("no card was made")
		}
		w.talkAtLength(n+1, n+10, 150)
		r.settled()
	}
	s := w.fold(id)
	opened := s.Faded[len(s.Faded)-1]
	r.stop()
	w.reserve(rehearsal.Options{})
	g.Model = w.conf.Model
	w.conf.Model = g
	r = w.measured(g, id)
	w.say("dev", "ann", "uncompact hash="+opened.Original.Short)
	w.answered("dev", n+1)
	w.say("dev", "ann", "uncompact hash="+card())
	w.answered("dev", n+2)
	r.finish()
	results := w.events(id, "result")
	contains(t, w.body(results[len(results)-1], 0), "parts of the faded past, oldest first. Open one by its hash.\nhash=")
	for _, f := range w.fold(id).Faded {
		if f.Original.Hash == opened.Original.Hash && f.Opened != s.Turn+1 {
			t.Errorf("e%d..e%d was opened in turn %d, it says %d", f.From, f.To, s.Turn+1, f.Opened)
		}
	}
	g.held(t)
	refs, _ := w.conserved(id)
	equal(t, "tasks", w.tasks(""), 0)
	equal(t, "lines of cost", len(w.events(id, "spent")), 0)
	equal(t, "refs to the oldest", refs, 2)
	w.stable()
}

// The second try of an answer that was cut off has more room, but not more than
// there is.
func TestCutOffAtTheLimit(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	long := rehearsal.Step{Task: "none", Skip: 6, Times: 2, Fault: rehearsal.Length, Answer: text(strings.Repeat("so much to say ", 200))}
	w, g := forgetful(t, 18_000, long, noted())
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.talkAtLength(1, 10, 150)
	r.finish()
	g.held(t)
	sizes := map[string]bool{}
	for _, q := range w.requests() {
		if q.task == "" {
			sizes[q.rest["max_tokens"]] = true
		}
	}
	if len(sizes) != 2 || !sizes["3000"] || sizes["6000"] {
		t.Errorf("answers could have %v tokens", sizes)
	}
}
