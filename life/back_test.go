package life

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// A log is read backwards from its end or from any line on; a place in the middle of a
// line, and damage, are refused.
func TestBack(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("note", 1, 9)...)
	var offsets []int64
	lethetest.Must(t, Scan(path, func(_ Event, at int64) error { offsets = append(offsets, at); return nil }))
	read := func(before int64, most int) (got []Event, at []int64, err error) {
		err = l.Back(before, func(e Event, offset int64) bool {
			got, at = append(got, e), append(at, offset)
			return len(got) < most
		})
		return got, at, err
	}
	for _, tt := range []struct {
		before int64
		most   int
		want   string
		first  int // place of the newest
	}{
		{0, 2, "note:e9 note:e8", 8},
		{1 << 40, 1, "note:e9", 8},
		{offsets[5], 2, "note:e5 note:e4", 4},
		{offsets[2], 9, "note:e2 note:e1", 1},
	} {
		got, at, err := read(tt.before, tt.most)
		if err != nil || args(got) != tt.want || at[0] != offsets[tt.first] {
			t.Errorf("before %d: %s at %v, %v", tt.before, args(got), at, err)
		}
	}
	if _, _, err := read(offsets[5]-3, 9); !errors.Is(err, ErrOtherLog) {
		t.Errorf("in the middle of a line: %v", err)
	}
	lethetest.Must(t, l.Close())
}

// BenchmarkBack reads the newest 3,000 of 100,000 lines.
func BenchmarkBack(b *testing.B) {
	l, _ := newLog(b)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range 20 {
		var chunk []Event
		for k := range 5000 {
			chunk = append(chunk, Event{At: at, Kind: "reply", Args: []string{fmt.Sprintf("e%d", 5000*i+k)},
				Fields: []Field{{"turn", "1"}, {"model", "deepseek-v4-pro"}, {"in", "4210"}, {"cached", "3968"}, {"out", "96"},
					{"usd", "0.000437"}, {"weight", "13120"}, {"finish", "stop"}},
				Refs: []blobs.Ref{{Hash: "4d143dd228ecb196", Gist: "turn 1: I look around."}}})
		}
		appendAll(b, l, chunk...)
	}
	kinds := []string{}
	for b.Loop() {
		n := 0
		lethetest.Must(b, l.Back(0, func(e Event, _ int64) bool {
			n++
			if !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
			return n < 3000
		}))
	}
}
