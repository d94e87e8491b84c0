package rehearsal_test

import (
	"bytes"
	"lethe/agent/llm/rehearsal"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreamShape(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	g := send(t, url, request(system("s"), user("count to 20")))
	if g.text != rehearsal.Count(nil, []string{"", "20"}) || g.finish != "stop" || !g.done {
		t.Errorf("text %q, finish %q, done %v", g.text, g.finish, g.done)
	}
	if g.reasoning == "" || g.chunks < 25 {
		t.Errorf("reasoning %q in %d chunks", g.reasoning, g.chunks)
	}
	events := strings.Split(strings.TrimSuffix(g.raw, "\n\n"), "\n\n")
	if events[len(events)-1] != "data: [DONE]" || !strings.Contains(events[len(events)-2], `"choices":[],`) {
		t.Errorf("the end is %q", events[len(events)-2:])
	}
	if !strings.Contains(events[0], `"role":"assistant"`) || !strings.Contains(events[0], `"finish_reason":null`) {
		t.Errorf("the first chunk is %s", events[0])
	}
	for _, e := range events {
		if !strings.HasPrefix(e, "data: ") || strings.Contains(e, "\n") {
			t.Errorf("event %q", e)
		}
	}
	if r := g.usage.Details.Reasoning; r != rehearsal.Tokens(g.reasoning) || g.usage.Completion != r+rehearsal.Tokens(g.text) {
		t.Errorf("usage %+v", *g.usage)
	}
}

func TestWithoutUsageOrThinking(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	if g := send(t, url, with(request(user("hi")), obj{"stream_options": nil})); g.usage != nil || !g.done {
		t.Error(g.raw)
	}
	g := send(t, url, with(request(user("hi")), obj{"thinking": obj{"type": "disabled"}}))
	if g.reasoning != "" || g.usage.Details.Reasoning != 0 || g.text == "" {
		t.Errorf("%+v", g)
	}
}

func TestMaxTokens(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	g := send(t, url, with(request(user("count to 500")), obj{"max_tokens": 40}))
	if g.finish != "length" || g.usage.Completion > 40 || g.usage.Completion < 38 {
		t.Errorf("finish %q after %d tokens", g.finish, g.usage.Completion)
	}
}

var twoCalls = &rehearsal.Answer{Text: "Two things at once.", Calls: []rehearsal.Call{
	{Name: "BASH", Arguments: `{"command":"sleep 100; echo done with the first"}`},
	{Name: "READ_FILE", Arguments: `{"path":"a/long/path/to/some/file.txt"}`},
}}

// Parallel calls come in fragments, one call after the other.
func TestCalls(t *testing.T) {
	_, url := start(t, saying(*twoCalls))
	g := send(t, url, request(user("x")))
	if len(g.calls) != 2 || g.finish != "tool_calls" || !g.done {
		t.Fatalf("%+v", g)
	}
	for i, c := range g.calls {
		if c.ID == "" || c.Name != twoCalls.Calls[i].Name || c.Arguments != twoCalls.Calls[i].Arguments {
			t.Errorf("call %d: %+v", i, c)
		}
	}
	if twoCalls.Calls[0].ID != "" {
		t.Error("the step's answer was changed")
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := saying(rehearsal.Answer{Text: "a b c"})
		o.Pace = time.Second
		w, began := httptest.NewRecorder(), time.Now()
		rehearsal.New(o).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body(t, request(user("x"))))))
		if took := time.Since(began); took != 4*time.Second { // five chunks: role, three words, finish
			t.Errorf("took %s", took)
		}
	})
}
