package compactor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// planned returns the entries that a job is about.
func planned(j Job) []int {
	var out []int
	for _, run := range j.runs {
		for _, u := range run {
			out = append(out, u.N)
		}
	}
	return out
}

func TestPlanTakesTheOlderTwoThirds(t *testing.T) {
	w := newWorld(t, 30_000)
	w.turns(20, 600)
	j := w.plan()
	got := planned(j)
	for i, n := range got {
		if n != i+1 {
			t.Fatalf("eligible %v: want the oldest, without gaps", got)
		}
	}
	eligible := size(slices.Concat(j.runs...))
	if most, least := w.live()*2/3, w.live()*2/3-700; eligible > most || eligible < least {
		t.Errorf("%d tokens are eligible, want %d to %d", eligible, least, most)
	}
}

func TestPlanRefusesWhatIsNotWorthIt(t *testing.T) {
	for name, live := range map[string]func(w *world){
		"nothing":        func(*world) {},
		"a few words":    func(w *world) { w.hear("ada", "hello"); w.reply("hello") },
		"the only entry": func(w *world) { w.hear("ada", strings.Repeat("one long message ", 500)) },
	} {
		w := newWorld(t, 30_000)
		live(w)
		if _, ok := Plan(w.state, w.input()); ok {
			t.Errorf("%s is worth a compaction", name)
		}
	}
}

// One unit that is larger than all others must not keep the life from forgetting.
func TestPlanTakesAHugeUnit(t *testing.T) {
	w := newWorld(t, 30_000)
	w.turns(1, 700)
	w.reply("here it is", strings.Repeat("huge output\n", 6000))
	huge := w.state.Next - 1
	w.turns(2, 700)
	if got := planned(w.plan()); len(got) == 0 || got[len(got)-1] != huge {
		t.Errorf("eligible are %v, want up to e%d", got, huge)
	}
}

func TestPlanIsFrozen(t *testing.T) {
	w := newWorld(t, 30_000)
	w.turns(20, 600)
	j := w.plan()
	before := text(j.runs[0])
	lethetest.Must(t, w.state.Amend(mind.Edit{Changed: []mind.Change{{N: 1, Text: "edited"}, {N: 2, K: 1, Text: "edited"}}}, w.put))
	if text(j.runs[0]) != before {
		t.Error("an edit reached the frozen job")
	}
}

func TestInstructions(t *testing.T) {
	for name, c := range map[string]struct {
		custom string
		broken bool
	}{
		"own": {"Cut at full moon.", false}, "longest": {strings.Repeat("é", MaxInstructions), false},
		"empty": {" \n", true}, "long": {strings.Repeat("é", MaxInstructions+1), true},
		"bytes": {"\xff\xfe", true}, "nul": {"a\x00b", true},
	} {
		text, note := Instructions(c.custom, "built in")
		if c.broken != (note != "") || c.broken != (text == "built in") {
			t.Errorf("%s: %.20q %q", name, text, note)
		}
	}
}

// entryOf returns an entry of a kind; a step is a reply with a finished call.
func entryOf(n int, kind string) *mind.Entry {
	e := &mind.Entry{N: n, Kind: kind, Text: "words"}
	if kind == "step" {
		e.Kind, e.Calls = mind.Reply, []*mind.Call{{Tool: "LIST", Status: mind.OK}}
	}
	return e
}

