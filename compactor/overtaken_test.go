package compactor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// The line of a range that a later summary overtakes says so: as a summary, as a gist and on its card. Only what stands in
// the past and is older can be overtaken, and only what is named by its range.
func TestOvertaken(t *testing.T) {
	w := newWorld(t, 20_000)
	w.set.Target = 0
	w.turns(9, 700)
	w.swap(chunks(w, 5))
	first, other := w.state.Faded[0], w.state.Faded[1]
	w.turns(9, 700)
	fades := chunks(w, 5)
	last := fades[len(fades)-1]
	var f Fade
	_, err := f.readSummary(fmt.Sprintf(`{"summary":"s","overtakes":[%q,"e1..e999","e%d..e%d",7,null,"premiere"]}`,
		first.Name(), last.From, last.To))
	lethetest.Must(t, err)
	fades[0].overtakes = f.overtakes
	fades[0].Relevance = 1
	by := ", overtaken by " + mind.EntryID(fades[0].To)
	w.swap(fades)
	stands := func(level string) {
		t.Helper()
		if past := w.state.Stable.Past; !strings.Contains(past, "◆ "+first.Name()+" "+level+by+" ◱hash=") ||
			strings.Count(past, "overtaken") != 1 {
			t.Errorf("as a %s the line does not say%s, or others do:\n%s", level, by, past)
		}
	}
	stands(w.state.Faded[0].Level)
	for i := range w.state.Faded {
		w.state.Faded[i].Level, w.state.Faded[i].Text, w.state.Faded[i].Summary = mind.Gist, "", nil
	}
	w.swap(nil)
	w.state.Open("", nil, w.now)
	stands(mind.Gist)
	for rounds := 0; w.state.Faded[0].Level != mind.Card; rounds++ {
		if rounds > 200 {
			t.Fatal("nothing has gone on a card")
		}
		w.turns(9, 700)
		w.swap(chunks(w, 5))
	}
	body, err := w.read(w.state.Faded[0].Original.Hash)
	lethetest.Must(t, err)
	list := mind.ReadCard(body)
	if i := slices.IndexFunc(list,
		func(l mind.Listing) bool { return l.From == other.From }); list[0].Overtaken != fades[0].To || list[i].Overtaken != 0 {
		t.Errorf("the card lists %+v", list[:2])
	}
	if strings.Contains(w.state.Stable.Past, "overtaken") || w.state.Overtaken[first.Name()] != fades[0].To || len(w.state.Overtaken) != 1 {
		t.Errorf("%v is overtaken after it has gone on a card", w.state.Overtaken)
	}
}
