package rehearsal_test

import (
	"context"
	"lethe/agent/llm/rehearsal"
	"testing"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "日本": 2, "éé": 1, "ééé": 2, "日a": 2, "◆": 1,
	} {
		if n := rehearsal.Tokens(text); n != want {
			t.Errorf("Tokens(%q) = %d, want %d", text, n, want)
		}
	}
}

// The cache that somebody models is told; without one nothing is cached.
func TestUsage(t *testing.T) {
	o := saying(rehearsal.Answer{Text: "four", Calls: []rehearsal.Call{{Name: "LIST", Arguments: "{}"}}})
	for cached := range 2 {
		if cached > 0 {
			o.Cached = func(_ context.Context, r *rehearsal.Request, a rehearsal.Answer) int {
				return len(r.Messages) * len(a.Calls)
			}
		}
		_, url := start(t, o)
		u := send(t, url, request(user("12345678"))).usage
		want := counted{Prompt: 6, Completion: 3, Total: 9, Hit: cached, Miss: 6 - cached}
		if u == nil || *u != want {
			t.Errorf("usage %+v, want %+v", u, want)
		}
	}
}
