package index

import (
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/internal/lethetest"
	"lethe/mind"
	"lethe/recall/text"
)

func TestDayTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(0, 30000)
		base := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
		since := base.AddDate(0, 0, days.Draw(t, "since"))
		until := since.AddDate(0, 0, rapid.IntRange(0, 4000).Draw(t, "length"))
		at := base.AddDate(0, 0, days.Draw(t, "at")).Add(time.Duration(rapid.IntRange(0, 86399).Draw(t, "second")) * time.Second)
		have := map[string]bool{}
		for _, f := range filters(text.Facts{}, at, at) {
			have[f] = true
		}
		found := false
		terms := During(since, until)
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

// The originals of an epoch, and those on the cards of a fork's, are read as the other packages write them.
func TestReadsEpochsOfTheMind(t *testing.T) {
	state := mind.New()
	store, err := blobs.Open(t.TempDir())
	lethetest.Must(t, err)
	put := func(text string) mind.Ref {
		h, err := store.Put(blobs.Meta{Life: "ab"}, []byte(text))
		lethetest.Must(t, err)
		return mind.Ref{Hash: h, Short: store.Short(h)}
	}
	listing := func(r mind.Ref, from, to int) string {
		return mind.Listing{Ref: blobs.Ref{Hash: r.Short, Gist: "g"}, From: from, To: to}.String() + "\n"
	}
	card := put("2 parts\n" + listing(put("one"), 1, 3) + listing(put("two"), 4, 9))
	state.Faded = []mind.Range{
		{From: 1, To: 9, Level: mind.Card, Tier: 2, Original: put("1 part\n" + listing(card, 1, 9))},
		{From: 65, To: 67, Level: mind.Gist, Original: put("original")},
	}
	body, err := state.Snapshot()
	lethetest.Must(t, err)
	epoch := put(string(body))
	p := &pass{store: store, log: slog.New(slog.DiscardHandler), owns: func(b blobs.Blob) bool { return b.Life == "ab" }}
	if tasks := p.faded(epoch.Short, false); len(tasks) != 1 || tasks[0] != (task{65, 67, state.Faded[1].Original.Hash.String()}) {
		t.Errorf("an edit: %+v", tasks)
	}
	if tasks := p.faded(epoch.Short, true); len(tasks) != 3 || tasks[0].to != 3 || tasks[1].from != 4 {
		t.Errorf("a fork: %+v", tasks)
	}
	if tasks := p.faded(put(string(body[:len(body)/2])).Short, true); len(tasks) > 0 {
		t.Error("half an epoch is read")
	}
}
