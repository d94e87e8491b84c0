package telegram

import (
	"os"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// An answer that may be to any of several questions quotes none of them, and goes to
// a topic only if all of them were asked there.
func TestSeveralQuestions(t *testing.T) {
	st := newStage(t)
	ada := st.ada().User
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
		if h := st.health(); h.State != bridge.Dead || !strings.Contains(h.Error, what) || strings.Contains(h.Error, "not:one") {
			t.Errorf("health %+v", h)
		}
	}
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
	st, ada := greeted(t)
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: can't parse entities: unsupported entity"})
	st.answers("dev", "**bold** _words_ [here](https://a.example/)")
	equal(t, "text", ada.got(1)[0], "bold words here (https://a.example/)")
	m := ada.messages()[0]
	if len(m.Entities) > 0 || m.ReplyToMessage == nil {
		t.Errorf("sent %+v", m)
	}
	equalAll(t, "modes", st.modes(), "HTML", "")
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: message is too ugly"})
	st.answers("dev", "ugly")
	st.answers("dev", "after it")
	equal(t, "text", ada.got(2)[1], "after it")
	has(t, "log", st.log.String(), "too ugly")
}

// Parts that an earlier program has cut and recorded are sent as they were cut.
func TestRecordedParts(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.stop(ada.greets())
	path := st.file("peers/" + id(ada.dm.ID) + ".json")
	data, err := os.ReadFile(path)
	lethetest.Must(t, err)
	first, _, _ := strings.Cut(string(data), "\n")
	first = strings.TrimSuffix(first, "}") +
		`,"line":{"room":"dev","from":0,"to":0,"parts":[{"data":{"text":"gone"},"state":"sent","receipt":"7"},` +
		`{"data":{"text":"an <b> & old","html":"<b>an</b> &lt;b&gt; &amp; old"}},{"data":{"text":"end"}}]}}` + "\n"
	lethetest.Write(t, path, first)
	st.start()
	equalAll(t, "chat", ada.got(2), "an <b> & old", "end")
	if m := ada.messages()[0]; len(m.Entities) != 1 || m.Entities[0].Type != models.MessageEntityTypeBold {
		t.Errorf("entities %+v", m.Entities)
	}
}
