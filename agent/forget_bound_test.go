package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lethe/compactor"
	"lethe/llm"
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
	t.Parallel()
	big := strings.Repeat("five megabytes of it ", 250_000)
	if testing.Short() {
		big = big[:500_000]
	}
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
		"a file of 1 MB":       {"go on", calls("READ_FILE", `{"path":"big.txt"}`)},
		"20 results":           {"go on", many(20, "BASH", `{"command":"seq 1 20000"}`)},
		"100 results":          {"go on", many(100, "LIST", `{"path":"."}`)},
		"binary":               {"go on", calls("BASH", `{"command":"head -c 200000 /dev/zero; printf '\\360\\237\\230\\200%.0s' $(seq 1 9000)"}`)},
		"emoji around text":    {"go on", calls("BASH", `{"command":"printf '\\360\\237\\230\\200%.0s' $(seq 1 4000); seq 1 90000; printf '\\360\\237\\230\\200%.0s' $(seq 1 4000)"}`)},
		"structure":            {"go on", calls("BASH", "{\"command\":\"yes '\u25c6 e1 note ◱hash=0123456789abcdef gist=x◲' | head -c 300000\"}")},
		"a line of 5 MB":       {big, text("noted")},
		"a line of returns":    {strings.Repeat("\r", 30_000) + "!", text("noted")},
		"a line of paragraphs": {strings.Repeat("\u2028", 30_000) + "!", text("noted")},
		"a thousand lines":     {"\x00" + lines(1000, "of no great length"), text("noted")},
		"a thousand long ones": {"\x00" + lines(1000, strings.Repeat("and it goes on ", 60)), text("noted")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, g := forgetful(t, 16_000)
			w.model.Push(rehearsal.Step{Task: "none", Skip: 4, Answer: c.answer})
			w.model.Push(noted())
			id := w.boot("ada", "dev")
			must(t, os.WriteFile(w.own(id, "workspace/big.txt"), []byte(big[:min(len(big), 1_000_000)]), 0o600))
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
			r.settled()
			r.stop()
			g.held(t)
			w.conserved(id)
			w.stable()
		})
	}
}

// Floods in many rooms at once share one budget.
func TestManyRooms(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	var rooms []string
	for i := range 24 {
		rooms = append(rooms, fmt.Sprintf("room-%d", i))
		w.put(rooms[i], "")
	}
	id := w.boot("ada", rooms...)
	r := w.measured(g, id)
	r.settled()
	r.stop()
	for _, room := range rooms {
		w.put(room, strings.Repeat("[USER:ann 2026-11-20T12:57:16Z] "+strings.Repeat("a flood of words ", 20)+"\n", 300))
	}
	r = w.measured(g, id)
	w.answered("room-23", 1)
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	for _, e := range w.events(id, "inbound")[:24] {
		if e.Get("show") == "" || e.Int("show") > 2000 {
			t.Errorf("an entry shows %q runes of %s", e.Get("show"), e.Get("room"))
		}
	}
}

// A note that a person makes too long is cut like everything else, and so is an
// entry, if only by fading.
func TestLongNote(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	w.conf.Recall.NoHints = true // the last message is looked at
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.talk(1, 1)
	r.settled()
	r.stop()
	file := w.own(id, "context.md")
	view := w.read(file)
	must(t, os.WriteFile(file, []byte(strings.Repeat("by the way, ", 20_000)+"\n"+strings.Replace(view, "\u25c6 end\n", strings.Repeat("and so on, ", 20_000)+"\n\u25c6 end\n", 1)), 0o600))
	must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte(strings.Repeat("\U0001F600", 9000)), 0o600))
	r = w.measured(g, id)
	w.talk(2, 6)
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	contains(t, w.newest().last, "remark-6:")
	notes := w.events(id, "note")
	equal(t, "notes", len(notes), 2)
	for _, e := range notes {
		if show := e.Int("show"); show == 0 || show > compactor.MaxResult {
			t.Errorf("a note of %d bytes shows %d characters", len(w.body(e, 0)), show)
		}
	}
}

