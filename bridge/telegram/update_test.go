package telegram

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

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
	st := newStage(t, botapi.Options{})
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
	})
	if err != nil || offset != 14 {
		t.Errorf("offset %d, %v", offset, err)
	}
	equalAll(t, "room", st.texts("dev"), "Ada: one", "Ada: two", "Ada: three")
	if offset, _, err := s.take(t.Context(), []json.RawMessage{json.RawMessage(`7`)}); err == nil || offset != 0 {
		t.Errorf("offset %d, %v for a batch without an id", offset, err)
	}
	if log := st.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, errNoID.Error()) {
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
