package telegram

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/internal/test/botapi"
)

// One chat has to wait for long, the other does not notice.
func TestOneChatWaits(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	bob := st.User("Bob")
	st.lets("", id(bob.ID))
	other := st.Private(bob)
	st.start()
	ada.says("hello")
	st.Say(other, bob, "hello")
	st.hears("dev", 2)
	st.Fault(botapi.Fault{Method: "sendMessage", Chat: ada.dm.ID, Status: 429, RetryAfter: 3})
	began := time.Now()
	for i := range 5 {
		st.answers("dev", fmt.Sprintf("answer %d", i))
	}
	st.sent(other, 5)
	told := fmt.Sprintf("waiting to send to peer %d: telegram asks to wait 3s", ada.dm.ID)
	st.within("health tells", func() bool { return st.health().Error == told })
	equal(t, "healthy", st.health().Ailment() == "", true)
	if n := len(ada.messages()); n != 0 && time.Since(began) < 2*time.Second {
		t.Errorf("%d messages to a chat that has to wait", n)
	}
	equalAll(t, "the first", ada.got(5), "answer 0", "answer 1", "answer 2", "answer 3", "answer 4")
	if d := time.Since(began); d < 3*time.Second {
		t.Errorf("it waited %s", d)
	}
	for line := range strings.Lines(st.log.String()) {
		if strings.Contains(line, "asks to wait") && strings.Contains(line, "level=WARN") {
			t.Errorf("the log warns: %s", line)
		}
	}
}

// Every way in which sending fails and is tried again: in order, nothing is lost,
// and the token is nowhere. What the server had taken comes twice, nothing else, and nothing is
// sent in another form: it may have arrived.
func TestSendingFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault botapi.Fault
		twice bool
	}{
		{"502", botapi.Fault{Status: 502, Times: 2}, false},
		{"HTML", botapi.Fault{Kind: botapi.HTML, Status: 502}, false},
		{"HTML with 200", botapi.Fault{Kind: botapi.HTML}, false},
		{"broken", botapi.Fault{Kind: botapi.Reset}, false},
		{"broken after it was taken", botapi.Fault{Kind: botapi.Lost}, true},
		{"truncated", botapi.Fault{Kind: botapi.Truncate}, true},
		{"taken, and the answer of a strange form", botapi.Fault{Kind: botapi.Shape}, false},
		{"hangs", botapi.Fault{Kind: botapi.Hang}, false},
		{"404", botapi.Fault{Status: 404}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStage(t)
			ada := st.ada()
			if c.fault.Kind == botapi.Hang { // a call that is slow for another reason is sent twice
				st.cfg.tune.call = 3 * time.Second
			}
			ada.greets()
			fault := c.fault
			fault.Method = "sendMessage"
			st.Fault(fault)
			st.answers("dev", "**one**")
			st.answers("dev", "*two*")
			want := []string{"one", "two"}
			if c.twice {
				want = []string{"one", "one", "two"}
			}
			equalAll(t, "chat", ada.got(len(want)), want...)
			if slices.Contains(st.modes(), "") {
				t.Errorf("markup was left out: %q", st.modes())
			}
			if n := strings.Count(st.log.String(), "cannot send to telegram"); n > 1 {
				t.Errorf("the log says %d times that nothing can be sent:\n%s", n, st.log)
			}
		})
	}
}

// A message of 4097 units goes in two parts, of which the first quotes; what stands
// in a fence is one in both.
func TestLongMessages(t *testing.T) {
	st, ada := greeted(t)
	long := strings.Repeat("wörds ", 682) + "12345" // 4092 + 5
	st.answers("dev", long)
	parts := ada.got(2)
	if strings.Join(strings.Fields(strings.Join(parts, " ")), " ") != strings.Join(strings.Fields(long), " ") {
		t.Errorf("the parts are not the whole: %q", parts)
	}
	st.answers("dev", "```go\n"+strings.Repeat("x := 1 // 😀\n", 500)+"```")
	st.within("all parts", func() bool { return len(ada.messages()) >= 4 })
	all := ada.messages()
	for i, m := range all {
		if n := Units(m.Text); n > MaxUnits {
			t.Errorf("part %d has %d units", i, n)
		}
		if (m.ReplyToMessage != nil) != (i == 0) {
			t.Errorf("part %d quotes %v", i, m.ReplyToMessage)
		}
		if i >= 2 && (len(m.Entities) != 1 || m.Entities[0].Type != models.MessageEntityTypePre || m.Entities[0].Language != "go") {
			t.Errorf("part %d has %+v", i, m.Entities)
		}
	}
}

// Who has blocked the bot gets what was said when he comes back.
func TestBlocked(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	crew := st.crew()
	ada.greets()
	st.Bar(ada.dm, true)
	st.Bar(crew, true)
	st.answers("dev", "one")
	st.answers("dev", "two")
	st.within("health tells", func() bool { return len(st.health().Unreachable) == 2 })
	equal(t, "waiting", st.health().Out > 0, true)
	st.Bar(ada.dm, false)
	ada.says("I am back")
	equalAll(t, "chat", ada.got(2), "one", "two")
	st.Bar(crew, false)
	st.Say(crew, ada.User, "so am I")
	equalAll(t, "group", st.sent(crew, 2), "one", "two")
	st.within("health tells", func() bool { return len(st.health().Unreachable) == 0 })
}

