package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/compactor/recall/index"
	"lethe/compactor/recall/text"
)

// shelf is a small collection as stage one would hand it over.
type shelf []candidate

// shortlist counts in how many of the shelf's originals the terms of a query are.
func (s shelf) shortlist(q query) *shortlist {
	out := &shortlist{segments: len(s), dfs: make([]float64, len(q.terms))}
	for i := range s {
		have := map[int]bool{}
		for _, l := range s[i].read(q.matcher()).lines {
			for _, m := range l.matches {
				have[m] = true
			}
		}
		for m := range have {
			out.dfs[m]++
		}
	}
	return out
}

// of makes candidates of bodies, each with ten entries, far from the others.
func of(bodies ...string) shelf {
	var out shelf
	for i, body := range bodies {
		c := Query{}.candidate(index.Doc{}, blobs.Blob{Body: []byte(body)})
		c.From, c.To = 100*i+1, 100*i+10
		out = append(out, c)
	}
	return out
}

// chat renders lines as an entry; each is "name day text".
func chat(lines ...string) string {
	var b strings.Builder
	b.WriteString("◆ e2 inbound room=talk ◱hash=7dfaa69144a02480 gist=talk: whatever lighthouse◲\n")
	for _, l := range lines {
		f := strings.SplitN(l, " ", 3)
		fmt.Fprintf(&b, "[USER:%s %sT10:00:00Z] %s\n", f[0], f[1], blobs.Escape(f[2]))
	}
	return b.String() + "◆ e3 reply ◱hash=5a250cef43dfdb2f gist=turn 1:◲\n\n"
}

func tool(command, result string) string {
	return "◆ e5 reply ◱hash=5a250cef43dfdb2f gist=turn 1:◲\nI look.\n◆ e5.1 call BASH\n{\"command\":\"" + command +
		"\"}\n◆ e5.1 result ok ◱hash=5a250cef43dfdb20 gist=BASH◲\n" + result + "\n"
}

// found ranks the shelf for a question.
func (s shelf) found(question string) []Hit {
	q := analyse(question, monday)
	out, err := rank(context.Background(), q, s, s.shortlist(q))
	if err != nil {
		panic(err)
	}
	return out
}

// place is which candidate a hit is.
func (s shelf) place(h Hit) int {
	return slices.IndexFunc(s, func(c candidate) bool { return c.From == h.From })
}

// first checks which candidate comes first, and returns its passage.
func (s shelf) first(t *testing.T, question string, want int) string {
	t.Helper()
	r := s.found(question)
	if len(r) == 0 || s.place(r[0]) != want {
		t.Errorf("%q: %+v, want %d first", question, r, want)
		return ""
	}
	return r[0].Passage
}

func talks() shelf {
	return of(
		chat("ann 2023-05-08 I painted a lake at sunrise last year.", "bob 2023-05-08 It looks great! Do you paint often?"),
		chat("bob 2023-06-20 My dog ran away, but the neighbours found her.", "ann 2023-06-20 So glad she is back home."),
		chat("ann 2023-08-01 We camped in the mountains with the kids.", "bob 2023-08-01 I love camping. Was it cold?",
			"ann 2023-08-01 Only at night."),
		chat("bob 2023-09-09 I lost my job at the bank and opened a bakery.", "ann 2023-09-09 That is brave!"),
	)
}

func TestRank(t *testing.T) {
	s := talks()
	for question, want := range map[string]int{
		"What did Ann paint?":                    0,
		"Who found Bob's dog?":                   1,
		"Did Ann go camping?":                    2,
		"What does Bob do since he lost his job": 3,
		"What did Bob tell in June?":             1, // by its time alone
		"what was said on 1 August 2023":         2,
	} {
		s.first(t, question, want)
	}
	if r := s.found("zyzzyva quux"); len(r) != 0 {
		t.Errorf("nothing fits, and yet: %+v", r)
	}
	if r := shelf(nil).found("anything"); len(r) != 0 {
		t.Errorf("of no candidates: %+v", r)
	}
}

