package telegram

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/botapi"
)

// While a file is fetched the owner takes somebody off the list, or gives the chat
// another room: what counts is how things are when the file has come.
func TestSettingsChangeDuringAFile(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	bob := st.User("Bob", "")
	his := st.Private(bob)
	now := Config{Users: []string{id(ada.ID), id(bob.ID)}}
	file := &changeable{}
	file.set(says(now))
	st.cfg.Users, st.cfg.Reload, st.cfg.tune.missing = now.Users, file.reload, 500*time.Millisecond
	st.cfg.SettingsFile = filepath.Join(st.home, "config.toml")
	change := func(c Config) {
		t.Helper()
		file.set(says(c))
		if err := os.WriteFile(st.cfg.SettingsFile, []byte(c.Room+strings.Join(c.Users, " ")), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Home = st.home
		st.within("it is in force", func() bool { live, _ := c.Obeys(); return live })
	}
	photo := func(c Config) {
		t.Helper()
		hold := make(chan struct{})
		asked := st.Count("getFile")
		st.Fault(botapi.Fault{Method: "getFile", Kind: botapi.Slow, Hold: hold, Times: 1})
		st.SendPhoto(dm, ada, []byte("jpeg jpeg"), "the diagram")
		st.within("the file is asked for", func() bool { return st.Count("getFile") > asked })
		change(c)
		close(hold)
	}
	if err := os.WriteFile(st.cfg.SettingsFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st.greeted(dm, ada)
	st.quiet()

	now.Room = "ops"
	photo(now)
	has(t, "in the new room", st.hears("ops", 1)[0], "Ada: [photo", "the diagram")
	st.answers("ops", "a fine diagram")
	equalAll(t, "the answer", st.sent(dm, 1), "a fine diagram")
	st.hears("dev", 1)

	now.Users = now.Users[1:]
	photo(now)
	st.Say(his, bob, "what comes next") // the batch of the photo has been dealt with
	equal(t, "behind the photo", st.hears("ops", 3)[2], "Bob: what comes next")
	has(t, "log", st.log.String(), "may not speak any more")
	st.well()
}
