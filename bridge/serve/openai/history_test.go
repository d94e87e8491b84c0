package openai

import (
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/lethetest"
)

// room makes lines of a room: "you: hello".
func room(said ...string) (lines []chat.Line) {
	for _, s := range said {
		name, text, _ := strings.Cut(s, ": ")
		lines = append(lines, chat.Line{Agent: name == "ada" || name == "cron-brief", Tagged: true, Name: name, Text: text})
	}
	return lines
}

// shown makes a conversation of a client, the user first.
func shown(said ...string) (t talk) {
	for i, text := range said {
		t.said = append(t.said, message{[]string{"user", "assistant"}[i%2], content{{Type: "text", Text: text}}})
	}
	return t
}

// What of a conversation is new, whether it goes on where the room ends, and what it shows beside.
func TestNews(t *testing.T) {
	talked := []string{"you: one", "ada: first answer", "you: two", "ada: second answer\nof two lines"}
	const since, none = "nothing of what was said here since", "none of your answers"
	for _, c := range []struct {
		what   string
		room   []string
		one    bool
		shows  []string
		said   string // the new ones, joined
		others int
		note   string
	}{
		{what: "the beginning", one: true, shows: []string{"one"}, said: "one"},
		{what: "it goes on", room: talked, shows: []string{"one", "first answer", "two", "second answer\nof two lines", "three"}, said: "three"},
		{what: "trimmed and wrapped", room: talked, shows: []string{"one", "first answer", "two", " second  answer of two lines", "three"}, said: "three"},
		{what: "with its reasoning", room: talked, shows: []string{"two", "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\n> hm\n</details>\nsecond answer\nof two lines", "three"}, said: "three"},
		{what: "a client that shortens what it resends", room: talked, shows: []string{"two", "second answer\nof two lines", "three"}, said: "three"},
		{what: "stopped in the middle", room: talked, shows: []string{"two", "second ans", "three"}, said: "three"},
		{what: "what stood beside calls", room: talked, shows: []string{"two", "I look.\n\nsecond answer\nof two lines", "three"}, said: "three"},
		{what: "an error in the place of an answer", room: append(talked[:2:2], "you: two", "ada: The model refuses: no money. I wait."), shows: []string{"one", "first answer", "two", "", "three"}, said: "three"},
		{what: "nothing in the place of an answer", room: talked, shows: []string{"two", "", "three"}, said: "three"},
		{what: "asked again", room: talked, shows: []string{"one", "first answer", "two"}, said: "two", note: since},
		{what: "the first one asked again", room: talked, one: true, shows: []string{"one"}, said: "one", note: none},
		{what: "one of many single questions", room: talked, shows: []string{"one"}, said: "one"},
		{what: "an edited answer", room: talked, shows: []string{"one", "first answer", "two", "another answer", "three"}, said: "three", others: 2, note: since},
		{what: "a conversation of another model", room: talked, shows: []string{"x", "y", "three"}, said: "three", others: 2, note: none},
		{what: "a conversation of another model in a new room", shows: []string{"x", "y", "three"}, said: "three", others: 2},
		{what: "somebody else said something, too", room: append(talked[:4:4], "bob: hm", "cron-brief: it is nine"), shows: []string{"two", "second answer\nof two lines", "three"}, said: "three"},
	} {
		p := pastOf(room(c.room...), "ada")
		n := p.news(shown(c.shows...), c.one)
		var said []string
		for _, m := range n.said {
			said = append(said, m.Content.text())
		}
		notes := strings.Join(n.notes, " ")
		if strings.Join(said, "+") != c.said || len(n.others) != c.others || (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: says %q, others %d, notes %q", c.what, said, len(n.others), notes)
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
	for name, want := range map[string]string{"": "", "{{USER_NAME}}": "", "Grace%20Hopper": "Grace_Hopper", "Grace Hopper": "Grace_Hopper", "100% Grace": "100%_Grace", "a]b%0A[AGENT:ada": "ab_[AGENT:ada", "Ann": "openai-Ann", "a%6En": "openai-ann", "\u200bann": "openai-ann", "Anna": "Anna",
		"Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-darf-öö": "openai-Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-dar"} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("X-OpenWebUI-User-Name", name)
		if got := signer(r, []string{"ann", "Wörter-die-so-lang-sind-wie-ein-Name-überhaupt-sein-darf-öö"}); got != want || want != "" && !chat.ValidName(got) {
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
		if who, room, _ := place(r, request{Model: c.model, User: c.user}); who != "ada" || room != c.room {
			t.Errorf("%+v: %s/%s", c, who, room)
		}
	}
}

// The page's room says what the page says of it.
func TestPage(t *testing.T) {
	var lines []chat.Line
	for line := range strings.Lines(strings.ReplaceAll(lethetest.Blocks(t, "openai.md", "room")[0], "␤", "\u2028")) {
		lines = append(lines, chat.Parse([]byte(line)))
	}
	p := pastOf(lines[:2], "ada")
	if lines[0].Text != (past{system: "none"}).instructions("Be brief.")+"\n\nhello" || p.instructions("Be brief.") != "" {
		t.Errorf("the first line is %q, want %q", lines[0].Text, (past{system: "none"}).instructions("Be brief."))
	}
	n := pastOf(lines[:4], "ada").news(shown("hello", "Hello, grace.", "what is 12*8?"), true)
	if got := strings.Join(append(n.notes, n.said[0].Content.text()), "\n\n"); got != lines[4].Text {
		t.Errorf("the last line is %q, want %q", lines[4].Text, got)
	}
}
