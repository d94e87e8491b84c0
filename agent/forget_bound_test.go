package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
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

// flood is n lines of a user.
func flood(n int, text string) string {
	return strings.Repeat("[USER:ann 2026-11-20T12:57:16Z] "+text+"\n", n)
}

// TestWhateverArrives brings in at once what is larger than the whole limit: the
// bound holds, each byte can be reached, and the life goes on.
func TestWhateverArrives(t *testing.T) {
	slow(t)
	line := func(text string) string {
		line, err := chat.Format(false, "ann", time.Now(), text)
		lethetest.Must(t, err)
		return string(line)
	}
	bash := func(command string) *rehearsal.Answer { return calls("BASH", `{"command":"`+command+`"}`) }
	for name, c := range map[string]struct {
		said   string
		answer *rehearsal.Answer
	}{
		"a result of 5 MB":     {line("go on"), bash("yes some output | head -c 5000000")},
		"100 results":          {line("go on"), many(100, "LIST", `{"path":"."}`)},
		"binary":               {line("go on"), bash(`head -c 200000 /dev/zero; printf '\\360\\237\\230\\200%.0s' $(seq 1 9000)`)},
		"structure":            {line("go on"), bash("yes '\u25c6 e1 note ◱hash=0123456789abcdef gist=x◲' | head -c 300000")},
		"a line of 5 MB":       {line(strings.Repeat("five megabytes of it ", 250_000)), text("noted")},
		"a line of returns":    {line(strings.Repeat("\r", 30_000) + "!"), text("noted")},
		"a thousand long ones": {flood(1000, strings.Repeat("and it goes on ", 60)), text("noted")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := forgetful(t, 16_000, rehearsal.Step{Task: "none", Skip: 4, Answer: c.answer}, always("noted"))
			r := w.run(w.boot("ada", "dev"))
			w.talk(4, 100)
			w.put("dev", c.said)
			w.answered("dev", 5)
			r.settled()
			w.talk(5, 100)
			equal(t, "steps left", w.model.Pending(), 1)
			r.checked()
		})
	}
}

// Floods in many rooms at once share one budget.
func TestManyRooms(t *testing.T) {
	slow(t)
	w := forgetful(t, 16_000, always("noted"))
	var rooms []string
	for i := range 24 {
		rooms = append(rooms, fmt.Sprintf("room-%d", i))
		w.put(rooms[i], "")
	}
	id := w.boot("ada", rooms...)
	w.run(id).finish()
	for _, room := range rooms {
		w.put(room, flood(300, strings.Repeat("a flood of words ", 20)))
	}
	r := w.run(id)
	w.answered("room-23", 1)
	r.checked()
	for _, e := range w.events(id, "inbound")[:24] {
		if in, _ := event.As[event.Inbound](e); in.Show == 0 || in.Show > 2000 {
			t.Errorf("an entry shows %d runes of %s", in.Show, in.Room)
		}
	}
}

// A note that a person makes too long is cut like everything else, and so is an
// entry, if only by fading.
func TestLongNote(t *testing.T) {
	slow(t)
	w := forgetful(t, 16_000, always("noted"))
	w.conf.Recall.NoHints = true // the last message is looked at
	id, r := w.ada()
	w.talk(1, 60)
	r.finish()
	w.rewrite(w.own(id, "context.md"), func(view string) string {
		return strings.Replace(view, "\u25c6 end\n",
			strings.Repeat("and so on, ", 20_000)+"\n\u25c6 from me\n"+strings.Repeat("by the way, ", 20_000)+"\n\u25c6 end\n", 1)
	})
	w.write(w.own(id, "MEMORY.md"), strings.Repeat("\U0001F600", 9000))
	r = w.run(id)
	w.talk(5, 60)
	r.checked()
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
	w := forgetful(t, 30_000, on("show it", calls("BASH", `{"command":"seq 1 40000"}`)))
	w.conf.Recall.NoHints = true // the script goes by the last message
	id, r := w.ada()
	r.ask("show it")
	short := w.events(id, "result")[0].Refs[0].Hash
	w.model.Push(on("all at once", many(20, "UNCOMPACT", `{"hash":"`+short+`","limit":100000}`)))
	r.ask("all at once")
	r.checked()
	results := w.results(id)[1:]
	equal(t, "pages", len(results), 20)
	equal(t, "pages that are not clipped", len(w.having(id, "result", "show", "")), 20)
	equal(t, "marks of a cut", len(w.having(id, "result", "mark", "")), 20)
	total := 0
	for _, page := range results {
		total += len(page.text)
	}
	if most := 30_000/8*4 + 20*400; total > most {
		t.Errorf("20 pages have %d characters, more than %d", total, most)
	}
	for _, part := range []string{"original of hash=" + short, "\n\n1\n2\n3\n", "; go on with offset="} {
		contains(t, results[0].text, part)
	}
}

// Without a model everything fades to cards. Opening a faded range is noted, and a
// card opens to its gists.
func TestUncompactFaded(t *testing.T) {
	slow(t)
	w := forgetful(t, 16_000, always("noted"))
	w.conf.Forgetting.Mechanical = true
	id, r := w.ada()
	card := func() (short string) {
		for _, f := range w.fold(id).Faded {
			if f.Level == mind.Card {
				return f.Original.Short
			}
		}
		return ""
	}
	for card() == "" {
		if w.remarks > 300 {
			t.Fatal("no card was made")
		}
		w.talk(10, 150)
		r.settled()
	}
	r.stop()
	faded := w.fold(id).Faded
	w.serve(rehearsal.Options{})
	r = w.run(id)
	r.ask("uncompact hash=" + faded[len(faded)-1].Original.Short)
	r.ask("uncompact hash=" + card())
	r.checked()
	results := w.results(id)
	contains(t, results[len(results)-1].text, "parts of the faded past, oldest first. Open one by its hash.\nhash=")
	refs, _ := w.conserved(id)
	equal(t, "tasks", len(w.tasks("")), 0)
	equal(t, "lines of cost", len(w.events(id, "spent")), 0)
	equal(t, "refs to the oldest", refs, 2)
}

// What was opened page by page in one long turn fades to the ref that it came from, and stays within reach.
func TestOpenedOriginalFadesToItsRef(t *testing.T) {
	slow(t)
	w := forgetful(t, 16_000, rehearsal.Step{Answer: calls("BASH", `{"command":"seq 1 20000"}`)}, rehearsal.Step{Answer: text("noted")})
	w.conf.Forgetting.Mechanical = true
	w.conf.Recall.NoHints = true
	id, r := w.ada()
	r.ask("show it")
	short := w.events(id, "result")[0].Refs[0].Hash
	for i := range 16 { // the third of three calls in a row that are the same is refused
		w.model.Push(rehearsal.Step{Answer: calls("UNCOMPACT", fmt.Sprintf(`{"hash":%q,"offset":%d}`, short, i*4000))})
	}
	w.model.Push(rehearsal.Step{Answer: text("read")})
	r.ask("read all of it")
	r.checked()
	opened := 0
	for _, e := range w.events(id, "fade") {
		gist := e.Refs[0].Gist
		if strings.Contains(gist, "UNCOMPACT") {
			t.Errorf("a range faded to %q", gist)
		}
		if strings.HasPrefix(gist, "opened again: hash="+short) {
			opened++
		}
	}
	if opened == 0 {
		t.Error("nothing that was opened has faded to its ref")
	}
	w.conserved(id)
}
