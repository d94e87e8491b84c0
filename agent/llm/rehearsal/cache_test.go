package rehearsal

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "日本": 2, "éé": 1, "ééé": 2, "日a": 2, "◆": 1,
	} {
		if n := Tokens(text); n != want {
			t.Errorf("Tokens(%q) = %d, want %d", text, n, want)
		}
	}
}

// fill is a text of n tokens that differs by letter.
func fill(letter string, n int) string { return strings.Repeat(letter, 4*n) }

// ask sends a request without thinking and returns its usage.
func ask(t *testing.T, url string, r obj) counted {
	t.Helper()
	g := send(t, url, with(r, obj{"thinking": obj{"type": "disabled"}}))
	if g.usage == nil {
		t.Fatalf("no usage: %s", g.raw)
	}
	if u := *g.usage; u.Hit+u.Miss != u.Prompt || u.Total != u.Prompt+u.Completion {
		t.Fatalf("usage does not add up: %+v", u)
	}
	return *g.usage
}

// hits sends requests, and checks their sizes and how much of each was cached.
func hits(t *testing.T, url string, want [][2]int, requests ...obj) {
	t.Helper()
	for i, r := range requests {
		if u := ask(t, url, r); u.Prompt != want[i][0] || u.Hit != want[i][1] || u.Completion != 60 {
			t.Errorf("request %d: %+v, want %d", i, u, want[i])
		}
	}
}

// A scripted answer of 60 tokens (and no reasoning) keeps the sums easy.
func scripted() Options {
	return saying(Answer{Text: fill("z", 60)})
}

// What is served from the cache ends where a message of an earlier request or its reply did, and is whole blocks.
func TestCacheAppendOnly(t *testing.T) {
	_, url := start(t, scripted())
	a, b, c := user(fill("a", 196)), user(fill("b", 36)), user(fill("c", 10))
	z := obj{"role": "assistant", "content": fill("z", 60)}
	hits(t, url, [][2]int{{200, 0}, {304, 256}, {304, 192}, {382, 320}, {382, 320}},
		request(a),
		request(a, z, b), // 200 + 64 = 264 tokens with the reply, in blocks 256
		request(a, obj{"role": "assistant", "content": fill("y", 60)}, b), // which was not said
		request(a, z, b, z, c),
		request(a, z, b, z, c),
	)
}

func TestCacheKeys(t *testing.T) {
	_, url := start(t, scripted())
	m := user(fill("a", 196))
	plain := func(more obj) obj { return with(request(m), more) }
	requests := []obj{
		plain(nil),
		plain(obj{"user_id": "ada"}),
		plain(obj{"max_tokens": 1000}),
		plain(obj{"model": "deepseek-flash"}),
		plain(obj{"tools": tools("A", "B")}),
		plain(obj{"tools": tools("B", "A")}),
	}
	for i, r := range requests {
		if u := ask(t, url, r); u.Hit != 0 {
			t.Errorf("request %d: %d cached, but it is another prefix", i, u.Hit)
		}
		if u := ask(t, url, r); u.Hit != u.Prompt/blockTokens*blockTokens {
			t.Errorf("request %d again: %d of %d cached", i, u.Hit, u.Prompt)
		}
	}
}

func TestCacheIgnoresCallIDs(t *testing.T) {
	_, url := start(t, saying(Answer{Text: "t", Reasoning: fill("r", 100), Calls: []Call{{Name: "BASH", Arguments: `{"command":"x"}`}}}))
	a := user(fill("a", 96))
	g := send(t, url, request(a))
	back := called(Call{"e2_1", "BASH", `{"command":"x"}`})
	back["content"], back["reasoning_content"] = g.text, g.reasoning
	g = send(t, url, request(a, back, result("e2_1", "done")))
	// 100 + frame 4 + reasoning 100 + text, name and arguments: 1 + 4 + 15 characters = 209 → 192.
	if g.usage.Hit != 192 {
		t.Errorf("%+v", *g.usage)
	}
}
