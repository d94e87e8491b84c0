package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// claude is a client of Anthropic's dialect for a handler.
func claude(t *testing.T, h http.HandlerFunc) *Client {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client(t, Config{Preset: "anthropic", BaseURL: srv.URL + "/v1/messages", Key: testKey, MaxRetries: -1})
}

// interleaved is an answer that thinks, says something, thinks again, and calls.
var interleaved = events(
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5",`+
		`"content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,`+
		`"cache_read_input_tokens":70,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let me "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I 漢"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" look"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"READ_FILE","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"LIST","input":{}}}`,
	`{"type":"content_block_stop","index":4}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30,`+
		`"output_tokens_details":{"thinking_tokens":12}}}`,
	`{"type":"message_stop"}`,
)

func TestAnthropic(t *testing.T) {
	var header http.Header
	var path string
	var sent []byte
	c := claude(t, func(w http.ResponseWriter, r *http.Request) {
		header, path = r.Header, r.URL.Path
		sent, _ = io.ReadAll(r.Body)
		text(interleaved)(w, r)
	})
	reply, err := c.Complete(t.Context(), ask, nil)
	lethetest.Must(t, err)
	want := Reply{
		Text: "I 漢 look", Reasoning: "let me see", Finish: "tool_calls", Model: "claude-sonnet-5-5",
		Opaque: `[{"signature":"c2ln","thinking":"let me see","type":"thinking"},{"runes":8,"type":"text"},{"data":"ZGF0YQ==",` +
			`"type":"redacted_thinking"},{"id":"toolu_1","type":"tool_use"},{"id":"toolu_2","type":"tool_use"}]`,
		Calls: []ToolCall{{ID: "toolu_1", Name: "READ_FILE", Arguments: `{"path":"x"}`}, {ID: "toolu_2", Name: "LIST"}},
		Usage: Usage{Input: 100, Cached: 70, Written: 20, Output: 30, Reasoning: 12},
	}
	if !reflect.DeepEqual(reply, want) {
		t.Errorf("got  %+v\nwant %+v", reply, want)
	}
	if path != "/v1/messages" || header.Get("X-Api-Key") != testKey || header.Get("Anthropic-Version") != "2023-06-01" ||
		header.Get("Authorization") != "" {
		t.Errorf("%s %v", path, header)
	}
	if body, _ := c.Preset().Body(ask); string(body) != string(sent) {
		t.Errorf("sent %s\nBody %s", sent, body)
	}
	// It goes back as it came.
	blocks, err := json.Marshal(replyBlocks(Message{Role: "assistant", Content: Text(reply.Text), Opaque: reply.Opaque,
		Calls: reply.Calls}, map[string]string{}))
	lethetest.Must(t, err)
	const back = `[{"signature":"c2ln","thinking":"let me see","type":"thinking"},{"text":"I 漢 ` +
		`look","type":"text"},{"data":"ZGF0YQ==","type":"redacted_thinking"},` +
		`{"id":"toolu_1","input":{"path":"x"},"name":"READ_FILE","type":"tool_use"},{"id":"toolu_2","input":{},"name":"LIST","type":"tool_use"}]`
	if string(blocks) != back {
		t.Errorf("%s", blocks)
	}
}

