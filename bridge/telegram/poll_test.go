package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"lethe/internal/botapi"
)

// Every way in which fetching can fail: told at its beginning and its end, once,
// nothing is lost, nothing comes twice, and the token is nowhere.
func TestFetchingFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault botapi.Fault
		told  string // in the log
	}{
		{"502", botapi.Fault{Status: 502}, "502"},
		{"500 for a while", botapi.Fault{Status: 500, For: 500 * time.Millisecond}, "500"},
		{"HTML with 502", botapi.Fault{Kind: botapi.HTML, Status: 502}, "not the bot api's"},
		{"HTML with 200", botapi.Fault{Kind: botapi.HTML}, "not the bot api's"},
		{"broken connection", botapi.Fault{Kind: botapi.Reset, Times: 5}, "getUpdates"},
		{"broken after it took effect", botapi.Fault{Kind: botapi.Reset, After: true}, "getUpdates"},
		{"truncated", botapi.Fault{Kind: botapi.Truncate}, "not the bot api's"},
		{"wrong shape", botapi.Fault{Kind: botapi.Shape}, "not the bot api's"},
		{"429", botapi.Fault{Status: 429, RetryAfter: 1}, "asks to wait"},
		{"another bot", botapi.Fault{Status: 409, Times: 3}, "another program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botapi.Options{})
			ada, dm := st.ada()
			st.start()
			st.ready()
			st.Say(dm, ada, "before")
			st.hears("dev", 1)
			fault := c.fault
			fault.Method = "getUpdates"
			fault.Times = max(fault.Times, 2)
			if fault.For > 0 {
				fault.Times = 0
			}
			st.Fault(fault)
			for i := range 3 {
				st.Say(dm, ada, fmt.Sprintf("during %d", i))
			}
			equalAll(t, "room", st.hears("dev", 4), "Ada: before", "Ada: during 0", "Ada: during 1", "Ada: during 2")
			st.within("it is over", func() bool { return st.FaultsLeft() == 0 })
			st.quiet()
			st.within("the end is told", func() bool { return strings.Contains(st.log.String(), "reaches telegram again") })
			log := st.log.String()
			has(t, "log", log, c.told)
			if n := strings.Count(log, "cannot reach telegram"); n != 1 {
				t.Errorf("the beginning was told %d times:\n%s", n, log)
			}
			st.hears("dev", 4)
			if c.name != "wrong shape" { // it confirms without our knowing what
				st.well()
			}
			st.secret()
		})
	}
}

// A server that takes the request and says nothing is given up, on a connection
// that is not used again.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.grace = 200 * time.Millisecond
	st.start()
	st.ready()
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Hang, Times: 2})
	st.Say(dm, ada, "can you hear me?") // ends the poll under way; the next two hang
	st.Say(dm, ada, "and now?")
	st.hears("dev", 2)
	st.within("it hung", func() bool { return st.FaultsLeft() == 0 })
	has(t, "log", st.log.String(), "deadline exceeded")
	st.secret()
}

// The two conflicts are told apart, and health shows which.
func TestWebhook(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.Webhook("https://example.org/hook")
	st.start()
	st.within("it was told", func() bool { return strings.Contains(st.log.String(), "a webhook is set") })
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, "a webhook is set") })
	has(t, "health", st.health().Error, "deleteWebhook", "$TELEGRAM_BOT_TOKEN")
	st.Webhook("")
	st.Say(dm, ada, "hello")
	st.hears("dev", 1)
	st.secret()
}

// A token that is not known ends the bridge, whoever finds out.
func TestUnknownToken(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
	}{{"getMe", 401}, {"getMe", 404}, {"getUpdates", 401}, {"getUpdates", 404}, {"sendMessage", 401}} {
		t.Run(fmt.Sprintf("%s %d", c.method, c.status), func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botapi.Options{})
			ada, dm := st.ada()
			r := st.greeted(dm, ada)
			if c.method == "getMe" {
				st.stop(r)
			}
			st.Fault(botapi.Fault{Method: c.method, Status: c.status, Times: -1})
			if c.status == http.StatusNotFound { // which alone proves nothing
				st.Fault(botapi.Fault{Method: "getMe", Status: c.status, Times: -1})
			}
			if c.method == "getMe" {
				r = st.start()
			}
			st.answers("dev", "hello")
			err := st.ended(r)
			if !errors.Is(err, ErrToken) {
				t.Errorf("ended with %v", err)
			}
			st.secret(err)
			if h := st.health(); h.Healthy() || !strings.Contains(h.Error, "the token") {
				t.Errorf("health %s, error %q", h.State, h.Error)
			}
		})
	}
}

// Updates that were confirmed come again, and others go on at a random id after a
// week without any.
func TestUpdatesComeAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{FirstUpdate: 500_000})
	ada, dm := st.ada()
	r := st.start()
	for i := range 5 {
		st.Say(dm, ada, fmt.Sprintf("%d", i))
	}
	st.hears("dev", 5)
	st.Say(dm, ada, "/id")
	st.sent(dm, 1)
	st.quiet()
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: 2})
	st.Say(dm, ada, "5")
	st.hears("dev", 6)
	st.within("they came again", func() bool { return st.FaultsLeft() == 0 })
	st.quiet()
	st.hears("dev", 6)
	st.sent(dm, 1) // what makes no line does not come again either
	st.stop(r)

	st.ResumeAt(1234) // lower, while nobody listens
	st.Say(dm, ada, "6")
	r = st.start()
	st.hears("dev", 7)
	st.quiet()
	st.ResumeAt(77) // lower, while somebody does
	st.Say(dm, ada, "7")
	st.Say(dm, ada, "8")
	st.hears("dev", 9)
	st.quiet()
	st.hears("dev", 9)
	st.stop(r)
	st.start() // confirmed: not again
	st.quiet()
	st.hears("dev", 9)
	st.well()
}

// Ids of another bot, or of another server, are another sequence.
func TestAnotherBot(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{FirstUpdate: 1000})
	ada, dm := st.ada()
	r := st.start()
	st.Say(dm, ada, "one")
	st.hears("dev", 1)
	st.stop(r)
	other := newStage(t, botapi.Options{FirstUpdate: 1000, Token: "987:other"})
	ada2, dm2 := other.ada()
	other.cfg.Home = st.home
	other.home = st.home
	other.start()
	other.Say(dm2, ada2, "two")
	equalAll(t, "room", other.hears("dev", 2), "Ada: one", "Ada: two")
}

// Ready is called once, when Telegram answered.
func TestReady(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{Username: "lethe_bot"})
	ready := make(chan string, 10)
	st.cfg.Ready = func(bot string) { ready <- bot }
	st.Fault(botapi.Fault{Method: "getMe", Status: 502, Times: 3})
	st.start()
	equal(t, "bot", <-ready, "lethe_bot")
	st.ready()
	if len(ready) > 0 {
		t.Error("it was called twice")
	}
	if len(st.Commands()) != len(commands) {
		t.Errorf("commands %v", st.Commands())
	}
	st.well()
}
