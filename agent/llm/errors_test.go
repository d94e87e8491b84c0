package llm

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestStatuses(t *testing.T) {
	want := map[int]Kind{
		400: Permanent, 401: Permanent, 402: Permanent, 403: Permanent, 404: Permanent, 405: Permanent, 422: Permanent,
		408: Transient, 409: Transient, 425: Transient, 429: Transient,
		500: Transient, 502: Transient, 503: Transient, 504: Transient, 529: Transient,
		413: Overflow, 201: Permanent, 204: Permanent,
	}
	for code, kind := range want {
		e := failed(t, server(t, status(code, "")), ask)
		if e.Kind != kind || e.Status != code || e.Model != "m" || e.Host == "" {
			t.Errorf("%d: %+v, want %v", code, e, kind)
		}
	}
}

func TestErrorKeepsWhatTheProviderSaid(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want Error
	}{
		"object": {`{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,` +
			`"code":"invalid_request_error"}}`, Error{Message: "Model Not Exist"}},
		"number":    {`{"error":{"message":"no","code":1302}}`, Error{Message: "no"}},
		"text":      {`{"error":"no such model"}`, Error{Message: "no such model"}},
		"list":      {`[{"error":{"message":"no","status":"INVALID_ARGUMENT","code":400}}]`, Error{Message: "no"}},
		"top level": {`{"object":"error","message":"no","type":"BadRequestError","code":400}`, Error{Message: "no"}},
		"detail":    {`{"detail":[{"loc":["body"],"msg":"Extra inputs"}]}`, Error{Message: `[{"loc":["body"],"msg":"Extra inputs"}]`}},
		"inner": {`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"too hot\"}"}}}`,
			Error{Message: `Provider returned error: {"error":"too hot"}`}},
		"two lines":  {`{"error":{"message":"one\n  two\u0007\u202e"}}`, Error{Message: "one two"}},
		"page":       {"<html><head><title> 400 Bad\nRequest </title></head>", Error{Message: "web page: 400 Bad Request"}},
		"bare page":  {"<!doctype html><p>x", Error{Message: "web page without a title"}},
		"prose":      {"no\n", Error{Message: "no"}},
		"nothing":    {"", Error{Message: "bad request"}},
		"other JSON": {`{"ok":false}`, Error{Message: `{"ok":false}`}},
	} {
		e := failed(t, server(t, status(400, test.body)), ask)
		if e.Kind != Permanent || e.Message != test.want.Message {
			t.Errorf("%s: got %+v, want %+v", name, e, test.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	e := failed(t, server(t, status(402, `{"error":{"message":"Insufficient Balance"}}`)), Request{Model: "deepseek-v4-pro"})
	if want := "call deepseek-v4-pro at " + e.Host + ": status 402: Insufficient Balance"; e.Error() != want {
		t.Errorf("got  %s\nwant %s", e, want)
	}
	// A refused key is told with the variable that it came from.
	srv := httptest.NewServer(status(401, `{"error":{"message":"no"}}`))
	defer srv.Close()
	for key, want := range map[string]string{
		"":      "no; LETHE_API_KEY is not set: set it to a key of HOST and restart",
		testKey: "no; set LETHE_API_KEY to a valid key of HOST and restart",
	} {
		noKeys(t)
		t.Setenv("LETHE_API_KEY", key)
		e := failed(t, client(t, Config{BaseURL: srv.URL, MaxRetries: -1}), ask)
		if want = strings.ReplaceAll(want, "HOST", e.Host); e.Message != want {
			t.Errorf("got  %s\nwant %s", e.Message, want)
		}
	}
}

func TestOverflow(t *testing.T) {
	for _, test := range []struct {
		provider string
		status   int
		body     string
		limit    int
	}{
		{"deepseek", 400, `{"error":{"message":"This model's maximum context length is 1048576 tokens. However, you requested ` +
			`1100000 tokens (1091808 in the messages, 8192 in the completion). Please reduce the length of the messages or ` +
			`completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, 1048576},
		{"openai", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and ` +
			`try again.","code":"context_length_exceeded"}}`, 0},
		{"vllm", 400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's ` +
			`maximum context length is 4096 tokens and your request has 200 input tokens","type":"BadRequestError","code":400}`, 4096},
		{"openrouter", 400, `{"error":{"message":"This endpoint's maximum context length is 163840 tokens. However, you ` +
			`requested about 200000 tokens","code":400}}`, 163840},
		{"openrouter inside", 400, `{"error":{"message":"Provider returned ` +
			`error","code":400,"metadata":{"raw":"{\"message\":\"This model's maximum context length is 65,536 tokens.\"}"}}}`, 65536},
		{"anthropic", 400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, 200000},
		{"anthropic, with the answer", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: ` +
				`188240 + 21333 > 200000, decrease input length or max_tokens and try again"}}`, 200000},
		{"llamacpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing ` +
			`it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, 4096},
		{"llamacpp, old", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"server_error"}}`, 0},
		{"mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model ` +
			`with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, 32768},
		{"gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens ` +
			`allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, 1048576},
		{"xai", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but ` +
			`the request contains 537812 tokens."}`, 131072},
		{"moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: ` +
			`263000)","type":"invalid_request_error"}}`, 262144},
		{"together", 422, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= " +
			"4097. Given: 5000 `inputs` tokens\",\"type\":\"invalid_request_error\"}}", 4097},
		{"lm studio", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is ` +
			`loaded with context length of only 8192 tokens"}`, 8192},
		{"groq", 400, `{"error":{"message":"Please reduce the length of the messages or ` +
			`completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 0},
		{"groq, by the minute", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, ` +
			`Requested 10000","type":"tokens","code":"rate_limit_exceeded"}}`, 0},
		{"absurd limit", 400, `{"error":{"message":"maximum context length is 0 tokens"}}`, 0},
	} {
		e := failed(t, server(t, status(test.status, test.body)), ask)
		if e.Kind != Overflow || e.Limit != test.limit || e.Status != test.status {
			t.Errorf("%s: %+v, want limit %d", test.provider, e, test.limit)
		}
	}
}

func TestNotAnOverflow(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   Kind
	}{
		{400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"}}`, Permanent},
		{400, `{"error":{"message":"Content Exists Risk"}}`, Permanent},
		{401, `{"error":{"message":"no context length for you"}}`, Permanent},
		{402, `{"error":{"message":"Insufficient Balance"}}`, Permanent},
		{404, `{"error":{"message":"model with context length 5000 not found"}}`, Permanent},
		{429, `{"error":{"message":"too many tokens in your context window, slow down"}}`, Transient},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, Permanent},
		{503, `{"error":{"message":"no capacity"}}`, Transient},
	} {
		if e := failed(t, server(t, status(test.status, test.body)), ask); e.Kind != test.want || e.Limit != 0 {
			t.Errorf("%s: %+v, want %v", test.body, e, test.want)
		}
	}
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		headers []string
		want    time.Duration
	}{
		{nil, 0},
		{[]string{"Retry-After: 30"}, 30 * time.Second},
		{[]string{"Retry-After:  0.25 "}, 250 * time.Millisecond},
		{[]string{"Retry-After: 0"}, 0},
		{[]string{"Retry-After: -3"}, 0},
		{[]string{"Retry-After: NaN"}, 0},
		{[]string{"Retry-After: soon"}, 0},
		{[]string{"Retry-After: 1e300"}, 365 * 24 * time.Hour},
		{[]string{"Retry-After: Fri, 20 Nov 2026 12:01:30 GMT"}, 90 * time.Second},
		{[]string{"Retry-After: Friday, 20-Nov-26 12:01:30 GMT"}, 90 * time.Second},
		{[]string{"Retry-After: Fri, 20 Nov 2026 11:00:00 GMT"}, 0},
	} {
		h := http.Header{}
		for _, line := range test.headers {
			name, value, _ := strings.Cut(line, ": ")
			h.Set(name, value)
		}
		if got := retryAfter(h, now); got != test.want {
			t.Errorf("%v: %v, want %v", test.headers, got, test.want)
		}
	}
}
