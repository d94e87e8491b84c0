package dialect_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/internal/test/dialect"
	"lethe/internal/test/rehearsal"
)

const anthropicAsk = `{"model":"claude-sonnet-5-5","max_tokens":3000,"stream":true,"thinking":{"type":"adaptive",` +
	`"display":"summarized"},"output_config":{"effort":"low"},
"system":[{"type":"text","text":"soul","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"u"},
"tools":[{"name":"LIST","description":"lists","input_schema":{"type":"object"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"list the files","cache_control":{"type":"ephemeral"}}]}`

const anthropicReply = `,{"role":"assistant","content":[THOUGHT,{"type":"tool_use","id":"t1","name":"LIST","input":{"path":"."}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a file"}],` +
	`"cache_control":{"type":"ephemeral"}},{"type":"text","text":"a hint"}]}`

const geminiAsk = `{"model":"gemini-3.8-flash","max_tokens":3000,"stream":true,"stream_options":{"include_usage":true},` +
	`"reasoning_effort":"low",
"messages":[{"role":"system","content":"soul"},{"role":"user","content":"list the files"}`

const geminiReply = `,{"role":"assistant","content":"","tool_calls":[{"id":"t1","type":"function",` +
	`"function":{"name":"LIST","arguments":"{\"path\":\".\"}"},"extra_content":{"google":{"thought_signature":"SIGNATURE"}}}]},
{"role":"tool","tool_call_id":"t1","content":"a file"}`

// post asks, and returns the answer's status and text.
func post(t *testing.T, s *dialect.Server, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	if strings.Contains(body, "gemini-") {
		r = httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	}
	r.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Authorization": {"Bearer k"}}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

// between is what stands between two texts.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

func listing() http.Handler {
	answer := rehearsal.Answer{Reasoning: "I look.", Calls: []rehearsal.Call{{Name: "LIST", Arguments: `{"path":"."}`}}}
	return rehearsal.New(rehearsal.Options{Script: []rehearsal.Step{{Contains: "list the files", Times: -1, Answer: &answer}}})
}

// What Anthropic takes is answered; what it refuses is refused, with its words.
func TestAnthropic(t *testing.T) {
	s := dialect.Anthropic(listing())
	code, text := post(t, s, anthropicAsk+"]}")
	signature := between(text, `"delta":{"signature":"`, `"`)
	if code != http.StatusOK || signature == "" || !strings.Contains(text, `"stop_reason":"tool_use"`) {
		t.Fatalf("%d %s", code, text)
	}
	thought := `{"type":"thinking","thinking":"I look.","signature":"` + signature + `"}`
	good := anthropicAsk + strings.Replace(anthropicReply, "THOUGHT", thought, 1) + "]}"
	code, text = post(t, s, good)
	if read := between(text, `"cache_read_input_tokens":`, ","); code != http.StatusOK || read == "0" || read == "" {
		t.Fatalf("%d %s", code, text)
	}
	budget := strings.NewReplacer("claude-sonnet-5-5", "claude-haiku-4-5", `"type":"adaptive","display":"summarized"`,
		`"type":"enabled","budget_tokens":1024`,
		`,"output_config":{"effort":"low"}`, "")
	for _, c := range []struct{ old, now, want string }{
		{`"stream":true`, `"stream":true,"temperatur":1`, "unknown field"},
		{`"lists"`, `"lists","strict":true`, "unknown field"},
		{`"text":"soul"`, `"text":"soul","more":1`, "Extra inputs are not permitted"},
		{`"max_tokens":3000`, `"max_tokens":0`, "max_tokens: Field required"},
		{"claude-sonnet-5-5", "gpt", "model: gpt"},
		{`"role":"assistant"`, `"role":"user"`, "roles must alternate"},
		{`{"type":"text","text":"a hint"}`, `{"type":"text","text":" "}`, "non-whitespace"},
		{`{"type":"text","text":"a hint"}`, `{"type":"text","text":""}`, "non-empty"},
		{`"tool_use_id":"t1"`, `"tool_use_id":"t2"`, "unexpected `tool_use_id`"},
		{`"tool_use_id":"t1"`, `"tool_use_id":"t1","is_errors":true`, "Extra inputs"},
		{`{"type":"text","text":"a hint"}`,
			`{"type":"text","text":"a hint","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b",` +
				`"cache_control":{"type":"ephemeral"}}`, "A maximum of 4"},
		{"I look.", "I looked.", "Invalid `signature`"},
		{"list the files", "list all the files", "Invalid `signature`"},
		{`"soul"`, `"another soul"`, "Invalid `signature`"},
		{`"lists"`, `"lists files"`, "Invalid `signature`"},
		{`"type":"adaptive"`, `"type":"enabled","budget_tokens":2000`, "not supported for this model"},
		{`"thinking":{"type":"adaptive","display":"summarized"}`, `"thinking":{"type":"adaptive","budget_tokens":5}`, "Extra inputs"},
	} {
		if code, text := post(t, s, strings.Replace(good, c.old, c.now, 1)); code < 400 || !strings.Contains(text, c.want) ||
			!strings.Contains(text, `"type":"error"`) {
			t.Errorf("%s in the place of %s: %d %.300s, want %q", c.now, c.old, code, text, c.want)
		}
	}
	without := anthropicAsk + strings.Replace(anthropicReply, "THOUGHT,", "", 1) + "]}"
	if code, text := post(t, s, without); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	for body, want := range map[string]string{
		budget.Replace(without):                                  "must start with a thinking block",
		budget.Replace(strings.Replace(good, "3000", "1000", 1)): "must be greater than",
		budget.Replace(anthropicAsk + "]}"):                      "", strings.TrimSuffix(good, "]}") +
			`,{"role":"assistant","content":[{"type":"text","text":"so"}]}]}`: "prefill",
		anthropicAsk + strings.Replace(anthropicReply[:strings.Index(anthropicReply, ",\n")], "THOUGHT", thought, 1) +
			`,{"role":"user","content":[{"type":"text","text":"so?"}]}]}`: "without `tool_result`",
	} {
		if code, text := post(t, s, body); (code == http.StatusOK) != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s\n%d %s, want %q", body, code, text, want)
		}
	}
}

