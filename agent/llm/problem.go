package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/internal/pattern"
)

// maxErrorBody bounds what is read of an answer that is not a stream.
const maxErrorBody = 64 << 10

// maxMessage bounds, in runes, what is kept of a provider's explanation.
const maxMessage = 600

// problem is a provider's account of what went wrong, in whatever shape it came.
type problem struct {
	message, kind, code string
	status              int // an HTTP status told inside the body, else 0
	limit               int // a context window told as a field, else 0
}

// refusal reads an answer whose status is not 200.
func refusal(resp *http.Response, body io.Reader, redact func(string) string) *Error {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came before an error is enough
	p, ok := parseProblem(text)
	if !ok {
		p = problem{message: plainText(text)}
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		p.message = "the server redirects to " + to.Host + ", which is not followed"
	}
	p.message = cmp.Or(p.message, strings.ToLower(http.StatusText(resp.StatusCode)))
	e := p.error(resp.StatusCode, redact)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	return e
}

// error decides the kind, once for all. status is 0 for a problem told in a
// stream or under a 200.
func (p problem) error(status int, redact func(string) string) *Error {
	e := &Error{Status: cmp.Or(status, p.status), Message: clean(redact(p.message), maxMessage)}
	e.Kind = p.kindFor(e.Status)
	if e.Kind == Overflow {
		e.Limit = p.window()
	}
	return e
}

func (p problem) kindFor(status int) Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired,
		status == http.StatusForbidden, status == http.StatusNotFound,
		p.says("insufficient_quota", "insufficient_balance", "billing"): // no waiting cures a 429 of these
		return Permanent
	case status == http.StatusTooManyRequests:
		return Transient
	case status == http.StatusRequestEntityTooLarge, p.overflows():
		return Overflow
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return Transient
	case status == 0 && !p.says("invalid_request", "authentication", "permission", "not_found"):
		return Transient // an error in mid-stream is the server's
	}
	return Permanent
}

// says looks for any of words in the provider's own classification.
func (p problem) says(words ...string) bool {
	own := strings.ToLower(p.kind + " " + p.code)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(own, w) })
}

// overflowWords are the wordings of: DeepSeek, OpenAI, vLLM, OpenRouter
// ("maximum context length"), Mistral ("too large for model with"), llama.cpp
// ("context size"), LM Studio, OpenAI's newer endpoints ("context window"),
// Anthropic ("prompt is too long", "exceed context limit"), Bedrock ("input is too long"), xAI
// ("maximum prompt length"), Gemini ("maximum number of tokens allowed"), Groq
// ("reduce the length"), Moonshot ("model token limit"), and text generation
// servers ("must have less than", "`max_new_tokens` must be").
var overflowWords = pattern.Lazy("(?i)context length|too large for model with|context size|context window|" +
	"prompt is too long|input is too long|maximum prompt length|maximum number of tokens allowed|" +
	"exceed context limit|reduce the length of the|model token limit|`max_new_tokens` must be")

func (p problem) overflows() bool {
	return p.says("context_length_exceeded", "exceed_context_size") || overflowWords().MatchString(p.message)
}

// windows find the number that is the limit, not the size of the request.
var windows = []string{
	`maximum context length (?:is|of)(?: only)? ([\d,]+)`,
	`([\d,]+) maximum context length`,
	`> ([\d,]+) maximum`,
	`exceed context limit: .*> ([\d,]+)`,
	`maximum prompt length is ([\d,]+)`,
	`maximum number of tokens allowed \(?([\d,]+)`,
	`model token limit:? ?([\d,]+)`,
	"`max_new_tokens` must be <= ([\\d,]+)",
	`context (?:length|window|size)[^\d.]{0,30}([\d,]+)`,
}

// window returns the told limit in tokens. Numbers no model has are ignored.
func (p problem) window() int {
	plausible := func(n int) bool { return n >= 512 && n <= 100_000_000 }
	if plausible(p.limit) {
		return p.limit
	}
	for _, form := range windows {
		if m := regexp.MustCompile(`(?i)` + form).FindStringSubmatch(p.message); m != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); err == nil && plausible(n) {
				return n
			}
		}
	}
	return 0
}

// parseProblem understands {"error":{…}}, {"error":"…"}, an array of one of
// these, {"object":"error","message":…} and {"detail":…}. It says false for
// anything else, a completion for example.
func parseProblem(text []byte) (problem, bool) {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return problem{}, false
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, _ := v.(object)
	inner, _ := top["error"].(object)
	_, isReply := top["choices"]
	said, _ := top["error"].(string)
	switch {
	case len(inner) > 0:
		return problemOf(inner), true
	case said != "":
		return problem{message: said, kind: word(top["type"]), code: word(top["code"])}, true
	case !isReply && (top["object"] == "error" || top["type"] == "error" || top["detail"] != nil || top["message"] != nil):
		return problemOf(top), true
	}
	return problem{}, false
}

func problemOf(m object) problem {
	p := problem{message: cmp.Or(word(m["message"]), word(m["detail"])), kind: word(m["type"]), code: word(m["code"])}
	// A gateway's own message says little; what its provider said is inside.
	if meta, ok := m["metadata"].(object); ok {
		if raw := word(meta["raw"]); raw != "" {
			p.message += ": " + raw
		}
	}
	for _, field := range []string{"status", "code"} {
		if n, err := strconv.Atoi(word(m[field])); err == nil && n >= 400 && n < 600 {
			p.status = n
		}
	}
	p.limit, _ = strconv.Atoi(word(m["n_ctx"]))
	return p
}

// word is a JSON value as text: strings as they are, null as nothing, the rest
// as JSON.
func word(v any) string {
	if s, ok := v.(string); ok || v == nil {
		return s
	}
	b, _ := encode(v) // it was decoded: cannot fail
	return string(b)
}

// plainText returns the readable part of an answer that is not JSON.
func plainText(text []byte) string {
	if html, _ := regexp.Match(`(?i)^\s*<(?:!doctype|html|head|body)`, text); !html {
		return string(text)
	}
	m := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindSubmatch(text)
	if m != nil && len(bytes.TrimSpace(m[1])) > 0 {
		return "web page: " + string(m[1])
	}
	return "web page without a title"
}
