package wake

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lethe/agent/wake/trigger"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// A clock that was a year ahead for a while stops no schedule, and lets none of its times come twice.
func TestClockWasAhead(t *testing.T) {
	trig, err := trigger.Parse("x", []byte("cron = \"30 9 * * *\"\nsay = \"x\"\n"), time.UTC)
	lethetest.Must(t, err)
	now := time.Date(2026, 11, 22, 9, 45, 0, 0, time.UTC)
	last := time.Date(2027, 12, 1, 9, 30, 0, 0, time.UTC)
	r := &loaded{Trigger: trig, progress: progress{since: now.Add(-100 * 24 * time.Hour)}}
	var fired []string
	for i := range 300 {
		if m, ok := r.scheduled(last, now); ok {
			last = m.at
			fired = append(fired, fmt.Sprint(m.at.Day(), m.missed))
		}
		if now = now.Add(17 * time.Minute); i%100 == 99 { // put back by an hour
			now = now.Add(-time.Hour)
		}
	}
	if want := []string{"23 0", "24 0", "25 0"}; !slices.Equal(fired, want) {
		t.Errorf("fired %q, want %q", fired, want)
	}
}

// What was to begin before the quiet hours, or has ended in them, waits for their end.
func TestNightIsQuiet(t *testing.T) {
	night := time.Date(2026, 11, 23, 2, 31, 0, 0, time.UTC)
	trig, err := trigger.Parse("late", []byte("cron = \"0 21,7 * * *\"\nquiet = \"22:00-07:00\"\nrun = \"look\"\n"), time.UTC)
	lethetest.Must(t, err)
	trig = trig.For("self")
	for _, printed := range []string{"", "something"} { // it was to begin before the quiet hours, or has ended in them
		v := View{Now: night, Fires: map[string]mind.Firing{"cron-late": {Last: night.Add(-24 * time.Hour)}}}
		r := &loaded{Trigger: trig, progress: progress{since: night.Add(-48 * time.Hour)}}
		if printed != "" {
			r.run = &run{moment: moment{at: night}, done: make(chan struct{}), printed: printed}
			close(r.run.done)
		}
		_, _, ok := new(Triggers).firing(r, v)
		if until := night.Truncate(24 * time.Hour).Add(7 * time.Hour); ok || printed == "" && r.run != nil || !r.wake.Equal(until) {
			t.Errorf("printed %q: it comes at %s", printed, r.wake)
		}
	}
}
