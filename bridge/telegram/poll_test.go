package telegram

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// Every way in which fetching can fail: told at its beginning and its end, once,
// nothing is lost, nothing comes twice, and the token is nowhere.
func TestFetchingFails(t *testing.T) {
	const webhook = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	for _, c := range []struct {
		name  string
		fault botapi.Fault
		told  string // in the log, and by health
	}{
		{"502", botapi.Fault{Status: 502}, "502"},
		{"500 for a while", botapi.Fault{Status: 500, Times: 9}, "500"},
		{"HTML with 502", botapi.Fault{Kind: botapi.HTML, Status: 502}, "not the bot api's"},
		{"HTML with 200", botapi.Fault{Kind: botapi.HTML}, "not the bot api's"},
		{"broken connection", botapi.Fault{Kind: botapi.Reset, Times: 5}, "getUpdates"},
		{"broken after it took effect", botapi.Fault{Kind: botapi.Lost}, "getUpdates"},
		{"truncated", botapi.Fault{Kind: botapi.Truncate}, "not the bot api's"},
		{"wrong shape", botapi.Fault{Kind: botapi.Shape}, "not the bot api's"},
		{"hangs", botapi.Fault{Kind: botapi.Hang}, "deadline exceeded"},
		{"429", botapi.Fault{Status: 429, RetryAfter: 1}, "asks to wait"},
		{"another bot", botapi.Fault{Status: 409, Times: 3}, "another program"},
		{"a webhook", botapi.Fault{Status: 409, Times: 3, Description: webhook}, "while webhook is active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStage(t)
			ada := st.ada()
			if c.fault.Kind == botapi.Hang {
				st.cfg.tune.grace = 200 * time.Millisecond
			}
			ada.greets()
			fault := c.fault
			fault.Method = "getUpdates"
			fault.Times = max(fault.Times, 2)
			st.Fault(fault)
			for i := range 3 {
				ada.says(fmt.Sprintf("during %d", i))
			}
			equalAll(t, "room", st.hears("dev", 4), "Ada: hello", "Ada: during 0", "Ada: during 1", "Ada: during 2")
			st.within("it is over", func() bool { return st.FaultsLeft() == 0 })
			st.quiet()
			st.within("the end is told", func() bool { return strings.Contains(st.log.String(), "can reach telegram again") })
			log := st.log.String()
			has(t, "log", log, c.told)
			equal(t, "how often the log tells the beginning", strings.Count(log, "cannot reach telegram"), 1)
			st.within("health tells", func() bool { return strings.Contains(st.health().Error, c.told) })
			st.hears("dev", 4)
			st.ill = c.name == "wrong shape" // it confirms without our knowing what
		})
	}
}

// A token that is not known ends the bridge, whoever finds out.
func TestUnknownToken(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
	}{{"getMe", 401}, {"getMe", 404}, {"getUpdates", 401}, {"sendMessage", 401}} {
		t.Run(fmt.Sprintf("%s %d", c.method, c.status), func(t *testing.T) {
			st := newStage(t)
			ada := st.ada()
			r := ada.greets()
			if c.method == "getMe" {
				st.stop(r)
			}
			st.Fault(botapi.Fault{Method: c.method, Status: c.status, Times: -1})
			if c.method == "getMe" {
				r = st.start()
			}
			st.answers("dev", "hello")
			err := st.ended(r)
			if !errors.Is(err, ErrToken) {
				t.Errorf("ended with %v", err)
			}
			st.secret(err)
			if h := st.health(); h.Ailment() == "" || !strings.Contains(h.Error, "the token") {
				t.Errorf("health %s, error %q", h.State, h.Error)
			}
		})
	}
}

// Updates that were confirmed come again, and others go on at a random id after a
// week without any.
func TestUpdatesComeAgain(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	r := st.start()
	for i := range 5 {
		ada.says(fmt.Sprintf("%d", i))
	}
	st.hears("dev", 5)
	ada.says("/id")
	ada.got(1)
	st.quiet()
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: 2})
	ada.says("5")
	st.hears("dev", 6)
	st.within("they came again", func() bool { return st.FaultsLeft() == 0 })
	st.quiet()
	st.hears("dev", 6)
	ada.got(1) // what makes no line does not come again either
	st.stop(r)

	st.ResumeAt(1234) // lower, while nobody listens
	ada.says("6")
	r = st.start()
	st.hears("dev", 7)
	st.quiet()
	st.ResumeAt(77) // lower, while somebody does
	ada.says("7")
	ada.says("8")
	st.hears("dev", 9)
	st.quiet()
	st.hears("dev", 9)
	st.stop(r)
	st.start() // confirmed: not again
	st.quiet()
	st.hears("dev", 9)
}