// The answer goes to the topic that asked; one that is closed or gone stops nothing.
func TestTopics(t *testing.T) {
	st := newStage(t)
	ada := st.ada().User
	crew := st.crew()
	builds, talk := st.Topic(crew, "builds"), st.Topic(crew, "talk")
	st.lets("builds", keyOf(id(crew.ID), builds.Thread))
	st.start()
	general := botapi.Chat{ID: crew.ID}
	inTopic := func(n, thread int) {
		t.Helper()
		all := st.Sent(general)
		if got := all[n].MessageThreadID; got != thread {
			t.Errorf("message %d, %q, is in topic %d, not %d", n, all[n].Text, got, thread)
		}
	}
	st.Say(talk, ada, "one")
	st.hears("dev", 1)
	st.Say(builds, ada, "green?")
	st.hears("builds", 1)
	st.answers("builds", "yes")
	st.sent(general, 1)
	inTopic(0, builds.Thread)
	st.answers("dev", "first")
	st.answers("dev", "and more, unasked")
	st.sent(general, 3)
	inTopic(1, talk.Thread)
	inTopic(2, 0)
	st.Say(talk, ada, "two")
	st.hears("dev", 4)
	st.DeleteTopic(talk) // with its messages
	st.answers("dev", "where are we?")
	st.within("it is in General", func() bool {
		all := st.Sent(general)
		return all[len(all)-1].Text == "where are we?" && all[len(all)-1].MessageThreadID == 0
	})
	st.CloseTopic(builds, true)
	st.answers("builds", "are you there?")
	st.within("health tells", func() bool { return len(st.health().Unreachable) == 1 })
	st.CloseTopic(builds, false)
	st.Say(builds, ada, "yes")
	st.within("it is there", func() bool { return strings.Contains(strings.Join(st.Texts(builds), ""), "are you there?") })
}

// A group becomes a supergroup: permission, route, place in the room and what waits
// go along, also over a restart, by whichever id, or both, it is listed then.
func TestMigration(t *testing.T) {
	for i, told := range []string{"by the service messages", "by the answer to sendMessage", "while nobody listens"} {
		t.Run(told, func(t *testing.T) {
			st := newStage(t)
			ada := st.ada().User
			crew := st.Group(models.ChatTypeGroup, "Crew")
			st.lets("ops", id(crew.ID))
			r := st.start()
			st.Say(crew, ada, "hello")
			st.hears("ops", 1)
			var super botapi.Chat
			switch told {
			case "by the service messages":
				super = st.Migrate(crew)
				st.quiet()
			case "by the answer to sendMessage":
				st.Fault(botapi.Fault{Method: "getUpdates", Status: 502, Times: -1})
				super = st.Migrate(crew)
			default:
				st.stop(r)
				super = st.Migrate(crew)
			}
			st.answers("ops", "hello, crew")
			if told == "while nobody listens" {
				r = st.start()
			}
			equalAll(t, "supergroup", st.sent(super, 1), "hello, crew")
			if st.Sent(super)[0].ReplyToMessage != nil {
				t.Error("it quotes a message of another chat")
			}
			st.ClearFaults()
			st.Say(super, ada, "moved")
			equal(t, "room", st.hears("ops", 3)[2], "Ada: moved")
			st.answers("ops", "I see")
			st.sent(super, 2)
			if st.Sent(super)[1].ReplyToMessage == nil {
				t.Error("it does not quote")
			}
			st.stop(r)
			if i > 0 {
				st.lets("ops", id(super.ID)+" the crew")
			}
			if i == 1 {
				st.owner(func(p *access.Policy) error { return p.Revoke(id(crew.ID)) })
			}
			st.start()
			st.Say(super, ada, "still?")
			st.hears("ops", 5)
			st.answers("ops", "still.")
			equal(t, "after a restart", st.sent(super, 3)[2], "still.")
			equal(t, "messages to the old group", len(st.Sent(crew)), 0)
		})
	}
}

// Names stand in front of what agents say while two listen.
func TestTwoAgents(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.state("idle")
	ada.greets()
	st.answers("dev", "alone")
	ada.got(1)
	st.identity("a2", "no_va*", "idle")
	st.agent("no_va*", "dev", "not any more")
	st.agent("no_va*", "dev", "- a list")
	st.answers("dev", "indeed")
	equalAll(t, "chat", ada.got(4), "alone", "no_va*:\n\nnot any more", "no_va*:\n\n• a list", "lethe:\n\nindeed")
}

// What the words of a refusal mean. A part that cannot be read is refused, not tried for ever.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]string{
		"unreachable": {"chat not found", "not enough rights to send text messages to the chat", "CHAT_WRITE_FORBIDDEN"},
		"markup":      {"can't parse entities: Unexpected end", "ENTITY_BOUNDS_INVALID"},
		"thread":      {"message thread not found", "TOPIC_CLOSED"},
		"":            {"message is too long"},
	} {
		for _, words := range all {
			e, got := &apiError{Code: 400, Description: "Bad Request: " + words}, ""
			for name, list := range map[string][]string{"unreachable": unreachable, "markup": badMarkup, "thread": badThread} {
				if e.says(list) {
					got += name
				}
			}
			equal(t, words, got, want)
		}
	}
	equal(t, "a 500", (&apiError{Code: 500, Description: "Internal Server Error: chat not found"}).says(unreachable), false)
	err := (&session{}).Send(t.Context(), bridge.Peer{Key: "1"}, bridge.Part{Data: []byte("7")})
	if !errors.Is(err, bridge.ErrRefused) {
		t.Errorf("got %v", err)
	}
}
