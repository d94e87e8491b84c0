package rehearsal

import (
	"testing"

	"pgregory.net/rapid"
)

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