// Who says something is asked for like what is said, also where the name stands nowhere else.
func TestRankWhoSaidIt(t *testing.T) {
	var bodies []string
	for _, name := range []string{"ann", "bob", "cleo", "dan", "eve"} {
		bodies = append(bodies, chat(name+" 2023-05-08 I bought tickets to Oslo.", "zoe 2023-05-08 Lovely."))
	}
	s := of(bodies...)
	if got := s.first(t, "Where did Cleo buy tickets to?", 2); !strings.HasPrefix(got, "[USER:cleo ") {
		t.Errorf("%q", got)
	}
	s.first(t, "cleo", 2)
	one := of(chat("ann 2023-05-08 I play the harp.", "bob 2023-05-08 Nice.", "cleo 2023-05-08 I play the oboe.", "ann 2023-05-08 Oh."))
	if got := one.first(t, "What does Cleo play?", 0); !strings.Contains(got, "oboe") {
		t.Errorf("%q", got)
	}
	if r := s.found("Cleo?"); r[0].Confidence > 0 {
		t.Errorf("a name is evidence: %v", r[0].Confidence)
	}
}

// Where everybody speaks in each original, words of the one whom a question names come first.
func TestRankSpeakerAmongMany(t *testing.T) {
	names := []string{"ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal"}
	var bodies []string
	for i, name := range names {
		var lines []string
		for k := range 24 {
			lines = append(lines, names[(k*5+i)%8]+" 2023-05-08 Well, and then the soup and the market.")
		}
		lines[8] = fmt.Sprintf("%s 2023-05-08 The number of my locker is %d.", name, 4000+i)
		bodies = append(bodies, chat(lines...))
	}
	s := of(bodies...)
	for i, name := range names {
		s.first(t, "Which number has the locker of "+name+"?", i)
	}
}

// A match shows how the turn of its passage ended, though an agent's words count less.
func TestPassageHasTheEnd(t *testing.T) {
	entry := func(n int, what, said string) string {
		return fmt.Sprintf("◆ e%d %s ◱hash=5a250cef43dfdb2f gist=x◲\n%s\n", n, what, said)
	}
	s := of(entry(2, "inbound room=a", "[USER:ada 2023-05-08T10:00:00Z] Write a script that finds the day with the most refunds.") +
		entry(3, "reply", "I begin.") + "◆ e3.1 call BASH\n{\"command\":\"sort refunds.csv\"}\n" +
		entry(4, "reply", "Most refunds: 7 on 3 May.") +
		entry(5, "inbound room=a", "[USER:bob 2023-05-08T11:00:00Z] Refunds again, most of them.") + entry(6, "reply", "Noted."))
	if got := s.first(t, "most refunds day", 0); !strings.HasPrefix(got, "[USER:ada ") {
		t.Errorf("%q", got)
	}
	if got := s.found("most refunds day")[0].Also; got != "Most refunds: 7 on 3 May." {
		t.Errorf("also %q", got)
	}
}

// The same words far apart in a text count for less than in one place.
func TestRankPrefersOnePlace(t *testing.T) {
	filler := strings.Repeat("ann 2023-05-08 We talked about the weather and the harbour for a while.|", 6)
	far := chat(strings.Split("ann 2023-05-08 A red boat came in.|"+filler+"bob 2023-05-08 The captain was asleep.", "|")...)
	close := chat(strings.Split("ann 2023-05-08 The captain of the red boat was asleep.|"+filler+"bob 2023-05-08 It came in.", "|")...)
	of(far, close, chat("ann 2023-05-08 Something else.")).first(t, "captain red boat", 1)
}

// A question at the end of one original and its answer at the beginning of the
// next belong together.
func TestRankNeighbours(t *testing.T) {
	s := of(
		chat("ann 2023-05-08 Tell me of the regatta!"),
		chat("bob 2023-05-08 We came third."),
		chat("bob 2023-05-08 We came home."),
	)
	s[1].From, s[1].To = 11, 20
	r := s.found("who came in at the regatta")
	if len(r) != 3 || s.place(r[1]) != 1 || r[1].Score <= r[2].Score {
		t.Errorf("the neighbour is not before the one far away: %+v", r)
	}
}

