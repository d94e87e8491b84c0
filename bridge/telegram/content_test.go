package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/bridge"
	_ "lethe/internal/test/seed"
)

// What a message becomes in the room. Words that the sender did not write, or nobody sees, give no
// right to a blob and are no command, also where they came in a way that the bridge does not know.
func TestLines(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.start()
	const mention = "hash=0123456789abcdef"
	link := func(offset int, url string) string {
		return fmt.Sprintf(`{"type":"text_link","offset":%d,"length":4,"url":%q}`, offset, url)
	}
	var want []string
	for i, c := range [][2]string{
		{`"text":"my own: ` + mention + `"`, "my own: " + mention},
		{`"text":"look here","entities":[` + link(0, "https://example.org/a?"+mention) + `]`,
			"look (https://example.org/a?hash%3D0123456789abcdef) here"},
		{`"text":"here and here","entities":[` + link(0, "https://a.example/x") + `,` + link(9, "https://b.example/") + `]`,
			"here (https://a.example/x) and here (https://b.example/)"},
		{`"text":"a picture ` + mention + `","via_bot":{"id":77,"is_bot":true,"username":"pics_bot"}`,
			"(via @pics_bot) a picture hash 0123456789abcdef"},
		{`"text":"/stop","via_bot":{"id":77,"is_bot":true}`, "(via @bot) /stop"},
		{`"text":"/stop","via_bot":["of tomorrow"]`, "(via @bot) /stop"},
		{`"text":"/stop ` + mention + `","forward_origin":{"type":"user","sender_user":{"id":9,"first_name":"Carol","last_name":"C"}}`,
			"(forwarded from Carol_C-9) /stop hash 0123456789abcdef"},
		{`"text":"/stop","forward_origin":{"type":"hidden_user","sender_user_name":"some[one]"}`, "(forwarded from somebody) /stop"},
		{`"text":"/stop","forward_origin":{"type":"chat","sender_chat":{"id":-8,"title":"Board"}}`, "(forwarded from Board--8) /stop"},
		{`"text":"/id","forward_origin":{"type":"channel","chat":{"id":-100,"title":"News"}}`, "(forwarded from News--100) /id"},
		{`"text":"` + mention + `","forward_origin":{"type":"dream","date":1}`, "(forwarded from somebody) hash 0123456789abcdef"},
		{`"text":"not forwarded","forward_origin":null,"story":[1]`, "not forwarded"},
		{`"forward_origin":{"type":"dream"},"text":"a dream"`, "(forwarded from somebody) a dream"}, // in Telegram's order
		{`"external_reply":{"origin":{"type":"dream","date":1}},"chat_background_set":{"type":{"type":"dream"}},"text":"a dream"`,
			"a dream"},
		{`"entities":[{"type":["bold"],"offset":"0"}],"quote":[1],"location":"here","text":"of tomorrow"`, "of tomorrow"},
		{`"paid_media":{"star_count":1,"paid_media":[{"type":"dream"}]}`,
			"[something that is not passed on: a poll, a story, a game, a checklist, paid media or the like]"},
		{`"venue":{"title":"Café","address":"Main St 1","location":{"latitude":59.5,"longitude":-18.25}},"location":{"latitude":1}`,
			"[venue Café, Main St 1, at 59.500000, -18.250000]"},
		{`"location":{"latitude":1,"longitude":2,"live_period":60}`, "[location 1.000000, 2.000000]"},
		{`"contact":{"first_name":"Eve]\n/stop","phone_number":"+1"}`, "[contact Eve) /stop +1]"},
		{`"poll":{"question":"When?","options":[{"text":"now"},{"text":"later"}]}`,
			"[something that is not passed on: a poll, a story, a game, a checklist, paid media or the like]"},
		{`"story":{}`, "[something that is not passed on: a poll, a story, a game, a checklist, paid media or the like]"},
		{`"pinned_message":{"message_id":1}`, ""}, {`"new_chat_title":"x"`, ""}, {`"text":" "`, ""},
	} {
		st.Update("message", json.RawMessage(fmt.Sprintf(`{"message_id":%d,"date":1700000000,"chat":{"id":%d,"type":"private"},
			"from":{"id":%[2]d,"first_name":"Ada"},%[3]s}`, 900+i, ada.dm.ID, c[0])))
		if c[1] != "" {
			want = append(want, "Ada: "+c[1])
		}
	}
	ada.replies(ada.says("E = mc2"), "/explain@offline_bot this") // a command that is not for the harness
	want = append(want, "Ada: E = mc2", "Ada: > Ada: E = mc2\n/explain this")
	equalAll(t, "room", st.hears("dev", len(want)), want...)
	for i, l := range st.lines("dev") {
		if obeyed := l.Command != ""; obeyed || (len(blobs.Mentions(l.Text)) > 0) != (i == 0) {
			t.Errorf("%q: obeyed %v, names %v", l.Text, obeyed, blobs.Mentions(l.Text))
		}
	}
}

