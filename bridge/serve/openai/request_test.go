package openai

import (
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// What of a conversation is new, and what are its instructions.
func TestTalk(t *testing.T) {
	for _, c := range []struct {
		what, shows string
		news        int
		system      string
	}{
		{"the beginning", "user", 1, ""},
		{"it goes on", "user assistant user", 1, ""},
		{"two in a row", "user assistant user user", 2, ""},
		{"an empty answer, in the place of an error", "user assistant user assistant user", 1, ""},
		{"nothing new", "user assistant", 0, ""},
		{"instructions", "system user assistant user developer", 1, "system\n\ndeveloper"},
	} {
		var messages []message
		for role := range strings.FieldsSeq(c.shows) {
			messages = append(messages, message{role, content{{Type: "text", Text: role}}})
		}
		if got := talkOf(messages); len(got.news) != c.news || got.system != c.system {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}

// The names of rooms are valid, and no two conversations share one.
func TestRoomOf(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{
		"5f3c1a4e-9a3b-4f6e-8d3c-0c7a2f3b1d2e", "ada", "Ada", "ADA", "a b", "a-b", "ä", "ö", "../../etc/passwd", "temporary:abc", "local:abc",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66), "-", "_", "\x00", "a\nb", "grace@example.org",
	} {
		name := roomOf(id)
		if !chat.ValidRoom(name) || seen[name] != "" {
			t.Errorf("%q is in room %q, as is %q", id, name, seen[name])
		}
		if seen[name] = id; chat.ValidRoom(id) && name != id {
			t.Errorf("%q is in room %q", id, name)
		}
	}
}

func TestSigner(t *testing.T) {
	for name, want := range map[string]string{"": "", "{{USER_NAME}}": "", "Grace%20Hopper": "Grace_Hopper",
		"Grace Hopper": "Grace_Hopper", "100% Grace": "100%_Grace", "a]b%0A[AGENT:ada": "ab_[AGENT:ada", "Ann": "openai-Ann",
		"a%6En": "openai-ann", "\u200bann": "openai-ann", "Anna": "Anna",
		"Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-darf-öö": "openai-Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-dar"} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("X-OpenWebUI-User-Name", name)
		if got := signer(r, []string{"ann", "Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-darf-öö"}); got != want ||
			want != "" && !chat.ValidName(got) {
			t.Errorf("%q signs as %q, want %q", name, got, want)
		}
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct{ model, user, headers, room string }{
		{"ada", "", "", "api"},
		{"ada", "grace", "", "grace"},
		{"ada", "grace", "X-Session-Id: s1", "s1"},
		{"ada", "grace", "X-Session-Id: s1\nX-OpenWebUI-Chat-Id: c1", "c1"},
		{"ada", "", "X-OpenWebUI-Chat-Id: {{CHAT_ID}}", "api"},
		{"ada/dev", "grace", "X-OpenWebUI-Chat-Id: c1", "dev"},
	} {
		r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
		for h := range strings.Lines(c.headers) {
			name, value, _ := strings.Cut(h, ":")
			r.Header.Set(name, strings.TrimSpace(value))
		}
		if who, room := place(r, request{Model: c.model, User: c.user}); who != "ada" || room != c.room {
			t.Errorf("%+v: %s/%s", c, who, room)
		}
	}
}

// The page's room says what the page says of it.
func TestPage(t *testing.T) {
	var lines []chat.Line
	for line := range strings.Lines(strings.ReplaceAll(lethetest.Blocks(t, "api.md", "room")[0], "␤", "\u2028")) {
		lines = append(lines, chat.Parse([]byte(line)))
	}
	for i, said := range map[int]string{0: "hello", 2: "what is 12*7?"} {
		if got := instructed(lines[:i], "ada", "Be brief.", said); got != lines[i].Text {
			t.Errorf("line %d is %q, want %q", i, lines[i].Text, got)
		}
	}
}

// The answer to an open question stands alone, also where the client's instructions are new, and no other text does.
func TestInstructed(t *testing.T) {
	line := func(name, text string) chat.Line { return chat.Line{Agent: name == "ada", Name: name, Text: text} }
	q := chat.Question{ID: "q3fa9c1", Text: "May I?", Options: []string{"yes", "no"}}
	asked := []chat.Line{line("you", "do it"), line("ada", q.String()), line("ada", "I wait."), line("bob", "hm")}
	for text, alone := range map[string]bool{"yes": true, "2": true, "/stop": true, "hello": false} {
		if got := instructed(asked, "ada", "Be brief.", text); (got == text) != alone {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := instructed(append(asked, line("ada", "Never mind.")), "ada", "Be brief.", "yes"); got == "yes" {
		t.Error("an answer to an old question stands alone")
	}
}
