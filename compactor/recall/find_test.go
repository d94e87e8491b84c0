package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"lethe/blobs"
	"lethe/compactor/recall/index"
	"lethe/internal/test/lethetest"
)

// Large originals are found by any part, as one hit, with a passage of that part.
func TestLargeOriginal(t *testing.T) {
	w := newWorld(t)
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "%06d some ordinary log line with nothing to tell\n", i)
		if i == 9000 {
			b.WriteString("here the quokka smiles\n")
		}
	}
	large := w.fades(w.worked("I read it.", "BASH", "{}", b.String()))[0]
	w.says("a small thing about quokkas")
	x := w.synced()
	found := 0
	for _, h := range w.search(x, Query{Text: "the quokka smiles in an ordinary log line"}) {
		if h.Hash != large {
			continue
		}
		found++
		if at := []rune(w.body(large))[h.Offset:]; !strings.Contains(string(at[:400]), "quokka") || !strings.Contains(h.Passage, "quokka") {
			t.Errorf("passage %q, at its offset stands %.80q", h.Passage, string(at))
		}
	}
	if found != 1 {
		t.Errorf("the large original is %d hits", found)
	}
	if n := len(w.records(w.runs()[0])); n < 100 {
		t.Errorf("%d segments", n)
	}
}

// stageOne looks a text up without reading blobs.
func (x *Index) stageOne(t *testing.T, said string, now time.Time) (s *shortlist) {
	t.Helper()
	asked := analyse(said, now)
	err := x.View(t.Context(), func(v *index.View) (err error) {
		s, err = stageOne(t.Context(), v, &asked, Query{}, x.Words)
		return err
	})
	lethetest.Must(t, err)
	return s
}

// A list that is read in part is estimated, not taken for short, and of what it finds
// there are no more hits than are asked for.
func TestEstimates(t *testing.T) {
	lethetest.Unraced(t)
	w := newWorld(t)
	var bodies []string
	for i := range 2000 {
		text := "common"
		if i%4 == 0 {
			text = "common quarter"
		}
		bodies = append(bodies, w.heard("dev", "ada", fmt.Sprintf("%s %d", text, i)))
	}
	w.fades(bodies...)
	x := w.synced()
	s := x.stageOne(t, "common quarter 77 missing", w.now)
	for i, want := range []float64{2000, 500, 1, 0} {
		if got := s.dfs[i]; got < want*0.9 || got > want*1.1 {
			t.Errorf("word %d is in %v segments, estimated %v", i, want, got)
		}
	}
	if s.segments != 2000 || len(s.docs) != mostBodies {
		t.Errorf("%d segments, %d candidates", s.segments, len(s.docs))
	}
	for limit, want := range map[int]int{1: 1, 50: 50} {
		if hits := w.search(x, Query{Text: "common quarter", Limit: limit}); len(hits) != want {
			t.Errorf("limit %d: %d hits, want %d", limit, len(hits), want)
		}
	}
}

// Who says something counts once a message: who spoke often in an original is found there first.
func TestFindsWhoSpoke(t *testing.T) {
	w := newWorld(t)
	talk := func(names ...string) (out string) {
		for _, name := range names {
			out += w.heard("dev", name, strings.Repeat("the usual talk of days and nights. ", 15))
		}
		return out
	}
	w.fades(talk("ada", "carol", "bob", "carol"))
	often := w.fades(talk("bob", "ada", "bob", "bob"))[0]
	w.fades(talk("carol", "bob", "ada", "ada"))
	x := w.synced()
	if s := x.stageOne(t, "bob", w.now); len(s.docs) != 3 || s.docs[0].Hash != often {
		t.Errorf("stage one finds %+v", s.docs)
	}
	if h := w.finds(x, "bob", often); !strings.HasPrefix(h.Passage, "[USER:bob ") {
		t.Errorf("passage %q", h.Passage)
	}
}

