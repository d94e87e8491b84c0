package rehearsal

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainMessage is a message as Prompt takes it.
func plainMessage(role, text string) Message { return Message{Role: role, Content: &text} }

// An Accountant counts what the Server counts, request by request.
func TestAccountantAgreesWithServer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[ab日é ]{1,400}`)
		answer := word.Draw(rt, "answer")
		_, url := start(t, Options{Script: []Step{{Times: -1, Answer: &Answer{Text: answer}}}})
		a := NewAccountant()
		trunk := NewPrompt("", "")
		var messages []any
		said := 0
		for range rapid.IntRange(1, 6).Draw(rt, "requests") {
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
			got := a.Count("", prompt, Answer{Text: answer})
			var list []obj
			for _, m := range asked {
				list = append(list, m.(obj))
			}
			want := send(t, url, with(request(list...), obj{"thinking": obj{"type": "disabled"}})).usage
			if got.Input != want.Prompt || got.Cached != want.Hit || got.Output != want.Completion {
				rt.Fatalf("request %d: %+v, the server says %+v", said, got, *want)
			}
			said++
			if !fork {
				messages = append(messages, obj{"role": "assistant", "content": answer})
			}
		}
	})
}

// What a clone adds is not in the prompt it was made of, and neither the other
// way round.
func TestPromptClone(t *testing.T) {
	a := NewPrompt("m", "")
	a.Add(plainMessage("user", fill("a", 200)))
	b := a.Clone()
	a.Add(plainMessage("user", fill("b", 200)))
	b.Add(plainMessage("user", fill("c", 200)))
	whole := NewPrompt("m", "")
	whole.Add(plainMessage("user", fill("a", 200)), plainMessage("user", fill("c", 200)))
	if b.p.end() != whole.p.end() || a.p.end() == b.p.end() || b.Tokens() != whole.Tokens() {
		t.Errorf("clone ends at %v, want %v", b.p.end(), whole.p.end())
	}
	for i := range whole.p.blocks {
		if whole.p.blocks[i] != b.p.blocks[i] {
			t.Fatalf("block %d differs", i)
		}
	}
}

func TestPromptParameters(t *testing.T) {
	count := func(a *Accountant, params, tools string) Usage {
		p := NewPrompt(params, tools)
		p.Add(plainMessage("user", fill("a", 200)))
		return a.Count("u", p, Answer{Text: "ok", Reasoning: "why"})
	}
	a := NewAccountant()
	if u := count(a, "pro", "[]"); u.Cached != 0 || u.Output != 2 || u.Reasoning != 1 || u.Calls != 1 {
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

func TestTask(t *testing.T) {
	context := plainMessage("user", "◆ e1 inbound room=dev\n[USER:ada 2026-11-20T12:57:16Z] never push to main, says ada of the parser team")
	if _, ok := Task([]Message{context}, 0); ok {
		t.Error("an inbound message is no task")
	}
	if _, ok := Task(nil, 0); ok {
		t.Error("no message is no task")
	}
	a, ok := Task([]Message{context, plainMessage("user", "<task name=\"summarise\" from=\"e1\" to=\"e1\">short, please</task>")}, 0.5)
	var out summaryOut
	if err := json.Unmarshal([]byte(a.Text), &out); !ok || err != nil || out.Relevance != 10 || !strings.Contains(out.Summary, "never push to main") {
		t.Errorf("%v %v %+v", ok, err, out)
	}
}
