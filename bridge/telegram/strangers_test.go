package telegram

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/bridge/access"
	"lethe/internal/durable"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

var idIn = regexp.MustCompile(`allow (?:-- )?(-?[0-9]+)$`)

// allow has the owner allow the id in a text.
func (st *stage) allow(text, room string) {
	st.t.Helper()
	found := idIn.FindStringSubmatch(text)
	if found == nil {
		st.t.Fatalf("no id in %q", text)
	}
	st.lets(room, found[1])
}

// A stranger: no line, one answer, one line in the log; and once allowed he is
// told, is heard, and hears.
func TestStranger(t *testing.T) {
	st := newStage(t)
	mal := st.User("Mallory")
	dm := st.Private(mal)
	r := st.start()
	for i := range 20 {
		st.Say(dm, mal, fmt.Sprintf("secret words %d", i))
	}
	st.SendPhoto(dm, mal, []byte("jpeg"), "")
	st.Say(dm, mal, "/id")
	st.quiet()
	told := st.sent(dm, 1)[0]
	has(t, "answer", told, "lethe bridge telegram allow "+id(mal.ID))
	if n := st.Count("getFile"); n > 0 {
		t.Errorf("%d files of a stranger were fetched", n)
	}
	if got := st.texts("dev"); len(got) > 0 {
		t.Errorf("a stranger is heard: %q", got)
	}
	log := st.log.String()
	if n := strings.Count(log, "who may not speak"); n != 1 {
		t.Errorf("the denial is logged %d times:\n%s", n, log)
	}
	if strings.Contains(log, "secret words") {
		t.Errorf("the words are in the log:\n%s", log)
	}

	st.allow(told, "ops")
	has(t, "welcome", st.sent(dm, 2)[1], "let in", "room ops")
	st.answers("ops", "hello, newcomer")
	equal(t, "heard", st.sent(dm, 3)[2], "hello, newcomer")
	st.Say(dm, mal, "thanks")
	equalAll(t, "room", st.hears("ops", 2), "lethe: hello, newcomer", "Mallory: thanks")
	st.stop(r)
	st.start()
	st.ready()
	st.quiet()
	st.sent(dm, 3) // not welcomed again

	// Taken back: nothing more goes either way, and what is said meanwhile is not
	// told later.
	people := st.file("people.json")
	before, err := os.ReadFile(people)
	lethetest.Must(t, err)
	st.owner(func(p *access.Policy) error { return p.Revoke(id(mal.ID)) })
	st.within("he is forgotten", func() bool {
		_, err := os.Stat(st.file("peers/" + id(mal.ID) + ".json"))
		return os.IsNotExist(err)
	})
	st.answers("ops", "not for mallory")
	st.Say(dm, mal, "still there?")
	st.quiet()
	if err := durable.WriteFile(people, before, 0o600); err != nil { // as before
		t.Fatal(err)
	}
	st.Say(dm, mal, "back")
	st.within("he is heard", func() bool { return len(st.lines("ops")) == 4 })
	st.answers("ops", "for mallory")
	st.within("he hears", func() bool { return strings.Contains(strings.Join(st.Texts(dm), "\n"), "\nfor mallory") })
	if all := strings.Join(st.Texts(dm), "\n"); strings.Contains(all, "not for mallory") {
		t.Errorf("he was told what was said without him:\n%s", all)
	}
	if all := strings.Join(st.texts("ops"), "\n"); strings.Contains(all, "still there") {
		t.Errorf("he was heard without permission:\n%s", all)
	}
}

// A group that is not listed hears nothing until somebody asks.
func TestStrangeGroup(t *testing.T) {
	st := newStage(t)
	ada := st.ada().User
	bob := st.User("Bob")
	crew := st.Group(models.ChatTypeSupergroup, "Crew")
	st.start()
	st.Say(crew, ada, "hello") // a listed person, in a group that is not
	st.Say(crew, bob, "hello")
	st.quiet()
	if n := len(st.Sent(crew)); n > 0 {
		t.Errorf("%d messages into a strange group", n)
	}
	st.Say(crew, bob, "/start")
	st.Say(crew, bob, "/start@offline_bot")
	st.allow(st.sent(crew, 1)[0], "ops")
	has(t, "welcome", st.sent(crew, 2)[1], "let in", "room ops")
	st.Say(crew, bob, "now?")
	equalAll(t, "room", st.hears("ops", 1), "Bob-"+id(bob.ID)+": now?")
}

