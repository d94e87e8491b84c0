package bridge

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/lethetest"
)

// A person may say 60 lines at once and one a second after that. Others, and commands, are
// not held up; and what waited on the other side for a day is no flood.
func TestFlood(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	n := 0
	say := func(user string, lines int, at time.Duration, text string) (floods []Flood) {
		t.Helper()
		for range lines {
			n++
			m := message(fmt.Sprint(n), user, fmt.Sprint(text, n))
			m.At = noon.Add(at)
			floods = append(floods, b.accept(t, m)...)
		}
		return floods
	}
	in := func(want int) {
		t.Helper()
		if got := len(lines(t, home, "dev")); got != want {
			t.Fatalf("the room has %d lines, not %d", got, want)
		}
	}
	if floods := say("eve", perMinute, 0, "line "); len(floods) > 0 {
		t.Errorf("refused %+v", floods)
	}
	if floods := say("eve", 40, time.Second, "line "); !slices.Equal(floods, []Flood{{"eve", "p-eve", "dev"}}) {
		t.Errorf("refused %+v", floods)
	}
	in(perMinute + 1)
	say("ada", 1, time.Second, "hello ")
	say("eve", 1, time.Second, "/model x")
	in(perMinute + 3)
	if floods := say("eve", 2, 2*time.Second, "line "); len(floods) > 0 {
		t.Errorf("told again at once: %+v", floods)
	}
	in(perMinute + 4)
	// What was refused is not taken when it comes again with something else.
	again := message("80", "eve", "line 80")
	b.accept(t, again, message("x", "bob", "hello"))
	in(perMinute + 5)
	if floods := say("eve", 100, 2*time.Minute, "line "); len(floods) != 1 {
		t.Errorf("a second flood is told %d times", len(floods))
	}
	in(2*perMinute + 5)
	b.abandon()
	b = start(t, home)
	for hour := range 24 {
		say("dan", 5, time.Duration(hour)*time.Hour, "line ")
	}
	in(2*perMinute + 5 + 24*5)
}

// A batch that is taken again after a failed write is not counted twice.
func TestFloodCountsOnce(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	var batch []Message
	for i := range perMinute {
		batch = append(batch, message(fmt.Sprint(i), "ada", fmt.Sprint("line ", i)))
	}
	journal := b.inbox.journal.path
	b.inbox.journal.path = home + "/none/inbox.jsonl"
	for range 3 {
		if _, err := b.Accept("1", batch...); err == nil {
			t.Fatal("accepted without a journal")
		}
	}
	b.inbox.journal.path = journal
	if floods := b.accept(t, batch...); len(floods) > 0 || len(lines(t, home, "dev")) != perMinute {
		t.Errorf("refused %+v", floods)
	}
}

// An inbox takes no more than it can hold.
func TestFullInbox(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	lethetest.Must(t, os.MkdirAll(chat.Path(home, "dev"), 0o700))
	b.accept(t, message("1", "ada", "one"))
	b.inbox.ledger.waiting = slices.Repeat(b.inbox.ledger.waiting, maxWaiting)
	if _, err := b.Accept("1", message("2", "ada", "two")); err == nil || b.Position() != "" {
		t.Errorf("takes more than it can hold: %v", err)
	}
}