// Whatever a model proposes, a run is cut into whole, ordered chunks of a fair
// size.
func TestCutProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, most := rapid.IntRange(1, 50).Draw(t, "first"), rapid.IntRange(1200, 10_000).Draw(t, "most")
		var run []unit
		for i := range rapid.IntRange(1, 60).Draw(t, "units") {
			kind := rapid.SampledFrom([]string{"inbound", "inbound", "reply", "step", "note", "note"}).Draw(t, "kind")
			tokens := rapid.OneOf(rapid.IntRange(1, 900), rapid.IntRange(1, 9000)).Draw(t, "tokens")
			run = append(run, unit{Entry: entryOf(first+i, kind), tokens: tokens})
		}
		var ranges []entryRange
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			ranges = append(ranges, entryRange{from: rapid.IntRange(-5, 130).Draw(t, "from"),
				to: rapid.IntRange(-5, 130).Draw(t, "to"), alone: rapid.Bool().Draw(t, "alone")})
		}
		cut, err := cutAt(run, ranges, most)
		if err != nil {
			cut = mechanicalChunks(run, most)
		}
		piece := map[int]int{} // by its first entry, the last one
		for _, p := range pieces(run, most) {
			piece[p[0].N] = p[len(p)-1].N
		}
		for _, chunks := range [][][]unit{cut, mechanicalChunks(run, most)} {
			n := first
			for i, c := range chunks {
				for _, u := range c {
					if u.N != n {
						t.Fatalf("e%d where e%d belongs", u.N, n)
					}
					n++
				}
				if size(c) > most && piece[c[0].N] != n-1 {
					t.Fatalf("chunk %d of %d units has %d tokens", i, len(c), size(c))
				}
				if piece[c[0].N] == 0 || n < first+len(run) && piece[n] == 0 {
					t.Fatalf("e%d..e%d parts a piece", c[0].N, n-1)
				}
			}
			if i, n := smallest(chunks, most); i >= 0 && (n < aloneChunk || n < minChunk && len(chunks) > size(run)/min(minChunk, most/4)) {
				t.Fatalf("chunk %d or the one behind it has %d tokens and would fit into a neighbour", i, n)
			}
			if n != first+len(run) {
				t.Fatalf("the chunks end before e%d", n)
			}
		}
	})
}

// cutSizes cuts a run at ranges such as "1..3 4..9", and counts the entries of each chunk.
func cutSizes(run []unit, ranges string) (sizes string, err error) {
	var named []entryRange
	for text := range strings.FieldsSeq(ranges) {
		var r entryRange
		if _, err := fmt.Sscanf(text, "%d..%d", &r.from, &r.to); err != nil {
			panic(err)
		}
		named = append(named, r)
	}
	chunks, err := cutAt(run, named, 6000)
	var counts []int
	for _, chunk := range chunks {
		counts = append(counts, len(chunk))
	}
	return fmt.Sprint(counts), err
}

// Boundaries that make sense are kept.
func TestCutKeepsGoodChunks(t *testing.T) {
	var run []unit
	for n := 1; n <= 12; n++ {
		run = append(run, unit{Entry: &mind.Entry{N: n, Kind: mind.Reply}, tokens: 500})
	}
	tiny := slices.Clone(run)
	for tokens, want := range map[int]string{aloneChunk: "[1 8 3]", aloneChunk - 1: "[9 3]"} {
		tiny[0].tokens = tokens
		if got, _ := cutSizes(tiny, "1..1 2..9 10..12"); got != want {
			t.Errorf("chunks of %s entries where the first has %d tokens, want %s", got, tokens, want)
		}
	}
	for name, c := range map[string]struct {
		ranges, want string // entries of each chunk
	}{
		"as told":        {"1..3 4..9 10..12", "[3 6 3]"},
		"any order":      {"10..12 1..3 4..9", "[3 6 3]"},
		"reversed":       {"3..1 9..4 12..10", "[3 6 3]"},
		"gap":            {"1..3 10..12", "[3 6 3]"},
		"overlap":        {"1..5 4..9 10..12", "[3 2 4 3]"},
		"beyond":         {"-4..3 4..9 10..99 200..300", "[3 6 3]"},
		"small one":      {"1..1 2..9 10..12", "[1 8 3]"},
		"many small":     {"1..1 2..2 3..3 4..4 5..5 6..6 7..7 8..8 9..9 10..10 11..11 12..12", "[2 2 1 1 1 1 1 1 1 1]"},
		"one":            {"1..12", "[12]"},
		"nothing useful": {"50..60", "[]"},
	} {
		got, err := cutSizes(run, c.ranges)
		if got != c.want || errors.Is(err, ErrGarbage) != (got == "[]") {
			t.Errorf("%s: chunks of %v entries, %v; want %s", name, got, err, c.want)
		}
	}
}

