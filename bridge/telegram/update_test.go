package telegram

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/internal/botapi"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const head = `"message":{"message_id":5,"date":1700000000,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ada"}`
	for _, c := range []struct {
		name, raw string
		id        int64
		kind      string
		text      string // of the message; "-": there is none
		sense     bool
		err       error
	}{
		{"a message", `{"update_id":1,` + head + `,"text":"hi"}}`, 1, "message", "hi", true, nil},
		{"a new kind", `{"update_id":2,"telepathy":{"x":1}}`, 2, "telepathy", "-", true, nil},
		{"a message with a new kind of origin", `{"update_id":3,` + head + `,"text":"hi","forward_origin":{"type":"dream"}}}`, 3, "message", "hi", true, nil},
		{"a message with a new kind of photo", `{"update_id":4,` + head + `,"caption":"hi","photo":{"cubes":[]}}}`, 4, "message", "hi", true, nil},
		{"a number for a text", `{"update_id":5,` + head + `,"text":7}}`, 5, "message", "-", false, nil},
		{"a string for a message", `{"update_id":6,"message":"hi"}`, 6, "message", "-", false, nil},
		{"no id", `{` + head + `}}`, 0, "", "-", false, errNoID},
		{"a string for an id", `{"update_id":"x"}`, 0, "", "-", false, errNoID},
		{"null", `null`, 0, "", "-", false, errNoID},
		{"a list", `[]`, 0, "", "-", false, errNoID},
	} {
		a, err := parse(json.RawMessage(c.raw))
		if err != c.err {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		m, _ := a.message()
		text := "-"
		if m != nil {
			text = m.Text + m.Caption
		}
		if a.ID != c.id || a.Kind != c.kind || text != c.text || err == nil && (a.Err == nil) != c.sense {
			t.Errorf("%s: %d, kind %q, text %q, %v", c.name, a.ID, a.Kind, text, a.Err)
		}
		if a.Err != nil && strings.Contains(a.Err.Error(), "hi") {
			t.Errorf("%s: the words are in %v", c.name, a.Err)
		}
	}
}

// A batch with updates that make no sense: the others are heard, and the offset goes
// behind them all.
func TestOddUpdates(t *testing.T) {
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	s, hub := st.session()
	defer hub.Close()
	message := func(update, words string) json.RawMessage {
		return json.RawMessage(`{"update_id":` + update + `,"message":{"message_id":` + update + `,"date":1700000000,
			"chat":{"id":` + id(dm.ID) + `,"type":"private"},"from":{"id":` + id(ada.ID) + `,"first_name":"Ada"},` + words + `}}`)
	}
	offset, err := s.take(t.Context(), []json.RawMessage{
		message("10", `"text":"one"`), json.RawMessage(`{"update_id":11,"message":"words that are secret"}`), json.RawMessage(`7`),
		message("12", `"text":"two","story":[1]`), message("10", `"text":"one"`),
		message("13", `"text":"three"`),
	})
	if err != nil || offset != 14 {
		t.Errorf("offset %d, %v", offset, err)
	}
	equalAll(t, "room", st.texts("dev"), "Ada: one", "Ada: two", "Ada: three")
	if offset, err := s.take(t.Context(), []json.RawMessage{json.RawMessage(`7`)}); err == nil || offset != 0 {
		t.Errorf("offset %d, %v for a batch without an id", offset, err)
	}
	if log := st.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, "update=11") {
		t.Errorf("log:\n%s", log)
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
		var marks []models.MessageEntity
		for range rapid.IntRange(0, 4).Draw(t, "marks") {
			marks = append(marks, models.MessageEntity{
				Type: "text_link", Offset: rapid.IntRange(-2, 20).Draw(t, "offset"), Length: rapid.IntRange(-2, 20).Draw(t, "length"), URL: "https://x.example",
			})
		}
		got := words(&models.Message{Text: text, Entities: marks})
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