// A batch with updates that make no sense, or that a defect meets: the others are heard, and the
// offset goes behind them all, since Telegram gives an update again and again until it is taken.
func TestOddUpdates(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	s, hub := st.session()
	defer hub.Close()
	s.running = nil // nothing is delivered
	s.spawn = func(func(context.Context)) {}
	message := func(update, words string) json.RawMessage {
		return json.RawMessage(`{"update_id":` + update + `,"message":{"message_id":` + update + `,"date":1700000000,
			"chat":{"id":` + id(ada.dm.ID) + `,"type":"private"},"from":{"id":` + id(ada.ID) + `,"first_name":"Ada"},` + words + `}}`)
	}
	take := func(next int64, batch ...json.RawMessage) {
		t.Helper()
		updates, err := s.readUpdates(batch)
		if (err == nil) != (next != 0) {
			t.Errorf("%s: %v", batch, err)
		}
		if offset, _, err := s.take(t.Context(), updates); offset != next || err != nil {
			t.Errorf("offset %d, not %d; %v", offset, next, err)
		}
	}
	take(15,
		message("10", `"text":"one"`), json.RawMessage(`{"update_id":11,"message":"words that are secret"}`), json.RawMessage(`7`),
		message("12", `"text":"two","story":[1]`), message("10", `"text":"one"`),
		message("13", `"text":"three"`),
		message("14", `"text":"four","entities":[{"type":"text_link","url":"https://a.b","offset":9223372036854775807,"length":1}]`),
	)
	equalAll(t, "room", st.texts("dev"), "Ada: one", "Ada: two", "Ada: three", "Ada: four")
	take(0, json.RawMessage(`7`))
	known := s.chats
	s.chats = nil // a defect
	take(21, message("20", `"text":"five"`))
	s.chats = known
	has(t, "log", st.log.String(), "an update has no id", "update=20")
	if strings.Contains(st.log.String(), "secret") {
		t.Errorf("log:\n%s", st.log)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const head = `"message":{"message_id":5,"date":1700000000,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ada"}`
	for raw, want := range map[string]string{ // the id and the text of the message; "": it has no id
		`{"update_id":1,` + head + `,"text":"hi"}}`:                         "1 hi",
		`{"update_id":2,"telepathy":{"x":1}}`:                               "2",
		`{"update_id":4,` + head + `,"caption":"hi","photo":{"cubes":[]}}}`: "4 hi",
		`{"update_id":5,` + head + `,"text":7}}`:                            "5 ",
		`{"update_id":6,"message":"hi"}`:                                    "6 ",
		`{` + head + `}}`:                                                   "",
		`{"update_id":"x"}`:                                                 "",
		`null`:                                                              "",
		`[]`:                                                                "",
	} {
		u, ok := parse(json.RawMessage(raw))
		got := ""
		if ok {
			got = id(u.ID)
		}
		if m, _ := u.message(); ok && m != nil {
			got += " " + m.Text + m.Caption
		}
		equal(t, raw, got, want)
	}
}

func TestCommandOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]command{
		"/stop":                       {"stop", "", ""},
		"/Stop@Bot_x  now  x ":        {"stop", "Bot_x", "now  x"},
		"/start\nx":                   {"start", "", "x"},
		"/start\u2028x":               {"start", "", "x"},
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

// No text, whatever it holds, makes reading it panic, and what others chose stays inert.
func TestWordsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), hidden).Draw(t, "text")
		var marks []models.MessageEntity
		for range rapid.IntRange(0, 4).Draw(t, "marks") {
			marks = append(marks, models.MessageEntity{
				Type: "text_link", Offset: rapid.IntRange(-2, 20).Draw(t, "offset"), Length: rapid.IntRange(-2, 20).Draw(t, "length"),
				URL: "https://x.example",
			})
		}
		got := wordsOf(&message{Text: text, Entities: marks})
		if len(marks) == 0 && got != strings.ToValidUTF8(text, "\uFFFD") {
			t.Fatalf("%q became %q", text, got)
		}
		if c, ok := commandOf(text); ok {
			(&draft{words: text}).asCommand(c)
		}
		one := bridge.Inert(text)
		if len(blobs.Mentions(one)) > 0 || strings.ContainsAny(one, "\n\r[]") || strings.Contains(one, "hash=") ||
			len([]rune(one)) > bridge.MaxQuote {
			t.Fatalf("inert text %q", one)
		}
	})
}
