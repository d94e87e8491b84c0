package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Whatever a provider sends instead of a reply becomes one bounded line without the
// key, of a kind, and asks for a wait that can be waited.
func FuzzRefusal(f *testing.F) {
	for i, s := range []string{
		"", "null", "[]", `{"error":{}}`, `{"error":{"message":"maximum context length is 65,536 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		`{"error":{"message":"sk-secret","code":429,"metadata":{"raw":"x\ny\u2028\u202e"}}}`, `[{"error":"x"}]`, `{"detail":[{"loc":["body"]}]}`,
		`{"object":"error","message":"context size 99999999999999999999","n_ctx":-1}`, "<!doctype html><title>\x00 502 \xff</title>", "<html><title>", strings.Repeat(`[`, 20000),
		strings.Repeat("sk-", 5000) + "secret", `{"error":{"message":"`, `{"error":{"message":{"a":1e999}}}`,
	} {
		f.Add(s, 400+i*10, []string{"5", "0.5s", "-1", "NaN", "1e300", "Fri, 20 Nov 2026 12:57:16 GMT", ""}[i%7], "Fri, 20 Nov 2026 12:57:16 GMT", "")
	}
	f.Add("", 302, "", "x", "+Inf")
	f.Fuzz(func(t *testing.T, body string, status int, after, date, ms string) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}, "Date": {date}, "Retry-After-Ms": {ms}, "Location": {body}}}
		e := refusal(resp, strings.NewReader(body), func(s string) string { return strings.ReplaceAll(s, "sk-secret", "…") })
		for _, s := range []string{e.Message, e.Type, e.Code} {
			if utf8.RuneCountInString(s) > maxMessage+2 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || strings.Contains(s, "sk-secret") {
				t.Fatalf("%q becomes %q", body, s)
			}
		}
		if e.Kind < Transient || e.Kind > Garbage || e.Limit < 0 || e.Limit > 100_000_000 || (e.Limit > 0 && e.Kind != Overflow) {
			t.Fatalf("%q, %d: %+v", body, status, e)
		}
		if e.RetryAfter < 0 {
			t.Fatalf("%q, %q: wait %v", after, ms, e.RetryAfter)
		}
		p := newPace()
		if p.again(e) != (e.Kind != Permanent && e.Kind != Overflow) {
			t.Fatalf("%v is tried again", e.Kind)
		}
		if wait := p.NextBackOff(); wait < 0 || wait > 2*retryCap {
			t.Fatalf("%q, %q: wait %v", after, ms, wait)
		}
	})
}

// A request is valid JSON for every preset, the same each time, and one that goes on
// with a reply begins with the bytes of the one before.
func FuzzBody(f *testing.F) {
	f.Add("system", "hi", "text", "", `{"a":1}`, `[{"type":"function"}]`, 5, 0)
	f.Add("", "\xff\x00\u2028<&>", "", "why", "", "", -1, 1)
	f.Add("◆ e1 note", "tool", "x", "", `{"a":`, "[]", 1, 2)
	f.Add("", "", "", "", strings.Repeat("[", 20000), "{}", 1<<40, 9)
	f.Fuzz(func(t *testing.T, system, said, answer, reasoning, args, tools string, most, mix int) {
		r := Request{Model: "m", Tools: json.RawMessage(tools), MaxTokens: most, Thinking: []string{"", "enabled", "disabled"}[uint(mix)%3], Effort: []string{"", "max"}[uint(mix)%2]}
		r.Messages = []Message{{Role: "system", Content: system}, {Role: "user", Content: said}}
		reply := Message{Role: "assistant", Content: answer, Reasoning: reasoning}
		longer := r
		if mix%2 == 0 {
			reply.Calls = []ToolCall{{ID: "e1_1", Name: "X", Arguments: args}}
			longer.Messages = append(longer.Messages[:2:2], reply, Message{Role: "tool", CallID: "e1_1", Content: said})
		} else {
			longer.Messages = append(longer.Messages[:2:2], reply)
		}
		longer.Messages = append(longer.Messages, Message{Role: "user", Content: answer, Join: Join(uint(mix) % 3)})
		for _, name := range Presets() {
			p, _ := Preset(name)
			short, err := p.Body(r)
			if err != nil {
				if json.Valid([]byte(tools)) && strings.HasPrefix(strings.TrimSpace(tools), "[") {
					t.Fatalf("%s: %v", name, err)
				}
				return
			}
			long, err := p.Body(longer)
			if err != nil || !json.Valid(short) || !json.Valid(long) || bytes.ContainsAny(long, "\n\x00") && json.Valid([]byte(tools)) && !strings.Contains(tools, "\n") {
				t.Fatalf("%s: %q, %v", name, long, err)
			}
			if again, _ := p.Body(longer); !bytes.Equal(again, long) {
				t.Fatalf("%s: %q, and then %q", name, long, again)
			}
			begun := func(body []byte) (m struct{ Messages []json.RawMessage }) {
				if err := json.Unmarshal(body, &m); err != nil {
					t.Fatalf("%s: %q: %v", name, body, err)
				}
				return m
			}
			for i, m := range begun(short).Messages {
				if !bytes.Equal(m, begun(long).Messages[i]) {
					t.Fatalf("%s: message %d was %q and is %q", name, i, m, begun(long).Messages[i])
				}
			}
		}
	})
}
