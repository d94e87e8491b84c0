package llm

import (
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
		"", "null", "[]", `{"error":{}}`,
		`{"error":{"message":"maximum context length is 65,536 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		`{"error":{"message":"sk-secret","code":429,"metadata":{"raw":"x\ny\u2028\u202e"}}}`, `[{"error":"x"}]`, `{"detail":[{"loc":["body"]}]}`,
		`{"object":"error","message":"context size 99999999999999999999","n_ctx":-1}`,
		"<!doctype html><title>\x00 502 \xff</title>", "<html><title>", strings.Repeat(`[`, 20000),
		strings.Repeat("sk-", 5000) + "secret", `{"error":{"message":"`, `{"error":{"message":{"a":1e999}}}`,
	} {
		f.Add(s, 400+i*10, []string{"5", "0.5s", "-1", "NaN", "1e300", "Fri, 20 Nov 2026 12:57:16 GMT", ""}[i%7])
	}
	f.Add("", 302, "+Inf")
	f.Fuzz(func(t *testing.T, body string, status int, after string) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}, "Location": {body}}}
		e := refusal(resp, strings.NewReader(body), func(s string) string { return strings.ReplaceAll(s, "sk-secret", "…") })
		if s := e.Message; utf8.RuneCountInString(s) > maxMessage+2 || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, unicode.IsControl) || strings.Contains(s, "sk-secret") {
			t.Fatalf("%q becomes %q", body, s)
		}
		if e.Kind < Transient || e.Kind > Garbage || e.Limit < 0 || e.Limit > 100_000_000 || (e.Limit > 0 && e.Kind != Overflow) {
			t.Fatalf("%q, %d: %+v", body, status, e)
		}
		if e.RetryAfter < 0 {
			t.Fatalf("%q: wait %v", after, e.RetryAfter)
		}
		p := newPace()
		if p.again(e) != (e.Kind != Permanent && e.Kind != Overflow) {
			t.Fatalf("%v is tried again", e.Kind)
		}
		if wait := p.NextBackOff(); wait < 0 || wait > 2*retryCap {
			t.Fatalf("%q: wait %v", after, wait)
		}
	})
}