// Errors and reasons to stop are those of this package.
func TestAnthropicFails(t *testing.T) {
	started := `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}`
	says := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so"}}`
	ends := func(why string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + why + `"},"usage":{"output_tokens":2}}`
	}
	problem := func(kind string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"no"},"request_id":"r"}`
	}
	for name, test := range map[string]struct {
		h    http.HandlerFunc
		want Kind
	}{
		"overloaded":              {status(529, problem("overloaded_error")), Transient},
		"too often":               {status(429, problem("rate_limit_error"), "Retry-After: 2"), Transient},
		"their fault":             {status(500, problem("api_error")), Transient},
		"a bad key":               {status(401, problem("authentication_error")), Permanent},
		"no money":                {status(402, problem("billing_error")), Permanent},
		"an altered signature":    {status(400, problem("invalid_request_error")), Permanent},
		"too large":               {status(413, problem("request_too_large")), Overflow},
		"overloaded in mid-reply": {text(events(started, says, problem("overloaded_error"))), Transient},
		"refused in mid-reply":    {text(events(started, says, problem("invalid_request_error"))), Permanent},
		"cut off":                 {text(events(started, says)), Truncated},
		"a refusal":               {text(events(started, says, ends("refusal"))), Permanent},
		"no more window":          {text(events(started, says, ends("model_context_window_exceeded"))), Overflow},
		"garbage":                 {text(events(started, `{"type":`)), Garbage},
		"nothing":                 {text(events(started, ends("end_turn"))), Garbage},
	} {
		if e := failed(t, claude(t, test.h), ask); e.Kind != test.want {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for why, finish := range map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "new": "length"} {
		reply, err := claude(t, text(events(started, says, ends(why)))).Complete(t.Context(), ask, nil)
		lethetest.Must(t, err)
		if reply.Finish != finish || reply.Text != "so" || reply.Usage != (Usage{Input: 9, Output: 2}) {
			t.Errorf("%s: %+v", why, reply)
		}
	}
	_, _, models, err := claude(t, status(200, `{"data":[{"id":"claude-a","type":"model"}],"has_more":false}`)).Look(t.Context())
	if _, told := models["claude-a"]; err != nil || !told {
		t.Errorf("%v, %v", models, err)
	}
}

// What a stream tells of its use before its end is not what is billed; and models of a fixed thinking budget refuse an
// effort.
func TestAnthropicCutOff(t *testing.T) {
	long := events(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"much is said"}}`)
	reply, err := claude(t, text(long)).Complete(t.Context(), ask, nil)
	want := Waste{Calls: 1, Uncounted: 1, Streamed: reply.Waste.Streamed}
	if err == nil || reply.Waste != want || want.Streamed < Weight("much is said") {
		t.Errorf("%+v, %v", reply.Waste, err)
	}
	p, _ := Preset("anthropic")
	for model, sent := range map[string]bool{"claude-haiku-4-5": false, "claude-opus-4-1-20250805": false, "claude-opus-4-7": true} {
		r := ask
		r.Model, r.Effort = model, "high"
		body, err := p.Body(r)
		if err != nil || strings.Contains(string(body), `"effort":"high"`) != sent {
			t.Errorf("%s: %s, %v", model, body, err)
		}
	}
}

// A stream brings what OpenRouter and Gemini want back in pieces.
func TestOpaqueComesInPieces(t *testing.T) {
	const finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	call := func(id, extra string) string {
		return delta(`{"tool_calls":[{"index":0,"id":"` + id + `","type":"function","function":{"name":"LIST","arguments":"{}"}` + extra + `}]}`)
	}
	const signature = `{"google":{"thought_signature":"c2ln"}}`
	for name, test := range map[string]struct {
		preset, stream, opaque, ofCall string
	}{
		"a signed text": {"openrouter", events(
			delta(`{"reasoning":"let ","reasoning_details":[{"type":"reasoning.text","text":"let `+
				`","format":"f","index":0,"signature":null,"summary":null}]}`),
			delta(`{"reasoning":"me","reasoning_details":[{"type":"reasoning.text","text":"me","format":"f","index":0}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"eA==","index":1}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"eQ==","index":1}]}`),
			call("a", ""), finish),
			`[{"format":"f","index":0,"signature":"c2ln","text":"let ` +
				`me","type":"reasoning.text"},{"data":"eA==","index":1,"type":"reasoning.encrypted"},{"data":"eQ==","index":1,` +
				`"type":"reasoning.encrypted"}]`, ""},
		"nothing signed": {"openrouter", events(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"so","index":0}]}`),
			call("a", ""), finish), "", ""},
		"no details": {"openrouter", events(delta(`{"reasoning_details":"none"}`), call("a", ""), finish), "", ""},
		"a call":     {"gemini", events(call("a", `,"extra_content":`+signature), finish), "", signature},
		"null":       {"gemini", events(call("a", `,"extra_content":null`), finish), "", ""},
		"of another": {"openai", events(delta(`{"reasoning_details":[{"data":"x"}]}`),
			call("a", `,"extra_content":`+signature), finish), "", ""},
	} {
		srv := httptest.NewServer(text(test.stream))
		t.Cleanup(srv.Close)
		reply, err := client(t, Config{Preset: test.preset, BaseURL: srv.URL, Key: testKey, MaxRetries: -1}).Complete(t.Context(), ask, nil)
		if err != nil || reply.Opaque != test.opaque || reply.Calls[0].Opaque != test.ofCall {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

// The newest models refuse not to think: they are left to it.
func TestAlwaysThinking(t *testing.T) {
	anthropic, _ := Preset("anthropic")
	for model, off := range map[string]bool{
		"claude-opus-5-5": false, "claude-sonnet-5-5": false, "claude-fable-5-1": false, "claude-fable-5": false,
		"claude-opus-5": true, "claude-sonnet-4-6": true, "claude-haiku-4-5": true, "claude-sonnet-4-5-20250929": true,
	} {
		body, err := anthropic.Body(Request{Model: model, Thinking: "disabled", Messages: []Message{{Role: "user", Content: Text("hi")}}})
		if err != nil || strings.Contains(string(body), `"disabled"`) != off || !off && strings.Contains(string(body), `"thinking"`) {
			t.Errorf("%s: %s, %v", model, body, err)
		}
	}
}
