package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// Thoughts that stand in the text are reasoning, in whatever pieces they come. What an answer says about the tags stays.
func TestThoughtsInTheText(t *testing.T) {
	for _, test := range []struct{ said, reasoning, text string }{
		{"<think>\nhidden\n</think>\n\nHello", "\nhidden\n", "Hello"},
		{" \n<think>hidden</think>Hello", "hidden", "Hello"},
		{"<think></think>Hello", "", "Hello"},
		{"hidden\n</think>\n\nHello", "hidden\n", "Hello"},
		{"</think>Hello", "", "Hello"},
		{"<think>a</think>b</think>c", "a", "b</think>c"},
		{"Hello <think> you", "", "Hello <think> you"},
		{"`</think>` ends it; \"</think>\" too", "", "`</think>` ends it; \"</think>\" too"},
		{"Write `<think>plan</think>` first", "", "Write `<think>plan</think>` first"},
		{"Models write <think>plan</think> and text.", "", "Models write <think>plan</think> and text."},
		{"so:\n```\n<think>a</think>\n```\nok", "", "so:\n```\n<think>a</think>\n```\nok"},
		{"<thin ice", "", "<thin ice"}, {"<", "", "<"}, {" a < b", "", " a < b"},
	} {
		for _, size := range []int{1, 2, 7, 1000} {
			var pieces []string
			for rest := test.said; rest != ""; {
				n := min(size, len(rest))
				piece, _ := json.Marshal(rest[:n])
				pieces = append(pieces, delta(`{"content":`+string(piece)+`}`))
				rest = rest[n:]
			}
			var thoughts, answer string
			shown := func(d Delta) {
				if d.Reset {
					thoughts, answer = "", ""
				}
				thoughts, answer = thoughts+d.Reasoning, answer+d.Text
			}
			reply, err := server(t, text(events(append(pieces, stop, done)...))).Complete(t.Context(), ask, shown)
			lethetest.Must(t, err)
			if reply.Text != test.text || reply.Reasoning != test.reasoning {
				t.Errorf("%q in pieces of %d: %q, %q", test.said, size, reply.Reasoning, reply.Text)
			}
			if !strings.HasPrefix(test.text, answer) || !strings.HasPrefix(test.reasoning, thoughts) {
				t.Errorf("%q in pieces of %d was shown as %q, %q", test.said, size, thoughts, answer)
			}
		}
	}
	if e := failed(t, server(t, text(events(delta(`{"content":"<think>hidden </thi"}`), stop))), ask); e.Kind != Garbage || !e.Blank {
		t.Errorf("thoughts without an end: %v", e)
	}
	cut, err := server(t, text(events(delta(`{"content":"<think>hidden </thi"}`), finished("length")))).Complete(t.Context(), ask, nil)
	if err != nil || cut.Reasoning != "hidden </thi" || cut.Text != "" {
		t.Errorf("thoughts that were cut off: %+v, %v", cut, err)
	}
	const whole = "<think>as it is</think>Hello"
	reply, err := server(t, text(events(delta(`{"reasoning_content":"r"}`), delta(`{"content":"`+whole+`"}`), stop))).
		Complete(t.Context(), ask, nil)
	if err != nil || reply.Text != whole || reply.Reasoning != "r" {
		t.Errorf("beside a field for thoughts: %+v, %v", reply, err)
	}
}

// A call that a model writes as text is asked for once more, and then told.
func TestCallInTheText(t *testing.T) {
	asked := ask
	asked.Tools = json.RawMessage(`[{"type":"function","function":{"name":"BASH","parameters":{}}}]`)
	for _, call := range []string{
		"<tool_call>\n{\"name\": \"BASH\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
		"I look.\n[TOOL_CALLS][{\"name\": \"BASH\", \"arguments\": {}}]", "<function=BASH><parameter=command>ls",
		"<|python_tag|>BASH(command=\"ls\")", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>BASH", `{"name": "BASH", "parameters": {}}`,
	} {
		content, _ := json.Marshal(call)
		e := failed(t, server(t, text(events(delta(`{"content":`+string(content)+`}`), stop, done))), asked)
		if e.Kind != Garbage || !strings.Contains(e.Message, "template") {
			t.Errorf("%q: %v", call, e)
		}
	}
	for _, said := range []string{"Write `<tool_call>` before BASH", "```\n<tool_call>BASH</tool_call>\n```",
		"<tool_call>nobody's</tool_call>",
		`{"name": "BASH"}`, `{"name": "BASH_report", "arguments": {}}`, `{"name": "ann", "arguments": {}}`} {
		content, _ := json.Marshal(said)
		reply, err := server(t, text(events(delta(`{"content":`+string(content)+`}`), stop, done))).Complete(t.Context(), asked, nil)
		if err != nil || reply.Text != said {
			t.Errorf("%q: %+v, %v", said, reply, err)
		}
	}
}
