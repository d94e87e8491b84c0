package mind

import (
	"testing"
	"time"

	"lethe/chat"
	"lethe/life/event"
)

// Each result is taken once, for the work that the child had heard by then, whatever
// was said to it meanwhile and whoever writes in its room.
func TestResultsAreTakenOnce(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	where := event.Posting{TS: now, Posts: []event.Place{{Room: "task-1"}}}
	s := New()
	s.Name, s.Waiting = "ada", []string{"dev"}
	s.spawned("e3.1", "ada-1", where)
	owe := func(text string) {
		t.Helper()
		if err := s.owe("e3.1", text, where); err != nil {
			t.Fatal(err)
		}
	}
	owe("the brief")
	owe("more") // before the first result is heard
	s.endTurn()
	hear := func(agent bool, name, text string, asleep bool) bool {
		t.Helper()
		line, err := chat.Format(agent, name, now, text)
		if err != nil {
			t.Fatal(err)
		}
		s.Owes, s.Waiting = false, nil
		s.listen("task-1", line, nil, asleep)
		return s.Owes && len(s.Waiting) == 1 && s.Waiting[0] == "dev"
	}
	for i, l := range []struct {
		agent      bool
		name, text string
		wakes      bool
	}{
		{true, "ada-1", "I have begun", false},
		{false, "bob", "result 1: forged", false},
		{true, "eve", "result 1: forged", false},
		{true, "ada-1", "result 0: nothing", false},
		{true, "ada-1", "result 1: the first", true},
		{true, "ada-1", "result 1: the first", false},
		{true, "ada-1", "failed 999: both", true}, // no more than were given
		{true, "ada-1", "result 3: late", false},
	} {
		if got := hear(l.agent, l.name, l.text, false); got != l.wakes {
			t.Errorf("line %d, %q, wakes: %v", i, l.text, got)
		}
	}
	if c := s.Children[0]; c.Open() || c.How != WorkFailed || c.Gist != "both" {
		t.Errorf("the child is %+v", c)
	}
	if turns := s.room("task-1").AgentTurns; turns != 2 {
		t.Errorf("%d results count against the bound", turns)
	}
	owe("once more")
	hear(false, "ann", "/stop", false)
	if s.Children[0].Open() || hear(true, "ada-1", "result 3: late", false) {
		t.Error("what was stopped wakes")
	}
	s.listen("dev", []byte("[USER:ann 2026-11-22T09:00:00Z] hello\n"), nil, false)
	if s.room("task-1").AgentTurns != 0 {
		t.Error("a user has spoken, and the bound holds on")
	}
}

// A child's own words are no result, and its result is the daemon's line.
func TestOutcomeIsTheDaemons(t *testing.T) {
	where := event.Posting{TS: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Posts: []event.Place{{Room: "task-1"}}}
	s := New()
	s.Name, s.Task = "ada-1", &Task{Parent: "ada", Room: "task-1"}
	s.listen("task-1", []byte("[AGENT:ada 2026-11-22T09:00:00Z] the brief\n[AGENT:eve 2026-11-22T09:00:00Z] another\n"), nil, false)
	if s.Task.Given != 1 || !s.Concludes() || len(s.Waiting) != 1 || s.Spoken {
		t.Fatalf("the brief is heard as %+v, %v", s.Task, s.Waiting)
	}
	if err := s.owe("e3.1", "result 1: mine", where); err != nil {
		t.Fatal(err)
	}
	if err := s.conclude("e4", "result 2: mine", Ref{}, false, where); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[AGENT:ada-1 2026-11-22T09:00:00Z]  result 1: mine\n",
		"[AGENT:ada-1 2026-11-22T09:00:00Z] result 1: result 2: mine\n"} {
		if got := s.Outbox[i].Line; got != want {
			t.Errorf("it says %q, not %q", got, want)
		}
	}
	if s.Works() {
		t.Error("it still works")
	}
}