// What is cut inside a turn is cut at its nearer end, a large turn behind replies only.
func TestCutKeepsTurnsWhole(t *testing.T) {
	var run []unit
	tokens := []int{300, 50, 900, 500, 500, 500, 100, 4000, 900, 4000, 900}
	kinds := "inbound hint reply inbound step reply inbound step inbound step reply"
	for i, kind := range strings.Fields(kinds) {
		run = append(run, unit{Entry: entryOf(i+1, kind), tokens: tokens[i]})
	}
	for ranges, want := range map[string]string{
		"1..1 2..4 5..11": "[3 5 3]", "1..3 4..5 6..11": "[3 3 2 3]", "1..2 3..11": "[6 2 3]",
		"1..6 7..9 10..11": "[6 2 3]", "1..6 7..7 8..10 11..11": "[6 2 2 1]",
	} {
		if got, _ := cutSizes(run, ranges); got != want {
			t.Errorf("at %s: chunks of %s entries, want %s", ranges, got, want)
		}
	}
}

// Of a turn that goes on for long the finished steps fade, and what was heard in it stays until
// it is over. Then the rest of it fades at once.
func TestPlanTakesTheStepsOfALongTurn(t *testing.T) {
	w := newWorld(t, 30_000)
	w.hear("ada", "please migrate it all")
	for i := range 20 {
		if i == 5 {
			w.hear("bob", "and keep the tests")
		}
		w.reply("a step", strings.Repeat("some output\n", 150))
	}
	w.state.Entry(13).Calls[0].Tool = "SAY" // the answer to what was heard stays with it
	j := w.plan()
	if got := planned(j); got[0] != 2 || slices.Contains(got, 7) || slices.Contains(got, 13) || !slices.Contains(got, 8) ||
		got[len(got)-1] > 15 {
		t.Errorf("eligible are %v", got)
	}
	w.set.Target = 0.6
	fades := j.fades(t.Context(), able(4, 5))
	w.swap(fades)
	w.conserved()
	w.together(t)
	w.reply("done")
	over := w.state.Next - 1
	w.turns(25, 700)
	for len(w.state.Live) > 0 && w.state.Live[0].N <= over {
		w.forget(able(4, 5))
		w.together(t)
	}
	w.conserved()
}

// Where people keep talking in a turn that does not end, what was heard first fades with the steps that followed it, and
// the newest line stays. A line keeps the step that answered it, until both fade.
func TestPlanOfATurnThatNeverEnds(t *testing.T) {
	w := newWorld(t, 30_000)
	w.set.Target = 0
	said := func(i int) bool { return i%3 == 0 }
	var heard []int
	for i := range 60 {
		heard = append(heard, w.state.Next)
		w.hear("ada", fmt.Sprintf("and task-%d? ", i)+strings.Repeat("It matters. ", 30))
		w.reply("a step", strings.Repeat("some output\n", 40))
		if said(i) {
			w.reply("", "It is in the room.")
			w.state.Entry(w.state.Next - 1).Calls[0].Tool = "SAY"
		}
		if w.live() < 15_000 {
			continue
		}
		w.forget(able(4, 5))
		w.conserved()
		w.together(t)
		if w.state.Entry(heard[i]) == nil {
			t.Fatalf("e%d was just asked and has faded", heard[i])
		}
		if w.live() > 12_000 {
			t.Fatalf("%d tokens are live after task %d", w.live(), i)
		}
		for k, n := range heard[:i] {
			if said(k) && (w.state.Entry(n) == nil) != (w.state.Entry(n+2) == nil) {
				t.Fatalf("of e%d and its answer e%d one is live", n, n+2)
			}
		}
	}
	if w.state.Entry(heard[0]) != nil {
		t.Error("what was heard first is live")
	}
}