// A date in a text is found by its date, however either is written, and whenever it
// was said.
func TestFindsDates(t *testing.T) {
	w := newWorld(t)
	moved := w.says("On 2025-08-17 we moved the database to the new rack.")
	dentist := w.says("The dentist appointment is on 5 December 2026 at nine.")
	rent := w.says("Rent is due on 2026-12-24.")
	party := w.says("the summer party is on May 9th, bring cake")
	decided := w.fades(w.worked("I look.", "BASH", `{"command":"cat adr.md"}`, "ADR decided 2024/03/09 10:20:30: use postgres"))[0]
	novel := w.says("Orwell wrote it, and in 1984 the tower was painted")
	camp := w.says("camp is on August 21-23 this year, says the club")
	for i := range 40 {
		w.says(fmt.Sprintf("filler number %d about nothing %d", i, i*7))
	}
	// The time in a tag is a date that nobody has named.
	w.now = time.Date(2026, 4, 3, 9, 0, 0, 0, time.UTC)
	w.says("the crane lifts the bell")
	w.now = time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	crane := w.says("the crane lifts the roof")
	w.now = time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	w.says("the crane lifts the mast, as may be")
	x := w.synced()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]blobs.Hash{
		"2025-08-17": moved, "17 August 2025": moved, "what happened on 2025-08-17?": moved, "august 17th": moved, "the 17th of Aug, 2025": moved,
		"what is on 5 December 2026?": dentist, "5 December": dentist, "December 5": dentist, "2026-12-05": dentist,
		"what is in december?":             dentist,
		"what is due on 24 December 2026?": rent, "2026/12/24": rent, "Dec. 24": rent,
		"9 May 2026": party, "what is on May 9?": party,
		"2024-03-09": decided, "what did we decide on 9 March 2024?": decided,
		"1984": novel, "what was in 1984?": novel,
		"August 21-23": camp, "21 August": camp,
	} {
		hits := w.search(x, Query{Text: text, Now: now})
		if len(hits) == 0 || hits[0].Hash != want {
			t.Errorf("%q finds %.300s", text, show(hits))
		}
	}
	for _, text := range []string{"what did the crane lift on 3 May 2026?", "what did the crane lift on 2026-05-03?",
		"what did the crane lift in May?"} {
		w.finds(x, text, crane)
	}
	hinted, err := x.Hints(t.Context(), w.store, "is anything on 5 December 2026?", now, HintConfidence)
	if hints := hinted.Hits; err != nil || len(hints) == 0 || hints[0].Hash != dentist {
		t.Errorf("hints %s, %v", show(hinted.Hits), err)
	}
}

// Words are found however they are written and composed, and parts of what is written
// without spaces.
func TestFindsOtherSpellings(t *testing.T) {
	w := newWorld(t)
	pairs := [][2]string{
		{"كِتَابٌ جديد", "كتاب"}, {"\u1107\u116e\u1109\u1161\u11ab \u1112\u1161\u11bc\u1100\u116e", "부산"},
		{"대전 역", "\u1103\u1162\u110c\u1165\u11ab"},
		{"сини\u0306 трамвай", "синий"},
		{"медового пирога кусок", "медовый пирог"}, {"Straße gesperrt", "strasse"},
		{"İstanbul vapuru", "istanbul"},
		{"ﬁle missing", "file"}, {"ＡＢＣ社", "abc"}, {"カメラ", "ｶﾒﾗ"}, {"שָׁלוֹם", "שלום"}, {"une œuvre", "oeuvre"},
		{"seen on YouTube", "youtube"}, {"we went fishing", "go fishing"}, {"two dying whales", "whale dies"},
		{"LGBTQ centre", "lgbtq"}, {"coo\u0308perate", "cooperate"},
		{"昨日は東京タワーに行きました。とても高かったです。", "東京"},
		{"たかい塔はタワーです", "タワー"}, {"我们家的猫喜欢在窗台上睡觉。", "猫"},
		{"她坐在窗台上", "坐在窗台"},
		{"พรุ่งนี้เราจะไปเชียงใหม่ด้วยรถไฟ",
			"เชียงใหม่"}, {"내일 서울에서 회의가 있습니다", "서울"},
	}
	var want []blobs.Hash
	for _, p := range pairs {
		want = append(want, w.says(p[0]))
	}
	x := w.synced()
	for i, p := range pairs {
		if h := w.finds(x, p[1], want[i]); h.Passage != "[USER:ada "+h.At.Format(time.RFC3339)+"] "+norm.NFC.String(p[0]) {
			t.Errorf("%q: passage %q", p[1], h.Passage)
		}
	}
}

