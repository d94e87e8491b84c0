package telegram

import (
	"strings"
	"testing"

	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// A person writes, the agent answers: the line, the answer, and what it quotes. Ready is called
// once, when Telegram has answered.
func TestToAndFro(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	ready := make(chan string, 10)
	st.cfg.Ready = func(bot string) { ready <- bot }
	st.Fault(botapi.Fault{Method: "getMe", Status: 502, Times: 3})
	r := st.start()
	equal(t, "bot", <-ready, "offline_bot")
	equal(t, "commands", st.Count("setMyCommands"), 1)
	asked := ada.says("hello, **who** is there?")
	equalAll(t, "room", st.hears("dev", 1), "Ada: hello, **who** is there?")
	st.answers("dev", "I am, *always*.")
	equalAll(t, "chat", ada.got(1), "I am, always.")
	m := ada.messages()[0]
	if m.ReplyToMessage == nil || m.ReplyToMessage.ID != asked {
		t.Errorf("the answer quotes %+v, not message %d", m.ReplyToMessage, asked)
	}
	if len(m.Entities) != 1 || m.Entities[0].Type != "italic" {
		t.Errorf("entities %+v", m.Entities)
	}
	for _, c := range st.Calls() {
		if c.Method == "sendMessage" && !strings.Contains(c.Params["link_preview_options"], `"is_disabled":true`) {
			t.Errorf("a link would be opened: %v", c.Params)
		}
	}
	st.answers("dev", "one more thing")
	ada.got(2)
	if m := ada.messages()[1]; m.ReplyToMessage != nil {
		t.Errorf("a message is quoted twice")
	}
	lethetest.Must(t, st.stop(r))
	equal(t, "calls of Ready", len(ready), 0)
	equal(t, "state", st.health().State, "stopped")
}

// What was asked may be gone when the answer comes; and a chain of replies in a
// group without topics is no topic.
func TestQuotations(t *testing.T) {
	st := newStage(t)
	ada := st.ada().User
	crew := st.crew()
	st.start()
	first := st.Say(crew, ada, "one")
	st.Reply(crew, ada, first, "two")
	st.hears("dev", 2)
	st.answers("dev", "three")
	st.sent(crew, 1)
	st.Reply(crew, ada, st.Sent(crew)[0].ID, "four")
	st.hears("dev", 4)
	st.answers("dev", "five")
	st.sent(crew, 2)
	for _, c := range st.Calls() {
		if c.Method == "sendMessage" && c.Params["message_thread_id"] != "" {
			t.Errorf("sent to a topic: %v", c.Params)
		}
	}
}