// Where nothing more is heard, what it tells and what the daemon tells it fade, too; the question does with its first answer.
func TestPlanOfATurnThatOnlyTells(t *testing.T) {
	for _, notes := range []bool{false, true} {
		w := newWorld(t, 20_000)
		w.hear("ada", "please build it, and go on for ever")
		for i := range 300 {
			if notes {
				w.reply("a step", "it failed")
				w.note("This may matter now: " + strings.Repeat("a passage of it. ", 15))
			} else {
				w.reply("", fmt.Sprintf("Step %d is done. ", i)+strings.Repeat("It was slow. ", 20))
				w.state.Entry(w.state.Next - 1).Calls[0].Tool = "SAY"
			}
			if w.live() < 9000 {
				continue
			}
			w.mechanically()
			w.conserved()
			if w.live() > 6500 {
				t.Fatalf("%d tokens are live after step %d, notes: %v", w.live(), i, notes)
			}
			if !notes && (w.state.Entry(1) == nil) != (w.state.Entry(2) == nil) {
				t.Fatal("of the question and its answer one is live")
			}
		}
	}
}

// A larger share reaches what is otherwise spared: the newest third at first,
// then what no reply has followed. A call that waits is never reached.
func TestPlanShare(t *testing.T) {
	w := newWorld(t, 30_000)
	w.turns(6, 700)
	read := w.state.Next - 1
	w.hear("bob", strings.Repeat("many words ", 600))
	in := w.input()
	in.Share = 1
	j, ok := Plan(w.state, in)
	if got := planned(j); !ok || got[len(got)-1] != read {
		t.Fatalf("eligible are %v, want all up to e%d", got, read)
	}
	w.set.Target = 0
	w.swap(j.Mechanical())
	in.Kept = nil
	if j, ok = Plan(w.state, in); !ok || len(planned(j)) != 1 || planned(j)[0] != read+1 {
		t.Errorf("eligible are %v, want what nobody has read", planned(j))
	}
	w.ask("I look", 1)
	in.Share = 1
	j, _ = Plan(w.state, in)
	for _, n := range planned(j) {
		if n > read+1 {
			t.Errorf("e%d is eligible and waits for a result", n)
		}
	}
}

// Where many lines were heard that nobody has answered, and all may fade, the older of them do,
// and not what was asked last.
func TestPlanOfUnansweredLines(t *testing.T) {
	w := newWorld(t, 20_000)
	w.turns(1, 300)
	for i := range 60 {
		w.hear("bob", fmt.Sprintf("chatter %d ", i)+strings.Repeat("of the garden ", 40))
	}
	w.hear("ada", "what did bob say?")
	before := w.live()
	w.set.Target = 0
	in := w.input()
	in.Share = 1
	for range 3 {
		j, ok := Plan(w.state, in)
		if !ok {
			t.Fatal("there is nothing to forget")
		}
		w.swap(j.Mechanical())
	}
	last := w.state.Live[len(w.state.Live)-1]
	if w.live() > before/3 || !strings.Contains(last.Text, "what did bob say?") {
		t.Errorf("%d of %d tokens are live, and last %s", w.live(), before, last.Header())
	}
	w.conserved()
}

// Of ranges that somebody names, whole turns are eligible, and of other turns finished steps.
func TestOnlyRanges(t *testing.T) {
	for only, want := range map[event.Entries]string{
		{From: 2, To: 3}: "[1 2 3]", // the note before a question goes with it
		{From: 2, To: 2}: "[]",
		{From: 5, To: 5}: "[5]", // a step of the turn e4..e6
		{From: 4, To: 6}: "[4 5 6]",
		{From: 1, To: 9}: "[1 2 3 4 5 6]", // e8 is where the open turn is
	} {
		s := mind.New()
		for i, kind := range strings.Fields("note inbound reply inbound step reply inbound step") {
			s.Live = append(s.Live, entryOf(i+1, kind))
		}
		var got []int
		for _, u := range within(unitsOf(s, meter), []event.Entries{only}) {
			got = append(got, u.N)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v: %v, want %s", only, got, want)
		}
	}
}

