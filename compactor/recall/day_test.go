package recall

import (
	"testing"
	"time"

	"lethe/blobs"
)

// Of what was said about one subject on many days, the day that a question names comes first.
func TestDaysAsSaid(t *testing.T) {
	w := newWorld(t)
	days := map[string]blobs.Hash{}
	for range 14 {
		w.now = w.now.AddDate(0, 0, 1)
		days[w.now.Format(time.DateOnly)] = w.says("an official came about the harbour")
	}
	w.says("they give us time")
	x := w.synced()
	for asked, back := range map[string]int{
		"who came about the harbour three days ago?": 3, "the official, a week ago": 7, "this morning's official": 0,
		"Who came about the harbour last " + w.now.AddDate(0, 0, -2).Weekday().String() + "?": 2,
	} {
		w.finds(x, asked, days[w.now.AddDate(0, 0, -back).Format(time.DateOnly)])
	}
	found, err := w.trySearch(x, "what did they say five days ago?") // "give" stands for no number of days
	if err != nil || len(found.Hits) == 0 || len(found.Near) > 0 || found.Hits[0].Hash != days[w.now.AddDate(0, 0, -5).Format(time.DateOnly)] {
		t.Errorf("five days ago: %s, near %q, %v", show(found.Hits), found.Near, err)
	}
	w.now = w.now.AddDate(0, 0, 9)
	said := w.says("it came four days ago, they say")
	w.now = w.now.AddDate(0, 0, 20)
	w.finds(w.synced(), "they say it came four days ago", said)
}
