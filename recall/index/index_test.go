package index

import (
	"strings"
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
		for _, f := range strings.Fields(filters(text.Facts{}, at, at)) {
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

// The originals of an epoch are read as package mind writes them.
func TestReadsEpochsOfTheMind(t *testing.T) {
	state := mind.New()
	h := blobs.Sum([]byte("original"))
	state.Faded = []mind.Range{
		{From: 1, To: 64, Level: mind.Card, Original: mind.Ref{Hash: blobs.Sum([]byte("card"))}},
		{From: 65, To: 67, Level: mind.Gist, Original: mind.Ref{Hash: h, Short: h.String()[:16]}},
	}
	body, err := state.Snapshot()
	lethetest.Must(t, err)
	tasks, err := fadedIn(body)
	if err != nil || len(tasks) != 1 || tasks[0].from != 65 || tasks[0].to != 67 || tasks[0].ref != h.String() {
		t.Errorf("%+v, %v", tasks, err)
	}
	if _, err := fadedIn(body[:len(body)/2]); err == nil {
		t.Error("half an epoch is read")
	}
}