// A confidence has a chunk of its own where SEGMENT wants it alone, however short it is. What else is too small joins the
// smaller neighbour, but no file.
func TestCutLeavesConfidencesAlone(t *testing.T) {
	w := newWorld(t, 60_000)
	w.hear("ada", "The minutes: "+strings.Repeat("we talked about the roof and the roof is old. ", 45)) // e1..e2
	w.reply("noted")
	w.hear("bob", "Tell nobody: "+strings.Repeat("I am leaving in June. ", 17)) // e3..e4
	w.reply("I keep it to myself.")
	w.hear("cy", "hello, is anybody here?") // e5..e6
	w.reply("I am.")
	w.hear("ada", "please read the log") // e7..e9
	w.reply("", strings.Repeat("a line of the log\n", 300))
	w.reply("It is long.")
	w.hear("bob", "thanks") // e10..e11
	w.reply("You are welcome.")
	w.hear("bob", "another one, please") // e12..e14
	w.reply("", strings.Repeat("a line of another log\n", 300))
	w.reply("It is long, too.")
	run := unitsOf(w.state, meter)
	if tokens := size(run[2:4]); tokens < 150 || tokens >= aloneChunk {
		t.Fatalf("the confidence has %d tokens", tokens)
	}
	const marked = `{"from":"e3","to":"e4","topics":["June"],"alone":true}`
	answer := `{"chunks":[{"from":"e1","to":"e2"},` + marked +
		`,{"from":"e5","to":"e6"},{"from":"e7","to":"e9"},{"from":"e10","to":"e11"},{"from":"e12","to":"e14"}]}`
	for answer, want := range map[string]string{
		answer: "[1 3 5 7 10 12]",
		strings.Replace(answer, `,"alone":true`, "", 1):                 "[1 3 7 10 12]",
		strings.Replace(answer, `"alone":true`, `"alone":"perhaps"`, 1): "[1 3 7 10 12]",
		strings.Replace(answer, `"e4","topics"`, `"e6","topics"`, 1):    "[1 3 5 7 10 12]", // the later range begins in it
		strings.Replace(answer, `"e3","to":"e4"`, `"e4","to":"e4"`, 1):  "[1 3 5 7 10 12]", // it begins behind the question
	} {
		ranges, err := readSegments(answer)
		lethetest.Must(t, err)
		chunks, err := cutAt(run, ranges, 6000)
		lethetest.Must(t, err)
		var got []int
		for _, c := range chunks {
			got = append(got, c[0].N)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: chunks begin at %v, want %s", answer, got, want)
		}
	}
	for _, u := range run {
		if u.begins.to != 0 {
			t.Errorf("e%d of the job is marked", u.N)
		}
	}
}

// Small chunks that SEGMENT parts are joined only while a gist can name the topics of all.
func TestJoinedTopicsCanBeNamed(t *testing.T) {
	w := newWorld(t, 15_000)
	var named []string
	for i := range 11 {
		w.hear("ada", strings.Repeat(fmt.Sprintf("subject %d is another one. ", i), 8))
		w.reply("noted")
		named = append(named, fmt.Sprintf(`{"from":"e%d","to":"e%d","topics":["subject %d"]}`, 2*i+1, 2*i+2, i))
	}
	ranges, err := readSegments(`{"chunks":[` + strings.Join(named, ",") + `]}`)
	lethetest.Must(t, err)
	cut, err := cutAt(unitsOf(w.state, meter), ranges, 1800)
	lethetest.Must(t, err)
	for _, c := range cut {
		if n := topics(c); n > maxTopics || n == 0 {
			t.Errorf("e%d..e%d is of %d topics", c[0].N, c[len(c)-1].N, n)
		}
	}
	if len(cut) >= 11 {
		t.Errorf("%d chunks: nothing is joined", len(cut))
	}
}
