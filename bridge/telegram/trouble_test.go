package telegram

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/internal/botapi"
)

// A server that gives the same updates without end is not asked without end, and
// does not count as heard.
func TestSameUpdatesWithoutEnd(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: -1})
	st.within("it is told", func() bool { return strings.Contains(st.log.String(), errStale.Error()) })
	began, asked := time.Now(), st.Count("getUpdates")
	st.within("it goes on", func() bool { return st.Count("getUpdates") >= asked+12 })
	if d := time.Since(began); d < 500*time.Millisecond {
		t.Errorf("12 polls in %v", d)
	}
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, "again and again") })
	if n := strings.Count(st.log.String(), errStale.Error()); n != 1 {
		t.Errorf("it is told %d times", n)
	}
	st.ClearFaults()
	st.Say(dm, ada, "and now?")
	st.hears("dev", 2)
	st.within("the end is told", func() bool { return strings.Contains(st.log.String(), "reaches telegram again") })
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

// A list that is damaged at the start is waited for, and mending it is enough.
func TestDamagedAtTheStart(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	r := st.start()
	st.ready()
	if err := st.stop(r); err != nil {
		t.Fatal(err)
	}
	equal(t, "state", st.health().State, bridge.Stopped)
	people := st.file("people.json")
	if err := os.WriteFile(people, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	st.Say(dm, ada, "is anybody there?")
	st.start()
	st.within("it is told", func() bool { return strings.Contains(st.health().Error, "people.json") })
	if !st.health().Exchanged.IsZero() && strings.Contains(st.log.String(), "cannot reach telegram") {
		t.Errorf("our own file is told as trouble with telegram:\n%s", st.log)
	}
	st.hears("dev", 0)
	if err := os.WriteFile(people, []byte(`{"version":1,"users":[],"chats":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	st.hears("dev", 1)
	st.answers("dev", "yes")
	st.sent(dm, 1)
	st.well()
}

// That it cannot be told which chats were heard is not the same as none.
func TestUnreadablePeers(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	st.cfg.Users = []string{"7"}
	s, hub := st.session()
	defer hub.Close()
	if err := os.RemoveAll(st.file("peers")); err != nil {
		t.Fatal(err)
	}
	if keys, err := s.known(); err != nil || len(keys) > 0 {
		t.Errorf("none: %v, %v", keys, err)
	}
	if err := os.WriteFile(st.file("peers"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running := map[string]*delivery{"7": {room: "dev", cancel: func() { t.Error("a delivery is ended") }}}
	if again := s.reconcile(t.Context(), running); !again || len(running) != 1 {
		t.Errorf("again %v, %d run", again, len(running))
	}
}

// Files of a server that hangs hold up the words of others once, and no more.
func TestFilesHang(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	bob := st.User("Bob", "")
	st.cfg.Users = append(st.cfg.Users, id(bob.ID))
	st.cfg.tune.file, st.cfg.tune.fileSick, st.cfg.tune.filesOff = 300*time.Millisecond, 100*time.Millisecond, time.Hour
	st.start()
	st.ready()
	st.Fault(botapi.Fault{Method: "file", Kind: botapi.Hang, Times: -1})
	for range 8 {
		st.SendPhoto(dm, ada, []byte("jpeg"), "")
	}
	st.Say(st.Private(bob), bob, "hello")
	got := st.hears("dev", 9)
	has(t, "first", got[0], "could not be fetched, it took too long")
	has(t, "last", strings.Join(got, "\n"), "could not be fetched, "+errFilesOff.Error(), "Bob: hello")
	if n := st.Count("getFile"); n > 4 {
		t.Errorf("%d files were asked for", n)
	}
	st.secret()
}

func TestPatienceWithFiles(t *testing.T) {
	tune := Config{}.defaults().tune
	f, now := &fileServer{}, time.Now()
	want := func(what string, d time.Duration) {
		t.Helper()
		equal(t, what, f.patience(tune, now), d)
	}
	want("at first", tune.file)
	f.note(true, now)
	want("after a slow one", tune.fileSick)
	f.note(true, now)
	want("after two", 0)
	now = now.Add(tune.filesOff)
	want("a while later", tune.fileSick)
	f.note(true, now)
	want("and slow again", 0)
	now = now.Add(sickFor)
	want("long after", tune.file)
	f.note(false, now)
	want("after a good one", tune.file)
}

// A file that comes is no sign that messages do.
func TestFileIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	s, hub := st.session()
	up := st.Upload("a.txt", []byte("abc"))
	data, err := s.tryFetch(context.Background(), file{ID: up.FileID, Size: 3})
	if err != nil || string(data) != "abc" {
		t.Fatal(data, err)
	}
	s.api.close()
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	if at := st.health().Exchanged; !at.IsZero() {
		t.Errorf("the bridge counts as heard at %v", at)
	}
}

// What strangers and listed people can repeat at will fills no log.
func TestRepeatedLogLines(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	s, hub := st.session()
	defer hub.Close()
	member := func(kind models.ChatMemberType) models.ChatMember { return models.ChatMember{Type: kind} }
	for range 50 {
		s.membership(&models.ChatMemberUpdated{
			Chat: models.Chat{ID: 9, Type: "private"}, From: models.User{ID: 9}, OldChatMember: member("member"), NewChatMember: member("kicked"),
		}, access.Rules{})
	}
	for range 50 {
		s.aside(aside{chat: 5, text: "ids"})
	}
	for _, said := range []string{"removed from a chat, or blocked", "too many wait"} {
		if n := strings.Count(st.log.String(), said); n != 1 {
			t.Errorf("%q is told %d times", said, n)
		}
	}
}

// Who got no code because the disk took none may ask again at once.
func TestCodeFails(t *testing.T) {
	st := newStage(t, botapi.Options{})
	s, hub := st.session()
	defer hub.Close()
	disk := newBrokenDisk(t, "people.")
	who := access.Applicant{ID: "9", Name: "Mal", Chat: "9", Private: true}
	s.offer(who, aside{chat: 9})
	equal(t, "answers", len(s.asides.queue), 0)
	disk.mended.Store(true)
	s.offer(who, aside{chat: 9})
	equal(t, "answers", len(s.asides.queue), 1)
}
