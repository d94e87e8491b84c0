package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/internal/botapi"
)

// What waits for a flood limit goes into no room once its writer may not speak.
func TestRevokeWhileLinesWait(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	mal := st.User("Mal", "")
	dm := st.Private(mal)
	st.cfg.Flood = bridge.Flood{User: bridge.Rate{Lines: 1, Per: 2 * time.Second}}
	st.start()
	st.Say(dm, mal, "hi")
	st.approve(st.sent(dm, 1)[0], "")
	st.sent(dm, 2)
	for i := range 4 {
		st.Say(dm, mal, fmt.Sprint("line ", i))
	}
	st.quiet()
	st.owner(func(p *access.Policy) error { return p.Revoke(id(mal.ID)) })
	let := len(st.lines("dev"))
	st.within("nothing waits any more", func() bool { return st.health().In == 0 })
	if n := len(st.lines("dev")); n > let+1 { // one may have been on its way
		t.Errorf("after the revocation %d lines went into the room", n-let)
	}
}

// While the list is away nothing is decided.
func TestAllowed(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	st.cfg.Chats = []string{"-5"}
	s, hub := st.session()
	defer hub.Close()
	people := st.file("people.json")
	if err := os.WriteFile(people, []byte(`{"version":1,"users":[{"id":"7"}],"chats":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, peer string
		want       bool
	}{{"7", "7", true}, {"7", "7.3", true}, {"8", "8", false}, {"8", "-5", true}, {"8", "-5.3", true}, {"7", "-6", false}} {
		if got, err := s.allowed(bridge.Message{Key: c.user, Peer: c.peer}); err != nil || got != c.want {
			t.Errorf("user %s in %s: %v, %v", c.user, c.peer, got, err)
		}
	}
	bot, _ := json.Marshal(note{Bot: true})
	for user, want := range map[string]bool{"7": true, "9": false} {
		if got, err := s.allowed(bridge.Message{Key: user, Peer: "-5", Note: bot}); got != want || err != nil {
			t.Errorf("bot %s in a listed group: %v, %v", user, got, err)
		}
	}
	if err := os.Remove(people); err != nil {
		t.Fatal(err)
	}
	if got, err := s.allowed(bridge.Message{Key: "8", Peer: "-5"}); got || !errors.Is(err, access.ErrAway) {
		t.Errorf("while the list is away: %v, %v", got, err)
	}
	if err := s.migrated(-6, -1006); !errors.Is(err, access.ErrAway) {
		t.Errorf("a group moves while the list is away: %v", err)
	}
}
