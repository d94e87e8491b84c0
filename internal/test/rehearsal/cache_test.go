package rehearsal

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// fill is a text of n tokens that differs by letter.
func fill(letter string, n int) string { return strings.Repeat(letter, 4*n) }

// counted is the usage that a client reads.
type counted struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Hit        int `json:"prompt_cache_hit_tokens"`
	Miss       int `json:"prompt_cache_miss_tokens"`
}

var usageRE = regexp.MustCompile(`(?m)^data: (.*"usage":.*)$`)

// ask sends a request and returns its usage.
func ask(t *testing.T, url string, r obj) counted {
	t.Helper()
	body, err := json.Marshal(with(r, obj{"stream_options": obj{"include_usage": true}}))
	lethetest.Must(t, err)
	res, err := http.Post(url, "application/json", bytes.NewReader(body))
	lethetest.Must(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	lethetest.Must(t, err)
	var last struct{ Usage *counted }
	if m := usageRE.FindSubmatch(raw); m != nil {
		lethetest.Must(t, json.Unmarshal(m[1], &last))
	}
	u := last.Usage
	if u == nil {
		t.Fatalf("no usage: %s", raw)
	}
	if u.Hit+u.Miss != u.Prompt || u.Total != u.Prompt+u.Completion {
		t.Fatalf("usage does not add up: %+v", *u)
	}
	return *u
}

// answering is a model with one answer.
func answering(t *testing.T, a Answer) (url string) {
	server := httptest.NewServer(New(Options{Script: []Step{{Times: -1, Answer: &a}}}))
	t.Cleanup(server.Close)
	return server.URL + "/chat/completions"
}

// scripted answers with 60 tokens, which keeps the sums easy.
func scripted(t *testing.T) (url string) { return answering(t, Answer{Text: fill("z", 60)}) }

// quick is a request without thinking.
func quick(messages ...obj) obj {
	return with(request(messages...), obj{"thinking": obj{"type": "disabled"}})
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

// What is served from the cache ends where a message of an earlier request or its reply did, and is whole blocks.
func TestCacheAppendOnly(t *testing.T) {
	a, b, c := user(fill("a", 196)), user(fill("b", 36)), user(fill("c", 10))
	z := obj{"role": "assistant", "content": fill("z", 60)}
	hits(t, scripted(t), [][2]int{{200, 0}, {304, 256}, {304, 192}, {382, 320}, {382, 320}},
		quick(a),
		quick(a, z, b), // 200 + 64 = 264 tokens with the reply, in blocks 256
		quick(a, obj{"role": "assistant", "content": fill("y", 60)}, b), // which was not said
		quick(a, z, b, z, c),
		quick(a, z, b, z, c),
	)
}

func TestCacheKeys(t *testing.T) {
	url := scripted(t)
	plain := func(more obj) obj { return with(quick(user(fill("a", 196))), more) }
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
	call := Call{Name: "BASH", Arguments: `{"command":"x"}`}
	url := answering(t, Answer{Text: "t", Reasoning: fill("r", 100), Calls: []Call{call}})
	a := user(fill("a", 96))
	ask(t, url, request(a))
	call.ID = "e2_1"
	back := called(call)
	back["content"], back["reasoning_content"] = "t", fill("r", 100)
	// 100 + frame 4 + reasoning 100 + text, name and arguments: 1 + 4 + 15 characters = 209 → 192.
	if u := ask(t, url, request(a, back, result("e2_1", "done"))); u.Hit != 192 {
		t.Errorf("%+v", u)
	}
}