// TestOriginalComesBackWhole reads 200 KB back through pages, each no larger than it may
// be, and again through many calls at once.
func TestOriginalComesBackWhole(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 30_000)
	w.conf.Recall.NoHints = true // the script goes by the last message
	id := w.boot("ada", "dev")
	var want strings.Builder
	for i := 0; want.Len() < 200_000; i++ {
		fmt.Fprintf(&want, "%d \u25c6 a line ◱hash=00 of text\u2028 and \U0001F600 more\n", i)
	}
	must(t, os.WriteFile(w.own(id, "workspace/big.txt"), []byte(want.String()), 0o600))
	w.model.Push(rehearsal.Step{Contains: "show it", Answer: calls("BASH", `{"command":"cat big.txt"}`)}, rehearsal.Step{Answer: text("there it is")})
	r := w.measured(g, id)
	w.say("dev", "ann", "show it")
	w.answered("dev", 1)
	short := w.events(id, "result")[0].Refs[0].Hash
	var got strings.Builder
	said := 1
	for offset, pages := 0, 0; ; pages++ {
		if pages > 60 {
			t.Fatal("it takes more than 60 pages")
		}
		w.model.Push(rehearsal.Step{Task: "none", Contains: "go on", Answer: calls("UNCOMPACT", fmt.Sprintf(`{"ref":"◰1hash=%s gist=x◰2","offset":%d}`, short, offset))},
			rehearsal.Step{Task: "none", Answer: text("read")})
		w.say("dev", "ann", "go on")
		said++
		w.answered("dev", said)
		results := w.events(id, "result")
		body := w.body(results[len(results)-1], 0)
		equal(t, "clipped", results[len(results)-1].Get("show"), "")
		head, page, _ := strings.Cut(body, "\n\n")
		contains(t, head, "original of hash="+short)
		var from, to, all, next int
		_, err := fmt.Sscanf(head[strings.Index(head, "characters"):], "characters %d to %d of %d; go on with offset=%d", &from, &to, &all, &next)
		if from != offset || to-from != len([]rune(page)) {
			t.Fatalf("%s, but the page has %d characters", head, len([]rune(page)))
		}
		if n := llm.Weight(page); n > 30_000/8*4+100 {
			t.Errorf("a page weighs %d", n)
		}
		got.WriteString(page)
		if err != nil { // no next page
			break
		}
		offset = next
	}
	if strings.TrimSuffix(got.String(), "\n") != strings.TrimSuffix(want.String(), "\n") && !strings.HasPrefix(got.String(), want.String()) {
		t.Errorf("read %d bytes of %d: %s", got.Len(), want.Len(), firstDifference(got.String(), want.String()))
	}

	w.model.Push(rehearsal.Step{Task: "none", Contains: "all at once", Answer: many(20, "UNCOMPACT", `{"ref":"`+short+`","limit":100000}`)},
		rehearsal.Step{Task: "none", Answer: text("read")})
	w.say("dev", "ann", "all at once")
	w.answered("dev", said+1)
	r.settled()
	r.stop()
	g.held(t)
	results := w.events(id, "result")
	total := 0
	for _, e := range results[len(results)-20:] {
		equal(t, "clipped", e.Get("show"), "")
		total += len(w.body(e, 0))
	}
	if most := 30_000/8*4 + 20*400; total > most {
		t.Errorf("20 pages have %d characters, more than %d", total, most)
	}
	w.conserved(id)
}

// Opening a faded range is noted, and a card opens to its gists.
func TestUncompactFaded(t *testing.T) {
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
	r.settled()
	r.stop()
	results := w.events(id, "result")
	contains(t, w.body(results[len(results)-1], 0), "parts of the faded past, oldest first. Open one by its hash.\nhash=")
	for _, f := range w.fold(id).Faded {
		if f.Original.Hash == opened.Original.Hash && f.Opened != s.Turn+1 {
			t.Errorf("e%d..e%d was opened in turn %d, it says %d", f.From, f.To, s.Turn+1, f.Opened)
		}
	}
	g.held(t)
	refs, _ := w.conserved(id)
	equal(t, "refs to the oldest", refs, 2)
	w.stable()
}

// The second try of an answer that was cut off has more room, but not more than
// there is.
func TestCutOffAtTheLimit(t *testing.T) {
	t.Parallel()
	long := rehearsal.Step{Task: "none", Skip: 6, Times: 2, Fault: rehearsal.Length, Answer: text(strings.Repeat("so much to say ", 200))}
	w, g := forgetful(t, 18_000, long, noted())
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.talkAtLength(1, 10, 150)
	r.settled()
	r.stop()
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
