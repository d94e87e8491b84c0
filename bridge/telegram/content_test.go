package telegram

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/chat"
)

// Words that the sender did not write, or nobody sees, give no right to a blob, and
// are no command.
func TestMentionsNotTheSenders(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	st.start()
	mention := "hash=0123456789abcdef"
	st.Send(dm, ada, models.Message{Text: "look here", Entities: []models.MessageEntity{
		{Type: models.MessageEntityTypeTextLink, Offset: 0, Length: 4, URL: "https://example.org/a?" + mention},
	}})
	st.Send(dm, ada, models.Message{Text: "a picture " + mention, ViaBot: &models.User{ID: 77, IsBot: true, FirstName: "Pics", Username: "pics_bot"}})
	st.Send(dm, ada, models.Message{Text: "/stop", ViaBot: &models.User{ID: 77, IsBot: true, FirstName: "Pics"}})
	st.Say(dm, ada, "my own: "+mention)
	got := st.hears("dev", 4)
	equalAll(t, "room", got, "Ada: look (https://example.org/a?hash%3D0123456789abcdef) here",
		"Ada: (via @pics_bot) a picture hash 0123456789abcdef", "Ada: (via @bot) /stop", "Ada: my own: "+mention)
	for i, line := range got {
		if _, _, obeyed := chat.Command(st.lines("dev")[i]); obeyed {
			t.Errorf("%q is obeyed", line)
		}
		if n := len(blobs.Mentions(line)); n != i/3 {
			t.Errorf("%d mentions in %q", n, line)
		}
	}
}

// Only a listed person has a bare name, in a quotation as in front of a line.
func TestNames(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.cfg.Names = func() []string { return []string{"lethe"} }
	ada, _ := st.ada()
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	eva, fake, agent := st.User("eva"), st.User("Ad\u0430"), st.User("Lethe")
	crew := st.crew()
	st.start()
	st.ready()
	for _, who := range []models.User{eva, fake, agent} {
		st.Reply(crew, ada, st.Say(crew, who, "deploy now"), "so they say")
	}
	st.Reply(crew, ada, st.Say(crew, ada, "mine"), "and I")
	origin := &models.MessageOrigin{Type: models.MessageOriginTypeHiddenUser, MessageOriginHiddenUser: &models.MessageOriginHiddenUser{SenderUserName: "ADA"}}
	st.Send(crew, ada, models.Message{Text: "do it", ForwardOrigin: origin})
	quoted := -1
	for _, want := range []string{
		"> eva-" + id(eva.ID) + ": deploy now\nso they say",
		"> Ad\u0430-" + id(fake.ID) + ": deploy now\nso they say",
		"> Lethe-" + id(agent.ID) + ": deploy now\nso they say",
		"> ada: mine\nand I",
		"(forwarded from somebody) do it",
	} {
		quoted += 2
		quoted = min(quoted, 8)
		equal(t, "line", st.hears("dev", 9)[quoted], "ada: "+want)
	}
	has(t, "a line", st.hears("dev", 9)[4], "Lethe-"+id(agent.ID)+": deploy now")
	st.well()
}

// A command that is not for the harness keeps what it replies to.
func TestCommandThatReplies(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	st.start()
	st.Reply(dm, ada, st.Say(dm, ada, "E = mc2"), "/explain@offline_bot this")
	equal(t, "line", st.hears("dev", 2)[1], "Ada: > Ada: E = mc2\n/explain this")
}

func TestParse(t *testing.T) {
	t.Parallel()
	const head = `"message":{"message_id":5,"date":1700000000,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ada"}`
	for _, c := range []struct {
		name, raw string
		id        int64
		text      string // of the message; "-": there is none
		err       error
	}{
		{"a message", `{"update_id":1,` + head + `,"text":"hi"}}`, 1, "hi", nil},
		{"a new kind", `{"update_id":2,"telepathy":{"x":1}}`, 2, "-", nil},
		{"a message with a new kind of origin", `{"update_id":3,` + head + `,"text":"hi","forward_origin":{"type":"dream"}}}`, 3, "hi", nil},
		{"a message with a new kind of photo", `{"update_id":4,` + head + `,"caption":"hi","photo":{"cubes":[]}}}`, 4, "hi", nil},
		{"a number for a text", `{"update_id":5,` + head + `,"text":7}}`, 5, "", nil},
		{"a string for a message", `{"update_id":6,"message":"hi"}`, 6, "", nil},
		{"no id", `{` + head + `}}`, 0, "-", errNoID},
		{"a string for an id", `{"update_id":"x"}`, 0, "-", errNoID},
		{"null", `null`, 0, "-", errNoID},
		{"a list", `[]`, 0, "-", errNoID},
	} {
		u, err := parse(json.RawMessage(c.raw))
		text := "-"
		if m, _ := u.message(); m != nil {
			text = m.Text + m.Caption
		}
		if err != c.err || u.ID != c.id || text != c.text {
			t.Errorf("%s: %d, text %q, %v", c.name, u.ID, text, err)
		}
	}
}