// What a query is limited to holds for what is ranked and shown, not only for the
// original that it stands in.
func TestFiltersOfLines(t *testing.T) {
	w := newWorld(t)
	mixed := w.heard("ops", "bob", "lunch is at noon, osprey") +
		w.heard("dev", "ann", "osprey is a codename, and osprey is the secret") +
		w.worked("An osprey, I say.", "BASH", `{"command":"echo"}`, "the osprey printed") +
		w.worked("", "LIST", `{"path":"."}`, "osprey.txt")
	noted := fmt.Sprintf("◆ e%d note ◱hash=0123456789abcdef gist=…◲\nan osprey was edited\n", w.next)
	w.next++
	w.now = w.now.Add(200 * 24 * time.Hour)
	late := w.heard("dev", "cleo", "osprey again") + w.worked("Osprey late.", "BASH", "{}", "late osprey")
	w.fades(mixed + noted + late)
	x := w.synced()
	day := w.now.Add(-24 * time.Hour)
	for _, c := range []struct {
		what     string
		q        Query
		in, not  string // words of the passage
		earliest bool   // At is of the first day
	}{
		{"nothing", Query{}, "secret", "", false},
		{"a room", Query{Room: "ops"}, "lunch", "secret", true},
		{"a tool", Query{Tool: "list"}, "osprey.txt", "printed", true},
		{"another tool", Query{Tool: "BASH"}, "printed", "secret", false},
		{"a room or a tool", Query{Room: "ops", Tool: "LIST"}, "osprey", "secret", true},
		{"a reply", Query{Kind: "reply"}, "An osprey, I say", "secret", false},
		{"a reply, beside a room", Query{Kind: "reply", Room: "ops"}, "An osprey, I say", "secret", false},
		{"chat of a room", Query{Kind: "chat", Room: "ops"}, "lunch", "secret", true},
		{"tools of a sort", Query{Kind: "tool", Tool: "LIST"}, "osprey.txt", "printed", true},
		{"a note", Query{Kind: "note"}, "edited", "secret", true},
		{"since", Query{Since: day}, "again", "secret", false},
		{"since, a tool", Query{Since: day, Tool: "BASH"}, "late osprey", "printed", false},
		{"until", Query{Until: day}, "secret", "again", true},
		{"until, a reply", Query{Until: day, Kind: "reply"}, "An osprey", "late", true},
	} {
		c.q.Text = "osprey secret"
		hits := w.search(x, c.q)
		if len(hits) != 1 {
			t.Errorf("%s: %d hits", c.what, len(hits))
			continue
		}
		h := hits[0]
		if !strings.Contains(h.Passage, c.in) || c.not != "" && strings.Contains(h.Passage, c.not) {
			t.Errorf("%s: %q", c.what, h.Passage)
		}
		if early := h.At.Before(day); early != c.earliest {
			t.Errorf("%s: at %v", c.what, h.At)
		}
	}
	// Nothing of what is left has the words, and that the original has them is
	// neither here nor there.
	for _, q := range []Query{{Text: "secret", Room: "ops"}, {Text: "secret", Since: day},
		{Text: "lunch", Since: day.Add(-50 * 24 * time.Hour), Until: day}} {
		if hits := w.search(x, q); len(hits) > 0 {
			t.Errorf("%+v: %s", q, show(hits))
		}
	}
}

// What a model wrote of an original leads to it, but is not shown, raises no hint, and
// does not count where a query is limited to some of its lines.
func TestFindsByTheSummary(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.says("nothing of note happened at the harbour")
	}
	body := w.heard("dev", "ada", "our spaniel ate the tickets") + w.heard("ops", "bob", "then stay at home")
	h := w.put(blobs.Meta{At: w.now, Gist: "veterinary", Summary: "Ada cancelled the excursion of 2026-03-27 for her pet.",
		Life: w.self.String()}, body)
	from, to := entriesOf(body)
	w.append(w.fade(from, to, "gist", h), w.newEpoch())
	x := w.synced()
	for _, word := range []string{"veterinary", "excursions", "pet", "27 March"} {
		hit := w.finds(x, word, h)
		if !strings.Contains(hit.Passage, "our spaniel") || strings.Contains(hit.Passage, "excursion") || hit.Confidence > 0 {
			t.Errorf("%s: %+v", word, hit)
		}
	}
	if hits := w.search(x, Query{Text: "excursion", Room: "ops"}); len(hits) != 0 {
		t.Errorf("a summary of two rooms is found in one: %s", show(hits))
	}
	hinted, err := x.Hints(t.Context(), w.store, "Was the excursion cancelled for the pet?", w.now, HintConfidence)
	if err != nil || len(hinted.Hits) != 0 {
		t.Errorf("a hint that no line bears out: %s, %v", show(hinted.Hits), err)
	}
}
