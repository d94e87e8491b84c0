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
	x := w.synced()
	for asked, back := range map[string]int{
		"who came about the harbour three days ago?": 3, "the official, a week ago": 7, "this morning's official": 0,
		"Who came about the harbour last " + w.now.AddDate(0, 0, -2).Weekday().String() + "?": 2,
	} {
		w.finds(x, asked, days[w.now.AddDate(0, 0, -back).Format(time.DateOnly)])
	}
}
