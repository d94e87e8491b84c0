package telegram

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/internal/test/botapi"
)

// A hang-up makes the bridge read its settings again: who is taken off the list is not heard any
// more, and a chat gets another room. What makes no sense changes nothing. A file that is fetched
// meanwhile counts by how things are when it has come.
func TestSettingsChange(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	eve := st.User("Eve")
	theirs := st.Private(eve)
	st.cfg.Users = []string{id(ada.ID), id(eve.ID)}
	var read atomic.Pointer[Config]
	hangup := make(chan os.Signal)
	st.cfg.Hangup = hangup
	st.cfg.Reload = func() (Config, error) {
		if c := read.Load(); c != nil {
			return *c, nil
		}
		return Config{}, errors.New("line 7 makes no sense")
	}
	st.greeted(theirs, eve)

	hangup <- syscall.SIGHUP
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, "line 7 makes no sense") })
	read.Store(&Config{Settings: Settings{Users: []string{"5 ada", "ada"}}})
	hangup <- syscall.SIGHUP
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, "does not begin with an id") })
	st.Say(theirs, eve, "still heard")
	st.hears("dev", 2)

	next := st.cfg
	meanwhile := func(where botapi.Chat, who models.User, words string) {
		t.Helper()
		hold, asked := make(chan struct{}), st.Count("getFile")
		st.Fault(botapi.Fault{Method: "getFile", Kind: botapi.Slow, Hold: hold, Times: 1})
		st.SendPhoto(where, who, []byte("jpeg"), words)
		st.within("the file is asked for", func() bool { return st.Count("getFile") > asked })
		equal(t, "in force", next.InForce(), false)
		now := next
		read.Store(&now)
		hangup <- syscall.SIGHUP
		st.within("they are in force", next.InForce)
		close(hold)
	}
	next.Users = []string{id(ada.ID)}
	meanwhile(theirs, eve, "not for you")
	next.Routes = []Route{{Chat: id(dm.ID), Room: "ops"}}
	meanwhile(dm, ada, "the diagram")
	has(t, "in the new room", st.hears("ops", 1)[0], "Ada: [photo", "the diagram")
	st.Say(theirs, eve, "anybody?")
	has(t, "eve is a stranger", st.sent(theirs, 1)[0], "allow ")
	st.hears("dev", 2)
	st.answers("ops", "a fine diagram")
	equalAll(t, "the answer", st.sent(dm, 1), "a fine diagram")
	next.BaseURL = "https://bots.example.org" // which needs a new start
	equal(t, "in force", next.InForce(), false)
}