// With members = "listed" a listed group is heard as far as its members are listed.
func TestListedMembers(t *testing.T) {
	st := newStage(t)
	ada := st.ada().User
	bob := st.User("Bob")
	crew := st.crew()
	st.cfg.Members = access.MembersListed
	st.start()
	st.Say(crew, bob, "psst")
	st.Say(crew, ada, "hello")
	equalAll(t, "room", st.hears("dev", 1), "Ada: hello")
	st.Say(crew, bob, "/start") // the group is let in already
	private := st.Private(bob)
	st.Say(private, bob, "/start")
	st.allow(st.sent(private, 1)[0], "")
	st.Say(crew, bob, "hello too")
	equal(t, "room", st.hears("dev", 2)[1], "Bob: hello too")
	st.sent(crew, 0)
}

// Strangers cannot make the bot write as much as they like.
func TestManyStrangers(t *testing.T) {
	st := newStage(t)
	st.start()
	var all []botapi.Chat
	for i := range 40 {
		u := st.User(fmt.Sprintf("S%d", i))
		all = append(all, st.Private(u))
		st.Say(all[i], u, "hi")
	}
	st.quiet()
	st.within("the answers went out", func() bool { return st.Count("sendMessage") >= 5 })
	if n := st.Count("sendMessage"); n > 5 {
		t.Errorf("%d answers at once", n)
	}
}

// Other bots are not heard, anonymous administrators and channels are, by the name
// of the chat.
func TestWhoIsNoUser(t *testing.T) {
	st := newStage(t)
	st.ada()
	crew := st.crew()
	news := st.Group(models.ChatTypeChannel, "News of the day")
	st.lets("", id(news.ID))
	st.lets("", "4242 helper")
	group := models.Chat{ID: crew.ID, Type: "supergroup", Title: "Crew"}
	st.start()
	st.ready()
	from := func(u models.User, sender *models.Chat, text string) {
		st.Update("message", models.Message{ID: 1000, Date: 1700000000, Chat: group, From: &u, SenderChat: sender, Text: text})
	}
	from(models.User{ID: 4141, IsBot: true, FirstName: "Spam"}, nil, "buy")
	from(models.User{ID: 4141, IsBot: true, FirstName: "Spam"}, nil, "buy more")
	from(models.User{ID: 4242, IsBot: true, FirstName: "Helper"}, nil, "the build is green")
	from(models.User{ID: 1087968824, IsBot: true, FirstName: "Group"}, &group, "says the admin")
	from(models.User{ID: 136817688, IsBot: true, FirstName: "Channel"},
		&models.Chat{ID: -100777, Type: "channel", Title: "Elsewhere"}, "says a channel")
	st.Send(news, models.User{}, models.Message{Text: "good morning", SenderChat: &models.Chat{ID: news.ID, Title: "News of the day"}})
	equalAll(t, "room", st.hears("dev", 4), "helper: the build is green", "Crew: says the admin", "Elsewhere--100777: says a channel",
		"News_of_the_day: good morning")
	st.quiet()
	if log := st.log.String(); strings.Count(log, "user=4141") != 1 || strings.Contains(log, "buy") {
		t.Errorf("the bot that was not heard is not in the log once, without its words:\n%s", log)
	}
	st.answers("dev", "morning!")
	equal(t, "channel", st.sent(news, 1)[0], "morning!")
}

// While the list cannot be read nothing is decided.
func TestListIsDamaged(t *testing.T) {
	st := newStage(t)
	s, hub := st.session()
	defer hub.Close()
	people := st.file("people.json")
	lethetest.Write(t, people, `{"version":1,"users":[{"id":"7"}],"chats":[]}`)
	hello := update{ID: 1, Message: &message{ID: 1, Chat: models.Chat{ID: 7, Type: "private"}, From: &models.User{ID: 7}, Text: "hello"}}
	if h, err := s.handle(hello, ""); err != nil || h.line == nil {
		t.Errorf("of a listed person: %+v, %v", h, err)
	}
	lethetest.Write(t, people, `{"version":1,"users":[{"id":`)
	if _, err := s.handle(hello, ""); !errors.Is(err, access.ErrPeople) {
		t.Errorf("while the list is damaged: %v", err)
	}
	if err := s.migrated(-6, -1006); !errors.Is(err, access.ErrPeople) {
		t.Errorf("a group moves while the list is damaged: %v", err)
	}
}
