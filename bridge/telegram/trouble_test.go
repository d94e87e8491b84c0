package telegram

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lethe/internal/botapi"
)

// A server that gives the same updates without end is not asked without end.
func TestSameUpdatesWithoutEnd(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.backoff = 50 * time.Millisecond
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: -1})
	began, asked := time.Now(), st.Count("getUpdates")
	st.within("it goes on", func() bool { return st.Count("getUpdates") >= asked+12 })
	if d := time.Since(began); d < 500*time.Millisecond {
		t.Errorf("12 polls in %v", d)
	}
	st.ClearFaults()
	st.Say(dm, ada, "and now?")
	st.hears("dev", 2)
}

// One 404 is no proof that there is no such bot.
func TestOneNotFound(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	r := st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "getUpdates", Status: 404, Times: 2})
	st.Say(dm, ada, "one")
	st.Say(dm, ada, "two")
	st.hears("dev", 3)
	st.stop(r)
	// Where there is no bot at all, the address may be wrong as well as the token.
	st.cfg.BaseURL += "/elsewhere"
	err := Run(t.Context(), st.cfg)
	if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "base_url") || !strings.Contains(err.Error(), "/elsewhere") {
		t.Errorf("it ends with %v", err)
	}
	st.secret(err)
	has(t, "webhook", conflictError(&apiError{Code: 409, Description: "webhook is active"}, "http://own:1/x").Error(), "http://own:1/x/bot$")
}

// Files of a server that hangs hold up the words of others for so long, and no more.
func TestFilesHang(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	bob := st.User("Bob", "")
	st.cfg.Users = append(st.cfg.Users, id(bob.ID))
	st.cfg.tune.file, st.cfg.tune.files = 300*time.Millisecond, 500*time.Millisecond
	st.start()
	st.ready()
	st.Fault(botapi.Fault{Method: "file", Kind: botapi.Hang, Times: -1})
	for range 8 {
		st.SendPhoto(dm, ada, []byte("jpeg"), "")
	}
	st.Say(st.Private(bob), bob, "hello")
	got := st.hears("dev", 9)
	has(t, "first", got[0], "could not be fetched, it took too long")
	has(t, "last", strings.Join(got, "\n"), "could not be fetched, "+errLate.Error(), "Bob: hello")
	if n := st.Count("getFile"); n > 4 {
		t.Errorf("%d files were asked for", n)
	}
	st.secret()
}
