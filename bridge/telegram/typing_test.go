package telegram

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lethe/internal/botapi"
	"lethe/internal/status"
)

// state writes what an identity does. This test is its process.
func (st *stage) state(state string, answering ...string) {
	st.t.Helper()
	dir := filepath.Join(st.home, "agents", "a1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		st.t.Fatal(err)
	}
	err := status.Write(dir, status.Status{
		Name: "lethe", Self: "a1", PID: os.Getpid(), State: state, Rooms: []string{"dev", "ops"}, Answering: answering,
	})
	if err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) works(room string) { st.state(status.Thinking, room) }

// Typing is shown while an agent works on an answer for the room, in the chats that
// get it, and not otherwise.
func TestTyping(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	bob := st.User("Bob", "")
	st.cfg.Users = append(st.cfg.Users, id(bob.ID))
	st.cfg.Routes = []Route{{Chat: id(bob.ID), Room: "ops"}}
	other := st.Private(bob)
	st.state(status.Idle)
	st.start()
	st.Say(dm, ada, "hello")
	st.Say(other, bob, "hello")
	st.hears("dev", 1)
	st.hears("ops", 1)
	if n := len(st.Actions(dm)); n != 0 {
		t.Errorf("typing %d times while nobody works", n)
	}
	st.works("dev")
	st.within("typing goes on", func() bool { return len(st.Actions(dm)) >= 3 })
	st.state(status.Idle)
	n, since := len(st.Actions(dm)), time.Now()
	st.within("typing is over", func() bool {
		if now := len(st.Actions(dm)); now > n {
			n, since = now, time.Now()
		}
		return time.Since(since) > 3*st.cfg.tune.typing
	})
	if n := len(st.Actions(other)); n != 0 {
		t.Errorf("typing %d times in the chat of another room", n)
	}
	st.well()
}

// An identity that works writes its status often; it types no oftener for that.
func TestTypingIsNotHasty(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.typing = time.Minute
	st.state(status.Idle)
	st.greeted(dm, ada)
	for range 20 {
		st.works("dev")
		time.Sleep(50 * time.Millisecond) // so that it is seen
	}
	st.within("it types", func() bool { return len(st.Actions(dm)) > 0 })
	if n := len(st.Actions(dm)); n != 1 {
		t.Errorf("typing %d times in a second", n)
	}
	st.well()
}
