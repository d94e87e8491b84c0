package mind

import (
	"fmt"
	"testing"
	"time"

	"lethe/life/event"
)

// What a trigger has done is known although many questions were not answered in time since.
func TestFiringsAreNotForgotten(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	s := New()
	for i := range maxFires + 50 {
		by := fmt.Sprintf("%sq%06x", Deadline, i)
		if i == 0 {
			by = "cron-yearly"
		}
		e := event.Fired{By: by, Notice: event.Notice{Say: "x", Posting: event.Posting{TS: at.Add(time.Duration(i) * time.Hour), Posts: []event.Place{{Room: "dev"}}}}}
		if err := s.fired(e); err != nil {
			t.Fatal(err)
		}
	}
	if f := s.Fires["cron-yearly"]; !f.Last.Equal(at) || len(s.Fires) != 1 {
		t.Errorf("%v of %d", f, len(s.Fires))
	}
}
