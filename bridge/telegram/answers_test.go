package telegram

import (
	"strings"
	"testing"

	"lethe/bridge"
	"lethe/internal/botapi"
)

// An answer that may be to any of several questions quotes none of them, and goes to
// a topic only if all of them were asked there.
func TestSeveralQuestions(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, _ := st.ada()
	bob := st.User("Bob", "")
	crew := st.crew(ada, bob)
	talk := st.Topic(crew, "talk")
	general := botapi.Chat{ID: crew.ID}
	st.start()
	n := 1 // lines in the room
	says := func(where botapi.Chat, who botapi.User, text string) {
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
	st.well()
}

// A bridge that its settings keep from starting is dead, not stopped as it was before.
func TestCouldNotStart(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	st.ada()
	r := st.start()
	st.ready()
	if err := st.stop(r); err != nil {
		t.Fatal(err)
	}
	c := st.cfg
	c.Home, c.Room = st.home, "No Room"
	if err := Run(t.Context(), c); err == nil {
		t.Fatal("it ran in a room that cannot be")
	}
	if h := st.health(); h.State != bridge.Dead || !strings.Contains(h.Error, "No Room") {
		t.Errorf("health %+v", h)
	}
	c = st.cfg
	c.Home, c.Token = st.home, "not:one"
	if err := Run(t.Context(), c); err == nil {
		t.Fatal("it ran without a token")
	}
	if h := st.health(); h.State != bridge.Dead || !strings.Contains(h.Error, "token") || strings.Contains(h.Error, c.Token) {
		t.Errorf("health %+v", h)
	}
}