// The same for Gemini.
func TestGemini(t *testing.T) {
	s := dialect.Gemini(listing())
	code, text := post(t, s, geminiAsk+"]}")
	signature := between(text, `"thought_signature":"`, `"`)
	if code != http.StatusOK || signature == "" {
		t.Fatalf("%d %s", code, text)
	}
	good := geminiAsk + strings.Replace(geminiReply, "SIGNATURE", signature, 1) + "]}"
	for _, c := range []struct{ old, now, want string }{
		{"", "", ""},
		{signature, dialect.StandIn, ""},
		{signature, "c3RhbGU=", "Corrupted"},
		{`"soul"`, `"another soul"`, "Corrupted"},
		{`,"extra_content":{"google":{"thought_signature":"` + signature + `"}}`, "", "missing a thought_signature"},
		{`"stream":true`, `"stream":true,"user":"u"`, "unknown field"},
		{`"role":"user"`, `"role":"human"`, "valid role"},
		{`"list the files"`, `""`, "text parameter"},
		{`"tool_call_id":"t1"`, `"tool_call_id":"t2"`, "immediately after"},
		{`,
{"role":"tool","tool_call_id":"t1","content":"a file"}`, "", "lacks a response"},
		{"gemini-3.8-flash", "models/gemini-x", "not found"},
	} {
		code, text := post(t, s, strings.Replace(good, c.old, c.now, 1))
		if (code == http.StatusOK) != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s in the place of %s: %d %.300s, want %q", c.now, c.old, code, text, c.want)
		}
	}
	if n := len(s.Requests()); n != 12 || !bytes.Equal(s.Requests()[0].Body, []byte(geminiAsk+"]}")) || !json.Valid(s.Requests()[1].Body) {
		t.Errorf("%d requests are kept", n)
	}
}
