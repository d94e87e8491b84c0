package telegram

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/bridge/telegram/botapi"
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
	p, err := bridge.OpenPolicy(filepath.Join(st.home, "bridges", Name))
	if err == nil {
		err = p.Revoke(id(mal.ID))
	}
	if err != nil {
		t.Fatal(err)
	}
	let := len(st.lines("dev"))
	st.within("nothing waits any more", func() bool { return st.health().In == 0 })
	if n := len(st.lines("dev")); n > let+1 { // one may have been on its way
		t.Errorf("after the revocation %d lines went into the room", n-let)
	}
}