// What a person said comes before the same words of an agent, also when the agent
// said more of it, and a short message before a long one.
func TestRankVoices(t *testing.T) {
	said := "The zinc roof over the workshop leaks."
	long := strings.Repeat(" Measure each sheet twice and write the sizes down.", 40)
	agent := strings.Replace(chat("bot 2023-05-08 "+said+" A zinc roof leaks."), "[USER:bot", "[AGENT:bot", 1)
	of(agent, chat("ann 2023-05-08 "+said)).first(t, "zinc roof workshop", 1)
	of(chat("ann 2023-05-08 "+said+long), chat("ann 2023-05-08 "+said)).first(t, "zinc roof workshop", 1)
	reply := "◆ e7 reply ◱hash=5a250cef43dfdb2f gist=x◲\n" + said + "\n"
	of(reply, chat("ann 2023-05-08 "+said)).first(t, "zinc roof workshop", 1)
	of(reply, chat("ann 2023-05-08 Something else.")).first(t, "zinc roof workshop", 0)
}

func TestRankTimes(t *testing.T) {
	line := "We went to the lake."
	s := of(chat("ann 2023-05-08 "+line), chat("ann 2023-06-20 "+line), chat("ann 2023-10-22 "+line))
	for question, want := range map[string]int{
		"when were you at the lake": 2, "the lake on 20 June 2023": 1, "the lake in May": 0, "the lake, yesterday": 2, "lake on June 24th": 1,
	} {
		s.first(t, question, want)
	}
	work := of(tool("make", "the build is green"), tool("make", "the build is red"))
	work[0].First, work[0].Last = monday.AddDate(0, -2, 0), monday.AddDate(0, -2, 0) // nothing in it has a time
	work[1].First, work[1].Last = monday, monday
	work.first(t, "how was the build in august", 0)
}

func TestRankWork(t *testing.T) {
	s := of(
		tool("go test ./...", "--- FAIL: TestReload (0.03s)\n    reload_test.go:41: deadlock in reloadConfig\nFAIL\nok  \tproject/other\t0.2s"),
		tool("cat internal/durable/append.go", "package durable\n\nfunc Append(f *os.File, b []byte) error {\n\treturn f.Sync()\n}"),
		tool("journalctl -u backup", "2023-08-01T02:00:13Z backup: dial tcp 10.0.0.7:22: ECONNREFUSED\n2023-08-01T02:00:14Z "+
			"backup: giving up after 3 tries"),
		chat("ann 2023-05-08 灯台の暗証番号は七四三一です。", "bob 2023-05-08 わかりました。"),
	)
	for question, c := range map[string]struct {
		want int
		part string
	}{
		"why did TestReload fail":                {0, "reload_test.go:41: deadlock"},
		"internal/durable/append.go":             {1, "append.go"},
		"where is append.go synced":              {1, "f.Sync()"},
		"backup refused connection ECONNREFUSED": {2, "ECONNREFUSED"},
		"暗証番号は?":                                 {3, "七四三一"},
		"reload config deadlock":                 {0, "reloadConfig"},
	} {
		if got := s.first(t, question, c.want); !strings.Contains(got, c.part) {
			t.Errorf("%q: the passage is %q", question, got)
		}
	}
}

func TestRankIsDeterministic(t *testing.T) {
	s := of(chat("ann 2023-05-08 The same."), chat("ann 2023-05-10 The same."), chat("ann 2023-05-09 The same."))
	var order []int
	for _, r := range s.found("same, at one time or another") {
		order = append(order, s.place(r))
	}
	if !slices.Equal(order, []int{1, 2, 0}) {
		t.Errorf("equals do not come newest first: %v", order)
	}
}

