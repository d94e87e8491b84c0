package recall

import (
	"fmt"
	"testing"
	"time"

	"lethe/blobs"
)

// Of two that say about the same, the later one holds; one that fits better comes
// first, however old it is.
func TestFavoursWhatIsNew(t *testing.T) {
	w := newWorld(t)
	old := w.says("the deploy key is in vault 7")
	for i := range 60 {
		w.now = w.now.Add(24 * time.Hour)
		w.fades(w.heard("dev", "carol", fmt.Sprintf("filler number %d about nothing %d", i, i*7)))
	}
	now := w.fades(w.heard("dev", "bob", "the deploy key is in vault 9 now"))[0]
	x := w.synced()
	hits := w.search(x, Query{Text: "where is the deploy key?"})
	if len(hits) < 2 || hits[0].Hash != now || hits[1].Hash != old || hits[0].Score < hits[1].Score {
		t.Errorf("hits %s %v %v", show(hits), hits[0].Score, hits[1].Score)
	}
	w.finds(x, "the deploy key in vault 7", old)
	if hints, err := x.Hints(t.Context(), w.store, "where is the deploy key?", w.now, nil); err != nil || len(hints) != 2 || hints[0].Hash != now {
		t.Errorf("hints %s, %v", show(hints), err)
	}
}

func TestFavourNewIsSmall(t *testing.T) {
	at := func(days int) candidate { return candidate{last: monday.AddDate(0, 0, -days)} }
	c := []candidate{at(0), at(1), at(30), at(365)}
	hits := []ranked{{candidate: 3, score: 1}, {candidate: 1, score: 1}, {candidate: 0, score: 1}, {candidate: 2, score: 1}}
	favourNew(hits, c)
	if hits[0].score != 1 || hits[2].score != 1+newShare || !(hits[0].score < hits[3].score && hits[3].score < hits[1].score && hits[1].score < hits[2].score) {
		t.Errorf("scores %+v", hits)
	}
	same := []ranked{{candidate: 0, score: 1}, {candidate: 0, score: 2}}
	favourNew(same, c)
	favourNew(nil, nil)
	if same[0].score != 1 || same[1].score != 2 {
		t.Errorf("hits of one time have %+v", same)
	}
}

// A word finds the identifiers that it is inside, though it is a word by itself
// elsewhere; that comes first.
func TestFindsInsideIdentifiers(t *testing.T) {
	w := newWorld(t)
	lower := w.fades(w.worked("I look.", "BASH", `{"command":"make"}`, "undefined: opentowerlog2"))[0]
	tower := w.says("the tower is made of brick")
	for i := range 30 {
		w.says(fmt.Sprintf("filler number %d about nothing %d", i, i*7))
	}
	x := w.synced()
	hits := w.search(x, Query{Text: "tower"})
	if len(hits) != 2 || hits[0].Hash != tower || hits[1].Hash != lower {
		t.Errorf("hits %s", show(hits))
	}
	w.finds(x, "towerlog", lower)
}

// Words are found however they are written and composed.
func TestFindsOtherSpellings(t *testing.T) {
	w := newWorld(t)
	pairs := [][2]string{
		{"كِتَابٌ جديد", "كتاب"}, {"\u1107\u116e\u1109\u1161\u11ab \u1112\u1161\u11bc\u1100\u116e", "부산"}, {"대전 역", "\u1103\u1162\u110c\u1165\u11ab"},
		{"сини\u0306 трамвай", "синий"}, {"медового пирога кусок", "медовый пирог"}, {"Straße gesperrt", "strasse"}, {"İstanbul vapuru", "istanbul"},
		{"ﬁle missing", "file"}, {"ＡＢＣ社", "abc"}, {"カメラ", "ｶﾒﾗ"}, {"שָׁלוֹם", "שלום"}, {"une œuvre", "oeuvre"}, {"coo\u0308perate", "cooperate"},
	}
	var want []blobs.Hash
	for _, p := range pairs {
		want = append(want, w.says(p[0]))
	}
	x := w.synced()
	for i, p := range pairs {
		if h := w.finds(x, p[1], want[i]); h.Passage != "[USER:ada "+h.At.Format(time.RFC3339)+"] "+p[0] {
			t.Errorf("%q: passage %q", p[1], h.Passage)
		}
	}
}
