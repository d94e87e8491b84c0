package terminal

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// listen runs a feed until the test ends and hands out what it says.
func listen(t *testing.T, home string, poll time.Duration) (chan request, <-chan any) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan any, 10_000)
	orders := make(chan request, 256)
	done := make(chan error, 1)
	go func() {
		done <- feed(ctx, Config{Home: home, User: "ada", Poll: poll}.defaults(), orders, func(m any) { out <- m })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return orders, out
}

// until takes what comes until ok says enough.
func until(t *testing.T, out <-chan any, what string, ok func(any) bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case m := <-out:
			if ok(m) {
				return
			}
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func lineTexts(lines []message) (all []string) {
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

func TestFeedFollowsARoom(t *testing.T) {
	home := t.TempDir()
	for i := range history + 50 {
		appendLine(t, home, "dev", false, "bob", fmt.Sprint(i))
	}
	orders, out := listen(t, home, time.Hour) // events alone have to do
	until(t, out, "the end of the room", func(m any) bool {
		n := m.(news)
		return n.Fresh && len(n.Lines) == history && n.Lines[0].Text == "50"
	})
	appendLine(t, home, "dev", true, "lethe", "new")
	until(t, out, "a new line", func(m any) bool { return slices.Equal(lineTexts(m.(news).Lines), []string{"new"}) })
	orders <- request{room: "ops"}
	until(t, out, "an empty room", func(m any) bool {
		n := m.(news)
		return n.Room == "ops" && n.Fresh && len(n.Lines) == 0
	})
	appendLine(t, home, "ops", false, "bob", "first")
	until(t, out, "its first line", func(m any) bool { return slices.Equal(lineTexts(m.(news).Lines), []string{"first"}) })
}

func TestFeedSaysInOrder(t *testing.T) {
	home := t.TempDir()
	orders, out := listen(t, home, time.Hour)
	var want []string
	for i := range 50 {
		orders <- request{say: fmt.Sprint(i)}
		want = append(want, fmt.Sprintf("ada: %d", i))
	}
	seen := 0
	until(t, out, "all is sent", func(m any) bool {
		seen += len(m.(news).Lines)
		return seen == 50
	})
	if got := texts(t, home, "dev"); !slices.Equal(got, want) {
		t.Errorf("the room has %q", got)
	}
}

// An agent that is seen to be idle has its answer among the lines seen by then.
func TestFeedShowsAnswersBeforeIdleness(t *testing.T) {
	home := t.TempDir()
	a := newActor(t, home, "lethe", "dev")
	_, out := listen(t, home, time.Hour)
	go func() {
		for i := range 200 {
			a.turn(message{To: int64(i)}, func() { a.say("answer") })
		}
		a.set(func(s *status.Status) { s.State, s.Model = status.Idle, "end" })
	}()
	answers := 0
	until(t, out, "the last turn", func(m any) bool {
		n := m.(news)
		answers += len(n.Lines)
		for _, b := range n.Agents {
			if b.State == status.Idle && answers < b.Turn {
				t.Errorf("idle after turn %d with %d answers seen", b.Turn, answers)
			}
			if b.Model == "end" {
				return true
			}
		}
		return false
	})
}

func TestFeedSeesIdentitiesComeAndGo(t *testing.T) {
	home := t.TempDir()
	_, out := listen(t, home, 50*time.Millisecond)
	a := newActor(t, home, "lethe", "dev")
	until(t, out, "an identity", func(m any) bool { return len(m.(news).Agents) == 1 })
	a.set(func(s *status.Status) { s.State, s.Answering = status.Thinking, []string{"dev"} })
	live := status.NewView(a.dir)
	live.Live(func(now *status.Live) bool { now.Text = "so far"; return true })
	live.Flush()
	until(t, out, "its reply", func(m any) bool {
		n := m.(news)
		return len(n.Agents) == 1 && n.Agents[0].Live.Text == "so far"
	})
	a.set(func(s *status.Status) { s.PID = deadPID(t) })
	until(t, out, "its death", func(m any) bool { return len(m.(news).Agents) == 0 })
}

// A quiet home makes no news, however often it is looked at.
func TestFeedIsQuietWhenNothingHappens(t *testing.T) {
	home := t.TempDir()
	newActor(t, home, "lethe", "dev")
	orders, out := listen(t, home, 5*time.Millisecond)
	until(t, out, "the beginning", func(m any) bool { return m.(news).Fresh })
	for range 20 {
		orders <- request{} // an order to do nothing, to know that it looked
	}
	lethetest.Eventually(t, "the orders are taken", func() bool { return len(orders) == 0 })
	select {
	case m := <-out:
		t.Errorf("news of nothing: %+v", m)
	default:
	}
}

func TestFeedOnAReplacedRoom(t *testing.T) {
	home := t.TempDir()
	appendLine(t, home, "dev", false, "bob", "old")
	_, out := listen(t, home, 50*time.Millisecond)
	until(t, out, "the beginning", func(m any) bool { return m.(news).Fresh })
	line, err := chat.Format(false, "bob", time.Now(), "another file")
	lethetest.Must(t, err)
	lethetest.Must(t, durable.WriteFile(chat.Path(home, "dev"), line, 0o600))
	until(t, out, "the other file", func(m any) bool {
		n := m.(news)
		return n.Fresh && slices.Equal(lineTexts(n.Lines), []string{"another file"})
	})
}
