package telegram

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge/health"
	"lethe/internal/botapi"
	"lethe/internal/lethetest"
)

// An answer that may be to any of several questions quotes none of them, and goes to
// a topic only if all of them were asked there.
func TestSeveralQuestions(t *testing.T) {
	st := newStage(t)
	ada, _ := st.ada()
	bob := st.User("Bob")
	crew := st.crew()
	talk := st.Topic(crew, "talk")
	general := botapi.Chat{ID: crew.ID}
	st.start()
	n := 1 // lines in the room
	says := func(where botapi.Chat, who models.User, text string) {
		t.Helper()
		st.Say(where, who, text)
		st.hears("dev", n)
		n++
	}
	sent := 0
	answer := func(text string, topic int, quotes bool) {
		t.Helper()
		st.answers("dev", text)
		sent++
		n++
		st.sent(general, sent)
		m := st.Sent(general)[sent-1]
		quoted := 0
		if r := m.ReplyToMessage; r != nil && r.ForumTopicCreated == nil { // which all of a topic reply to
			quoted = r.ID
		}
		if m.MessageThreadID != topic || (quoted != 0) != quotes {
			t.Errorf("%q is in topic %d, not %d, and quotes message %d", text, m.MessageThreadID, topic, quoted)
		}
	}
	says(general, bob, "what is 1+1?")
	answer("1+1 = 2", 0, true)
	says(general, bob, "what is 2+2?")
	says(talk, ada, "what is 3+3?")
	answer("2+2 = 4", 0, false)
	says(talk, ada, "and")
	says(talk, ada, "4+4?")
	answer("4+4 = 8", talk.Thread, false)
	says(general, bob, "what is 5+5?")
	answer("5+5 = 10", 0, true)
}

// A bridge that its settings keep from starting is dead, not stopped as it was before.
func TestCouldNotStart(t *testing.T) {
	st := newStage(t)
	st.ada()
	r := st.start()
	st.ready()
	lethetest.Must(t, st.stop(r))
	for what, spoil := range map[string]func(*Config){
		"No Room": func(c *Config) { c.Room = "No Room" }, "the token": func(c *Config) { c.Token = "not:one" },
	} {
		c := st.cfg
		spoil(&c)
		if err := Run(t.Context(), c); err == nil {
			t.Errorf("it ran without %s", what)
		}
		if h := st.health(); h.State != health.Dead || !strings.Contains(h.Error, what) || strings.Contains(h.Error, "not:one") {
			t.Errorf("health %+v", h)
		}
	}
}

// methods are those by which the bridge has tried to send.
func (st *stage) methods() (list []string) {
	for _, c := range st.Calls() {
		if strings.HasPrefix(c.Method, "send") && c.Method != "sendChatAction" {
			list = append(list, c.Method)
		}
	}
	return list
}

// A rich message is the Markdown as it is, in one piece, and quotes like another. What Telegram
// could fetch, or what is too long, goes out as HTML.
func TestRich(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	st.cfg.Rich = true
	st.greeted(dm, ada)
	long := "# A\n\n|a|b|\n|-|-|\n\n" + strings.Repeat("**word** ", 1000) + "end"
	st.answers("dev", long)
	equalAll(t, "chat", st.sent(dm, 1), long)
	if st.Sent(dm)[0].ReplyToMessage == nil {
		t.Error("it quotes nothing")
	}
	st.answers("dev", "![a](https://a.example/b.png)")
	st.answers("dev", "<img src=\"https://a.example/b.png\">")
	equalAll(t, "chat", st.sent(dm, 3)[1:], "a", "<img src=\"https://a.example/b.png\">")
	st.answers("dev", strings.Repeat("x", maxRich+1))
	st.sent(dm, 3+9)
	equal(t, "rich messages", st.Count("sendRichMessage"), 1)
}

// Refused, the same goes out as HTML, in order and once, also where that is held up in between.
// After anything else the rich message is tried again.
func TestRichRefused(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	st.cfg.Rich, st.cfg.tune.call = true, 3*time.Second
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "sendRichMessage", Kind: botapi.Hang},
		botapi.Fault{Method: "sendRichMessage", Status: 400, Description: "Bad Request: can't parse rich message"},
		botapi.Fault{Method: "sendMessage", Kind: botapi.Slow}, botapi.Fault{Method: "sendMessage", RetryAfter: 1})
	st.answers("dev", "**one**\n\n"+strings.Repeat("x", 4095)+"\n\n**end**")
	got := st.sent(dm, 3)
	if got[0] != "one" || !strings.HasPrefix(got[1], "xxx") || got[2] != "end" {
		t.Errorf("%.20q", got)
	}
	for i, m := range st.Sent(dm) {
		if (m.ReplyToMessage != nil) != (i == 0) || i != 1 && len(m.Entities) != 1 {
			t.Errorf("message %d quotes %v, entities %v", i, m.ReplyToMessage, m.Entities)
		}
	}
	if want := append(slices.Repeat([]string{"sendRichMessage"}, 2), slices.Repeat([]string{"sendMessage"}, 4)...); !slices.Equal(st.methods(), want) {
		t.Errorf("methods %q", st.methods())
	}
	st.Fault(botapi.Fault{Method: "sendRichMessage", Status: 404, Description: "Not Found: method not found"})
	st.answers("dev", "two")
	st.answers("dev", "*three*")
	equalAll(t, "chat", st.sent(dm, 5)[3:], "two", "*three*")
}

// modes are the parse modes of the messages that the bridge has tried to send.
func (st *stage) modes() (list []string) {
	for _, c := range st.Calls() {
		if c.Method == "sendMessage" {
			list = append(list, c.Params["parse_mode"])
		}
	}
	return list
}

// Markup that Telegram refuses: the same text, plain, with the targets of its links.
func TestMarkupRefused(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: can't parse entities: unsupported entity"})
	st.answers("dev", "**bold** _words_ [here](https://a.example/)")
	equal(t, "text", st.sent(dm, 1)[0], "bold words here (https://a.example/)")
	m := st.Sent(dm)[0]
	if len(m.Entities) > 0 || m.ReplyToMessage == nil {
		t.Errorf("sent %+v", m)
	}
	equalAll(t, "modes", st.modes(), "HTML", "")
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: message is too ugly"})
	st.answers("dev", "ugly")
	st.answers("dev", "after it")
	equal(t, "text", st.sent(dm, 2)[1], "after it")
	has(t, "log", st.log.String(), "too ugly")
}

// Parts that an earlier program has cut and recorded are sent as they were cut.
func TestRecordedParts(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	st.stop(st.greeted(dm, ada))
	path := st.file("peers/" + id(dm.ID) + ".json")
	data, err := os.ReadFile(path)
	lethetest.Must(t, err)
	first, _, _ := strings.Cut(string(data), "\n")
	first = strings.TrimSuffix(first, "}") + `,"line":{"room":"dev","from":0,"to":0,"parts":[{"data":{"text":"gone"},"state":"sent","receipt":"7"},` +
		`{"data":{"text":"an <b> & old","html":"<b>an</b> &lt;b&gt; &amp; old"}},{"data":{"text":"end"}}]}}` + "\n"
	lethetest.Must(t, os.WriteFile(path, []byte(first), 0o600))
	st.start()
	equalAll(t, "chat", st.sent(dm, 2), "an <b> & old", "end")
	if m := st.Sent(dm)[0]; len(m.Entities) != 1 || m.Entities[0].Type != models.MessageEntityTypeBold {
		t.Errorf("entities %+v", m.Entities)
	}
}
