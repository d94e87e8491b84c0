package botapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
)

// world makes a request to the people's side.
func (f *fixture) world(verb, path, body string) reply {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), verb, f.url+"/world/"+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	a, err := f.do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

func (f *fixture) act(what, body string) map[string]int64 {
	f.t.Helper()
	a := f.world("POST", what, body)
	got := map[string]int64{}
	if a.HTTP != 200 {
		f.t.Fatalf("%s %s: %d %s", what, body, a.HTTP, a.Body)
	}
	_ = json.Unmarshal([]byte(a.Body), &got) // true is no map
	return got
}

func TestControlTalk(t *testing.T) {
	f := start(t, Options{})
	said := f.act("say", `{"user":"ada","text":"hello"}`)
	if m := f.next().Message; m.Text != "hello" || m.From.Username != "ada" || m.Chat.Type != "private" || int64(m.ID) != said["message_id"] || m.Chat.ID != said["chat_id"] {
		t.Errorf("%+v, said %v", m, said)
	}
	f.act("say", `{"user":"ADA","text":"again","reply":1}`)
	if m := f.next().Message; m.From.ID != said["user_id"] || m.ReplyToMessage.ID != 1 {
		t.Errorf("%+v", m)
	}
	f.act("edit", `{"user":"ada","message":1,"text":"hullo"}`)
	if u := f.next(); u.EditedMessage == nil || u.EditedMessage.Text != "hullo" {
		t.Errorf("%+v", u)
	}
	there := f.act("say", `{"user":"bob","chat":"Crew","topic":"builds","text":"in a topic"}`)
	f.next() // the topic's creation
	if a := f.ask("getChatMember", object{"chat_id": there["chat_id"], "user_id": there["user_id"]}); !strings.Contains(a.Body, `"status":"member"`) {
		t.Errorf("%s", a.Body)
	}
	if m := f.next().Message; m.Text != "in a topic" || m.Chat.Title != "Crew" || int64(m.MessageThreadID) != there["message_thread_id"] {
		t.Errorf("%+v", m)
	}
	if again := f.act("say", `{"user":"ada","chat":"Crew","topic":"builds","text":"me too"}`); again["chat_id"] != there["chat_id"] || again["message_thread_id"] != there["message_thread_id"] {
		t.Errorf("%v %v", there, again)
	}
	f.next()
	for as, got := range map[string]func(*models.Message) string{
		"document": func(m *models.Message) string { return m.Document.FileID },
		"photo":    func(m *models.Message) string { return m.Photo[1].FileID },
		"voice":    func(m *models.Message) string { return m.Voice.FileID },
	} {
		f.act("send", `{"user":"ada","as":"`+as+`","name":"a","mime":"text/plain","data":"aGk="}`)
		if data := f.fetch(got(f.next().Message)); string(data) != "hi" {
			t.Errorf("%s: %q", as, data)
		}
	}
	f.act("block", `{"user":"ada"}`)
	f.refused(f.ask("sendMessage", object{"chat_id": said["chat_id"], "text": "x"}), 403, "Forbidden: bot was blocked by the user")
	f.act("unblock", `{"user":"ada"}`)
	f.well()
}

func TestControlLists(t *testing.T) {
	f := start(t, Options{})
	chat := f.act("say", `{"user":"ada","text":"hello"}`)["chat_id"]
	if a := f.world("GET", "sent?user=ada", ""); a.Body != "[]" {
		t.Errorf("%s", a.Body)
	}
	f.ask("sendChatAction", object{"chat_id": chat, "action": "typing"})
	late := make(chan reply, 1)
	go func() { late <- f.world("GET", "sent?user=ada&wait=the+%22answer%22&timeout=30s", "") }()
	f.ask("sendMessage", object{"chat_id": chat, "text": "no"})
	f.ask("sendMessage", object{"chat_id": chat, "text": `the "answer"`})
	var list []models.Message
	if a := <-late; json.Unmarshal([]byte(a.Body), &list) != nil || len(list) != 2 || list[1].Text != `the "answer"` {
		t.Errorf("%s", a.Body)
	}
	for path, want := range map[string]string{
		"messages?user=ada":         `"text":"hello"`,
		"actions?user=ada":          `"typing"`,
		"calls?method=sendMessage":  `"text":"no"`,
		"violations":                "[]",
		"messages?user=ada&wait=no": `"text":"no"`,
	} {
		if a := f.world("GET", path, ""); a.HTTP != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	if a := f.world("GET", "calls?method=getMe", ""); a.Body != "[]" {
		t.Errorf("%s", a.Body)
	}
	begun := time.Now()
	if a := f.world("GET", "sent?user=ada&wait=never&timeout=20ms", ""); a.HTTP != 408 || time.Since(begun) < 20*time.Millisecond {
		t.Errorf("%+v", a)
	}
	f.ask("getUpdates", object{"limit": 1000})
	if a := f.world("GET", "violations", ""); !strings.Contains(a.Body, "limit 1000") {
		t.Errorf("%s", a.Body)
	}
}

func TestControlFaults(t *testing.T) {
	f := start(t, Options{})
	f.act("fault", `{"method":"getMe","status":502,"kind":"html","times":2}`)
	f.act("fault", `{"method":"getMe","kind":"slow","wait":"20ms","after":false,"for":"1h"}`)
	for _, want := range []int{502, 502, 200, 200} {
		if a := f.ask("getMe", object{}); a.HTTP != want {
			t.Errorf("%+v", a)
		}
	}
	f.act("calm", `{}`)
	if f.FaultsLeft() != 0 {
		t.Error("not calm")
	}
	f.act("fault", `{"retry_after":5}`)
	f.refused(f.ask("getMe", object{}), 429, "Too Many Requests: retry after 5")
}

func TestControlMistakes(t *testing.T) {
	f := start(t, Options{})
	f.act("say", `{"user":"ada","text":"hello"}`)
	for _, c := range [][3]string{
		{"POST", "say", `{"text":"x"}`},
		{"POST", "say", `{"usr":"ada"}`},
		{"POST", "say", `not json`},
		{"POST", "say", `{"user":"ada","topic":"builds","text":"x"}`},
		{"POST", "say", `{"chat":"Crew","text":"x"}`},
		{"POST", "edit", `{"user":"ada","message":99,"text":"x"}`},
		{"POST", "send", `{"user":"ada","as":"film"}`},
		{"POST", "fault", `{"kind":"flood"}`},
		{"POST", "fault", `{"wait":"soon"}`},
		{"POST", "dance", `{"user":"ada"}`},
		{"GET", "sent", ""},
		{"GET", "dance?user=ada", ""},
		{"GET", "sent?user=ada&wait=x&timeout=soon", ""},
		{"PUT", "say", `{"user":"ada","text":"x"}`},
	} {
		if a := f.world(c[0], c[1], c[2]); a.HTTP != 400 || strings.TrimSpace(a.Body) == "" {
			t.Errorf("%v: %d %s", c, a.HTTP, a.Body)
		}
	}
	if f.act("say", `{"user":"ada","text":"still alive"}`)["message_id"] != 2 {
		t.Error("a mistake made a message")
	}
}