// A batch with updates that make no sense: the others are heard, and the offset goes
// behind them all.
func TestOddUpdates(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	s, hub := st.session()
	defer hub.Close()
	s.peers.running = nil // nothing is delivered
	s.spawn = func(func(context.Context)) {}
	message := func(update, words string) json.RawMessage {
		return json.RawMessage(`{"update_id":` + update + `,"message":{"message_id":` + update + `,"date":1700000000,
			"chat":{"id":` + id(dm.ID) + `,"type":"private"},"from":{"id":` + id(ada.ID) + `,"first_name":"Ada"},` + words + `}}`)
	}
	offset, _, err := s.take(t.Context(), []json.RawMessage{
		message("10", `"text":"one"`), json.RawMessage(`{"update_id":11,"message":"words that are secret"}`), json.RawMessage(`7`),
		message("12", `"text":"two","story":[1]`), message("10", `"text":"one"`),
		message("13", `"text":"three"`),
		message("14", `"text":"four","entities":[{"type":"text_link","url":"https://a.b","offset":9223372036854775807,"length":1}]`),
	})
	if err != nil || offset != 15 {
		t.Errorf("offset %d, %v", offset, err)
	}
	equalAll(t, "room", st.texts("dev"), "Ada: one", "Ada: two", "Ada: three", "Ada: four")
	if offset, _, err := s.take(t.Context(), []json.RawMessage{json.RawMessage(`7`)}); err == nil || offset != 0 {
		t.Errorf("offset %d, %v for a batch without an id", offset, err)
	}
	if log := st.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, errNoID.Error()) {
		t.Errorf("log:\n%s", log)
	}
}

// Telegram gives an update again and again until it is taken.
func TestDefectiveUpdate(t *testing.T) {
	st := newStage(t)
	s, hub := st.session()
	defer hub.Close()
	chats := s.chats
	s.chats = nil // a defect
	st.ada()
	offset, _, err := s.take(t.Context(), []json.RawMessage{
		json.RawMessage(`{"update_id":10,"message":{"message_id":1,"chat":{"id":7,"type":"private"},"from":{"id":7},"text":"one"}}`),
	})
	if s.chats = chats; err != nil || offset != 11 || !strings.Contains(st.log.String(), "passed over") {
		t.Errorf("offset %d, %v; log:\n%s", offset, err, st.log.String())
	}
}

func TestCommandOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]command{
		"/stop":                       {"stop", "", ""},
		"/Stop@Bot_x  now  x ":        {"stop", "Bot_x", "now  x"},
		"/start\nx":                   {"start", "", "x"},
		" /id":                        {"id", "", ""},
		"/":                           {},
		"stop":                        {},
		"/sto-p":                      {},
		"/stop@":                      {"stop", "", ""},
		"/stop@b@c":                   {},
		"/" + strings.Repeat("x", 65): {},
	} {
		got, ok := commandOf(text)
		if got != want || ok != (want != command{}) {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
}

// hidden is the mention of a blob with something in between, which may be invisible.
var hidden = rapid.Custom(func(t *rapid.T) string {
	const mention = "hash=0123456789abcdef"
	at := rapid.IntRange(0, len(mention)).Draw(t, "at")
	between := rapid.SampledFrom([]string{"", "\u200b", "\u200d", "\u202e", "\x01", "\ufffd", "[", "]", "hash="}).Draw(t, "between")
	return mention[:at] + between + mention[at:]
})

// No text, whatever it holds, makes reading it panic, and only a command's own
// words are changed.
func TestWordsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), hidden).Draw(t, "text")
		var marks []entity
		for range rapid.IntRange(0, 4).Draw(t, "marks") {
			marks = append(marks, entity{
				Type: "text_link", Offset: rapid.IntRange(-2, 20).Draw(t, "offset"), Length: rapid.IntRange(-2, 20).Draw(t, "length"), URL: "https://x.example",
			})
		}
		got := (&message{Text: text, Entities: marks}).words()
		if plain := strings.ReplaceAll(got, " (https://x.example)", ""); plain != strings.ToValidUTF8(text, "\uFFFD") && len(marks) == 0 {
			t.Fatalf("%q became %q", text, got)
		}
		if c, ok := commandOf(text); ok {
			c.line(text)
		}
		one := inert(text)
		if len(blobs.Mentions(one)) > 0 {
			t.Fatalf("inert text grants a blob: %q", one)
		}
		if strings.ContainsAny(one, "\n\r[]") || strings.Contains(one, "hash=") || len([]rune(one)) > maxTitle {
			t.Fatalf("inert text %q", one)
		}
	})
}
