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
		e := event.Fired{By: by, Notice: event.Notice{Say: "x",
			Posting: event.Posting{TS: at.Add(time.Duration(i) * time.Hour), Posts: []event.Place{{Room: "dev"}}}}}
		if err := s.fired(e); err != nil {
			t.Fatal(err)
		}
	}
	if f := s.Fires["cron-yearly"]; !f.Last.Equal(at) || len(s.Fires) != 1 {
		t.Errorf("%v of %d", f, len(s.Fires))
	}
}

// What was seen of an owner in one drop is nothing of another drop, nor of what was recorded before triggers were named.
func TestFiringsOfTwoDrops(t *testing.T) {
	s := New()
	posting := event.Posting{TS: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Posts: []event.Place{{Room: "dev"}}}
	for i, drop := range []string{"", "one", "two", "one"} {
		e := event.Fired{By: "mail-ann", Trigger: drop, Seen: fmt.Sprint(i), Notice: event.Notice{Say: fmt.Sprint(i), Posting: posting}}
		if err := s.fired(e); err != nil {
			t.Fatal(err)
		}
	}
	for key, seen := range map[string]string{"mail-ann": "0", "mail-ann one": "3", "mail-ann two": "2"} {
		if s.Fires[key].Seen != seen {
			t.Errorf("%q: %v", key, s.Fires)
		}
	}
	if n := Awaits(s.Wakes, "mail-ann"); n != 4 {
		t.Errorf("%d unanswered", n)
	}
}
