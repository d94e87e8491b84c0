package recall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDayTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(0, 30000)
		base := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
		since := base.AddDate(0, 0, days.Draw(t, "since"))
		until := since.AddDate(0, 0, rapid.IntRange(0, 4000).Draw(t, "length"))
		at := base.AddDate(0, 0, days.Draw(t, "at")).Add(time.Duration(rapid.IntRange(0, 86399).Draw(t, "second")) * time.Second)
		d := document{first: at, last: at}
		have := map[string]bool{}
		for _, f := range strings.Fields(d.filters()) {
			have[f] = true
		}
		found := false
		terms := dayTerms(since, until)
		for _, term := range terms {
			found = found || have[term]
		}
		if inside := !at.Before(since) && at.Before(until.AddDate(0, 0, 1)); found != inside {
			t.Fatalf("%v in %v..%v: %v", at, since, until, terms)
		}
		if len(terms) > 120 {
			t.Fatalf("%d terms", len(terms))
		}
	})
}

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
		blob, err := w.store.Get(large)
		if err != nil {
			t.Fatal(err)
		}
		if at := []rune(string(blob.Body))[h.Offset:]; !strings.Contains(string(at[:400]), "quokka") || !strings.Contains(h.Passage, "quokka") {
			t.Errorf("passage %q, at its offset stands %.80q", h.Passage, string(at))
		}
	}
	if found != 1 {
		t.Errorf("the large original is %d hits", found)
	}
	st, err := x.Stats(context.Background())
	if err != nil || st.Originals != 2 || st.Segments < 100 || st.Bytes == 0 {
		t.Errorf("stats %+v, %v", st, err)
	}
}

// The telling word of a long message is found wherever it stands.
func TestLongMessage(t *testing.T) {
	w := newWorld(t)
	want := w.says("the xylophone is in the attic")
	var bodies []string
	for i := range 60 {
		text := ""
		for k := range 40 {
			text += fmt.Sprintf("filler%d ", (i+k)%60)
		}
		bodies = append(bodies, w.heard("dev", "ada", text))
	}
	w.fades(bodies...)
	x := w.synced()
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "filler%d ", i)
	}
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	_, _, s, err := db.candidates(context.Background(), w.store, analyse(long.String()+"xylophone", w.now), Query{}, nil)
	if err != nil || s.df(stem("xylophone")) != 1 || s.df("filler7") != 40 {
		t.Fatalf("it is in %d segments, another word in %d; %v", s.df(stem("xylophone")), s.df("filler7"), err)
	}
	if heaviest := s.words[s.lists[0].word].stem; heaviest != stem("xylophone") {
		t.Errorf("%s weighs most", heaviest)
	}
	w.finds(x, "xylophone filler1 filler2", want)
}

// What stands before and after a good hit comes along to be ranked.
func TestNeighbours(t *testing.T) {
	w := newWorld(t)
	var bodies []string
	for i := range 200 {
		text := "nothing to tell"
		if i == 100 {
			text = "where did we hide the xylophone?"
		}
		bodies = append(bodies, w.heard("dev", "ada", fmt.Sprintf("%s word%d", text, i)))
	}
	all := w.fades(bodies...)
	x := w.synced()
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	cands, _, _, err := db.candidates(context.Background(), w.store, analyse("xylophone", w.now), Query{}, nil)
	if err != nil || len(cands) != 3 || cands[0].hash != all[100] || cands[0].words == 0 {
		t.Fatalf("%d candidates, %v", len(cands), err)
	}
	for _, c := range cands[1:] {
		if c.hash != all[99] && c.hash != all[101] || c.words != 0 || c.body == "" {
			t.Errorf("candidate e%d..e%d, words %g", c.from, c.to, c.words)
		}
	}
}

// A list that is read in part is estimated, not taken for short.
func TestEstimates(t *testing.T) {
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
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	_, _, s, err := db.candidates(context.Background(), w.store, analyse("common quarter 77 missing", w.now), Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{"common": 2000, "quarter": 500, "77": 1, "missing": 0} {
		if got := s.df(stem(word)); got < want*9/10 || got > want*11/10 {
			t.Errorf("%s is in %d segments, estimated %d", word, want, got)
		}
	}
	if s.docs() != 2000 {
		t.Errorf("%d segments", s.docs())
	}
}