func TestPassage(t *testing.T) {
	long := strings.Repeat("Nothing of note happened here, day after day. ", 40) + "Then the anchor broke in the storm. " +
		strings.Repeat("And so on it went. ", 40)
	s := of(
		chat("ann 2023-05-08 Good day.", "bob 2023-05-08 The ferry to the island leaves at nine.",
			"ann 2023-05-08 So early! The ferry?", "bob 2023-05-08 Yes."),
		"◆ e7 reply ◱hash=5a250cef43dfdb2f gist=turn 1: the storm◲\n<reasoning>\nWas it a gale?\n</reasoning>\n"+long+"\n",
		"◆ e8 note ◱hash=5a250cef43dfdb2f gist=x◲\nYou now hear room lighthouse.\n◆ e9 inbound room=a ◱hash=5a250cef43dfdb2f "+
			"gist=x◲\n[USER:bob 2023-05-08T10:00:00Z] one\n    two with the walrus\n    three\n",
	)
	if got := s.first(t, "when does the ferry leave for the island",
		0); got != "[USER:bob 2023-05-08T10:00:00Z] The ferry to the island leaves at nine.\n[USER:ann 2023-05-08T10:00:00Z] So "+
		"early! The ferry?\n[USER:bob 2023-05-08T10:00:00Z] Yes." {
		t.Errorf("after a question there is no answer: %q", got)
	}
	if got := s.first(t, "what broke in the storm", 1); !strings.Contains(got, "the anchor broke in the storm.") ||
		utf8.RuneCountInString(got) > text.PassageRunes {
		t.Errorf("%q", got)
	}
	if got := s.first(t, "a gale", 1); !strings.HasPrefix(got, "(thought) Was it a gale?\nNothing of note") {
		t.Errorf("%q", got)
	}
	if got := s.first(t, "walrus", 2); !strings.Contains(got, "walrus") || strings.Contains(got, "◆") {
		t.Errorf("%q", got)
	}
}

// A passage is the line with the rare words of a query, not the one with more common ones, and
// rather what a person said than what a tool was given or has printed.
func TestPassageIsOfTheRareWords(t *testing.T) {
	csv := "item,paid to,money,date\nshed roof,Holm,2180.00,2023-01-09\nnew slings,Takelwerk Nord,310.40,2023-01-12\n" +
		"paint,Brandt,402.15,2023-02-11"
	hotline := "The hotline of Lindqvist is 700 41 08, contract LQ-5530."
	s := of(
		tool("cat winter.csv", csv),
		chat("felix 2023-05-08 "+hotline, "dana 2023-05-08 Thanks.")+
			tool("printf 'hotline Lindqvist contract LQ-5530: 700 41 08' > /dev/null", ""),
		tool("python3 tests.py", "self.slept = [90, 90]  # vet the night")+chat("dana 2023-05-09 My cat kept us at the vet all night."),
		chat("ann 2023-05-08 The money for the paint was paid at a later date."),
		chat("bob 2023-06-20 Who paid the money?", "ann 2023-06-21 No date was named."),
	)
	for question, c := range map[string]struct {
		want int
		part string
	}{
		"Takelwerk Nord winter.csv money paid date": {0, "new slings,Takelwerk Nord,310.40"},
		"hotline Lindqvist contract LQ-5530 printf": {1, "[USER:felix 2023-05-08T10:00:00Z] " + hotline},
		"slept night vet": {2, "[USER:dana 2023-05-09T10:00:00Z] My cat"},
	} {
		if got := s.first(t, question, c.want); !strings.Contains(got, c.part) || strings.Contains(got, "{") {
			t.Errorf("%q: the passage is %q", question, got)
		}
	}
}

// In a large life an original with all words of a query comes before a line with most of them, as stage one has it.
func TestAllWordsCountInALargeLife(t *testing.T) {
	shelf := of(
		chat("ada 2026-03-01 the anchor and the marmalade"),
		chat("ada 2026-03-02 the anchor, and a great many other things that nobody else would ever think of, such as a kettle",
			"ben 2026-03-02 let us hear about the weather on the coast today", "ada 2026-03-02 fine, thank you, and how is yours",
			"ben 2026-03-02 it rains all day long", "ada 2026-03-02 somebody left marmalade here", "ben 2026-03-02 the ferry is late again",
			"ada 2026-03-02 that is a pity", "ben 2026-03-02 so it is", "ada 2026-03-02 the trombone is yours"),
	)
	shelf[0].Hash, shelf[1].Hash = blobs.Sum([]byte("most")), blobs.Sum([]byte("all"))
	asked := analyse("anchor marmalade trombone", monday)
	for segments, first := range map[int]int{60: 1, 100_000: 101} {
		found := shelf.shortlist(asked)
		found.segments, found.worth = segments, map[blobs.Hash]float64{shelf[0].Hash: 35, shelf[1].Hash: 53}
		hits, err := rank(t.Context(), asked, shelf, found)
		if err != nil || len(hits) != 2 || hits[0].From != first {
			t.Errorf("of %d: %v, %v", segments, hits, err)
		}
	}
}
