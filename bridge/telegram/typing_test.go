package telegram

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// identity writes what an identity does. This test is its process.
func (st *stage) identity(self, name, state string, answering ...string) {
	st.t.Helper()
	dir := filepath.Join(st.home, "agents", self)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = status.Write(dir, status.Status{Name: name, Self: self, PID: os.Getpid(), State: state,
			Rooms: []string{"dev", "ops"}, Answering: answering})
	}
	lethetest.Must(st.t, err)
}

func (st *stage) state(state string, answering ...string) {
	st.identity("a1", "lethe", state, answering...)
}

// Typing is shown while an agent works on an answer for the room, in the chat that asked, and not
// otherwise.
func TestTyping(t *testing.T) {
	st := newStage(t)
	st.cfg.tune.typing = 20 * time.Millisecond
	ada := st.ada()
	bob := st.User("Bob")
	st.lets("ops", id(bob.ID))
	other := st.Private(bob)
	st.state(status.Thinking, "dev")
	st.start()
	ada.says("hello")
	st.Say(other, bob, "hello")
	st.within("typing goes on", func() bool { return st.typed(ada.dm) >= 3 })
	st.state(status.Idle)
	n := -1
	st.within("typing is over", func() bool {
		before := n
		n = st.typed(ada.dm)
		time.Sleep(200 * time.Millisecond)
		return n == before && n == st.typed(ada.dm)
	})
	equal(t, "typing in the chat of another room", st.typed(other), 0)
}

// typed is how often the bot was shown typing in a chat.
func (st *stage) typed(where botapi.Chat) (n int) {
	for _, c := range st.Calls() {
		if c.Method == "sendChatAction" && c.Params["chat_id"] == id(where.ID) {
			n++
		}
	}
	return n
}