// Ids of another bot are another sequence.
func TestAnotherBot(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	r := st.start()
	ada.says("one")
	st.hears("dev", 1)
	st.stop(r)
	other := stageOf(t, "987:other")
	there := other.ada()
	other.cfg.Home = st.home
	other.home = st.home
	other.start()
	there.says("two")
	equalAll(t, "room", other.hears("dev", 2), "Ada: one", "Ada: two")
}

// A server that gives the same updates without end is not asked without end.
func TestSameUpdatesWithoutEnd(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.cfg.tune.backoff = 50 * time.Millisecond
	ada.greets()
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: -1})
	began, asked := time.Now(), st.Count("getUpdates")
	st.within("it goes on", func() bool { return st.Count("getUpdates") >= asked+12 })
	if d := time.Since(began); d < 500*time.Millisecond {
		t.Errorf("12 polls in %v", d)
	}
	st.ClearFaults()
	ada.says("and now?")
	st.hears("dev", 2)
}

// One 404 is no proof that there is no such bot.
func TestOneNotFound(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	r := ada.greets()
	st.Fault(botapi.Fault{Method: "getUpdates", Status: 404, Times: 2})
	ada.says("one")
	ada.says("two")
	st.hears("dev", 3)
	st.stop(r)
	st.Fault(botapi.Fault{Method: "getMe", Status: 404, Times: 1})
	r = st.start()
	ada.says("three")
	st.hears("dev", 4)
	st.stop(r)
	// Where there is no bot at all, the address may be wrong as well as the token.
	st.cfg.BaseURL += "/elsewhere"
	err := Run(t.Context(), st.cfg)
	if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "base_url") || !strings.Contains(err.Error(), "/elsewhere") {
		t.Errorf("it ends with %v", err)
	}
	st.secret(err)
}

// Files of a server that hangs hold up the words of others for so long, and no more.
func TestFilesHang(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	bob := st.User("Bob")
	st.lets("", id(bob.ID))
	st.cfg.tune.file, st.cfg.tune.files = 300*time.Millisecond, 500*time.Millisecond
	st.start()
	st.ready()
	st.Fault(botapi.Fault{Method: "file", Kind: botapi.Hang, Times: -1})
	for range 8 {
		st.SendPhoto(ada.dm, ada.User, []byte("jpeg"), "")
	}
	st.Say(st.Private(bob), bob, "hello")
	got := st.hears("dev", 9)
	has(t, "first", got[0], "could not be fetched, it took too long")
	has(t, "last", strings.Join(got, "\n"), "could not be fetched, it took too long", "Bob: hello")
	if n := st.Count("getFile"); n > 4 {
		t.Errorf("%d files were asked for", n)
	}
}

// A message that the inbox could not take is not confirmed: it comes again when
// the disk has room.
func TestInboxCannotBeWritten(t *testing.T) {
	st := stageOf(t, "")
	ada := st.ada()
	disk := newBrokenDisk(t, "inbox.jsonl")
	disk.mended.Store(true)
	ada.greets()
	disk.mended.Store(false)
	ada.says("b")
	st.deaf("no space left")
	disk.mended.Store(true)
	ada.says("c")
	equalAll(t, "dev", st.hears("dev", 3), "Ada: hello", "Ada: b", "Ada: c")
	st.within("the end is told", func() bool { return strings.Contains(st.log.String(), `msg="can take in messages again"`) })
}

// Nor does a list that nobody can read count as hearing.
func TestDamagedPeopleAreDeafness(t *testing.T) {
	st, ada := greeted(t)
	people := st.file("people.json")
	good, err := os.ReadFile(people)
	lethetest.Must(t, errors.Join(err, os.WriteFile(people, []byte("{"), 0o600)))
	ada.says("b")
	st.deaf("people.json")
	lethetest.Must(t, os.WriteFile(people, good, 0o600))
	equalAll(t, "dev", st.hears("dev", 2), "Ada: hello", "Ada: b")
}

// deaf waits for the bridge to fetch several times without taking anything in, and
// checks that it does not count as an exchange.
func (st *stage) deaf(why string) {
	st.t.Helper()
	st.within("it fails", func() bool { return strings.Contains(st.log.String(), why) })
	asked := st.Count("getUpdates")
	st.within("it is tried again", func() bool { return st.Count("getUpdates") > asked+5 })
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, why) })
	if strings.Contains(st.log.String(), "can reach telegram again") {
		st.t.Errorf("it takes nothing in, and counts as hearing:\n%s", st.log)
	}
}
