package rehearsal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
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

// hits sends requests and returns the cached tokens of each. A scripted answer
// of 60 tokens (and no reasoning) keeps the sums easy.
func hits(t *testing.T, url string, reqs ...obj) []usage {
	t.Helper()
	var out []usage
	for _, r := range reqs {
		g := send(t, url, with(r, obj{"thinking": obj{"type": "disabled"}}))
		if g.usage == nil {
			t.Fatalf("no usage: %s", g.raw)
		}
		if u := *g.usage; u.Hit+u.Miss != u.Prompt || u.Total != u.Prompt+u.Completion {
			t.Fatalf("usage does not add up: %+v", u)
		}
		out = append(out, *g.usage)
	}
	return out
}

func scripted() Options {
	return Options{Script: []Step{{Times: -1, Answer: &Answer{Text: fill("z", 60)}}}}
}

func check(t *testing.T, got []usage, prompts, cached []int) {
	t.Helper()
	for i, u := range got {
		if u.Prompt != prompts[i] || u.Hit != cached[i] {
			t.Errorf("request %d: %d of %d cached, want %d of %d", i, u.Hit, u.Prompt, cached[i], prompts[i])
		}
		if u.Completion != 60 {
			t.Errorf("request %d: %d output tokens", i, u.Completion)
		}
	}
}

func TestCacheAppendOnly(t *testing.T) {
	_, url := start(t, scripted())
	a, b, c := user(fill("a", 196)), user(fill("b", 36)), user(fill("c", 10))
	z := obj{"role": "assistant", "content": fill("z", 60)}
	got := hits(t, url,
		request(a),
		// Hits the end of the first output: 200 + 64 = 264 tokens, in blocks 256.
		request(a, z, b),
		// The reply is not what was said: only the end of the first input, 200 → 192.
		request(a, obj{"role": "assistant", "content": fill("y", 60)}, b),
		// The end of the second output: 304 + 64 = 368 → 320.
		request(a, z, b, z, c),
		// The same again: the whole of it, 382 → 320.
		request(a, z, b, z, c),
	)
	check(t, got, []int{200, 304, 304, 382, 382}, []int{0, 256, 192, 320, 320})
}

// A unit hits only whole: A+C does not match A+B, and their common prefix is
// there from the third request on.
func TestCacheCommonPrefix(t *testing.T) {
	_, url := start(t, scripted())
	a := system(fill("a", 196))
	got := hits(t, url,
		request(a, user(fill("b", 16))),
		request(a, user(fill("c", 16))),
		request(a, user(fill("d", 16))),
		request(a, user(fill("b", 16))), // the end of the first input: 220 → 192
	)
	check(t, got, []int{220, 220, 220, 220}, []int{0, 0, 192, 192})
}

func TestCacheKeys(t *testing.T) {
	_, url := start(t, scripted())
	m := user(fill("a", 196))
	plain := func(more obj) obj { return with(request(m), more) }
	first := []obj{
		plain(nil),
		plain(obj{"user_id": "ada"}),
		plain(obj{"max_tokens": 1000}),
		plain(obj{"model": "deepseek-flash"}),
		plain(obj{"tools": tools("A", "B")}),
		plain(obj{"tools": tools("B", "A")}),
	}
	for i, u := range hits(t, url, first...) {
		if u.Hit != 0 {
			t.Errorf("request %d: %d cached, but it is another prefix", i, u.Hit)
		}
	}
	for i, u := range hits(t, url, first...) {
		if u.Hit != u.Prompt/BlockTokens*BlockTokens {
			t.Errorf("request %d again: %d of %d cached", i, u.Hit, u.Prompt)
		}
	}
	// How it is delivered does not matter.
	if u := hits(t, url, with(plain(nil), obj{"stream_options": obj{"include_usage": true}})); u[0].Hit != 192 {
		t.Errorf("%+v", u)
	}
}

func TestCacheIgnoresCallIDs(t *testing.T) {
	_, url := start(t, Options{Script: []Step{{Answer: &Answer{Text: "t", Reasoning: fill("r", 100), Calls: []Call{{Name: "BASH", Arguments: `{"command":"x"}`}}}}}})
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

// A truncated reply was not stored, and nothing counts for a refused request.
func TestCacheTruncated(t *testing.T) {
	s, url := start(t, Options{Script: []Step{{Fault: Truncate, Answer: &Answer{Text: fill("z ", 60)}}}})
	a, z := user(fill("a", 196)), said(fill("z ", 60))
	send(t, url, request(a))
	if g := send(t, url, request(a, z, user("b"))); g.usage.Hit != 192 {
		t.Errorf("%+v", *g.usage)
	}
	send(t, url, request(user("")))
	if u := s.Usage(); u.Calls != 2 || u.Refused != 1 || u.Cached != 192 || u.Input == 0 || u.Output == 0 {
		t.Errorf("%+v", u)
	}
}

// A set that is full begins anew.
func TestDigestsAreBounded(t *testing.T) {
	var s digests
	for i := range 3 * maxDigests {
		s.add(digest{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	if len(s) == 0 || len(s) > maxDigests {
		t.Errorf("%d digests", len(s))
	}
}

func plainMessage(role, text string) Message { return Message{Role: role, Content: &text} }

// An Accountant counts what the Server counts, request by request, forks included.
func TestAccountantAgreesWithServer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[ab日é ]{1,400}`)
		answer := word.Draw(rt, "answer")
		_, url := start(t, Options{Script: []Step{{Times: -1, Answer: &Answer{Text: answer}}}})
		a := NewAccountant()
		trunk := NewPrompt("", "")
		var messages []obj
		for i := range rapid.IntRange(1, 6).Draw(rt, "requests") {
			text := "x" + word.Draw(rt, "text")
			messages = append(messages, user(text))
			trunk.Add(plainMessage("user", text))
			fork := rapid.Bool().Draw(rt, "fork")
			asked, prompt := messages, trunk
			if fork {
				asked = append(messages[:len(messages):len(messages)], user("fork"))
				prompt = trunk.Clone()
				prompt.Add(plainMessage("user", "fork"))
			}
			got := a.Count(prompt, Answer{Text: answer})
			want := send(t, url, with(request(asked...), obj{"thinking": obj{"type": "disabled"}})).usage
			if got.Input != want.Prompt || got.Cached != want.Hit || got.Output != want.Completion {
				rt.Fatalf("request %d: %+v, the server says %+v", i, got, *want)
			}
			if !fork {
				messages = append(messages, obj{"role": "assistant", "content": answer})
			}
		}
	})
}

func TestPromptParameters(t *testing.T) {
	count := func(a *Accountant, params, tools string) Usage {
		p := NewPrompt(params, tools)
		p.Add(plainMessage("user", fill("a", 200)))
		return a.Count(p, Answer{Text: "ok", Reasoning: "why"})
	}
	a := NewAccountant()
	if u := count(a, "pro", "[]"); u != (Usage{Calls: 1, Input: 205, Output: 2, Reasoning: 1}) {
		t.Errorf("first: %+v", u)
	}
	if u := count(a, "pro", "[]"); u.Cached != 192 {
		t.Errorf("again: %+v", u)
	}
	for _, other := range [][2]string{{"flash", "[]"}, {"pro", "[1]"}} {
		if u := count(a, other[0], other[1]); u.Cached != 0 {
			t.Errorf("%v: %+v", other, u)
		}
	}
}
