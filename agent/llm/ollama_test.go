package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// ollama is a client of a server that answers each path of Ollama's API with a text.
func ollama(t *testing.T, answers map[string]string, asked *[]string) *Client {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.URL.Path+" "+string(sent))
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		} else if strings.HasPrefix(answer, `{"error"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	return client(t, Config{Preset: "ollama", BaseURL: srv.URL + "/v1", MaxRetries: -1})
}

// The native API takes the window of a request, and streams lines of JSON. A call has its arguments as an object.
func TestOllama(t *testing.T) {
	noKeys(t)
	const call = `{"function":{"index":0,"name":"LIST","arguments":{"path":"."}}}`
	var asked []string
	c := ollama(t, map[string]string{"/api/chat": `
{"model":"qwen3","message":{"role":"assistant","content":"","thinking":"let me"},"done":false}
{"model":"qwen3","message":{"role":"assistant","content":"I look"},"done":false}
{"model":"qwen3","message":{"role":"assistant","content":"","tool_calls":[` + call + `,` + call + `]},"done":false}
{"model":"qwen3","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":9}
`}, &asked)
	request := Request{Model: "qwen3", Messages: turns(), Window: 8192, MaxTokens: 100, Thinking: "disabled"}
	reply, err := c.Complete(t.Context(), request, nil)
	lethetest.Must(t, err)
	wrongText := reply.Text != "I look" || reply.Reasoning != "let me" || reply.Finish != "stop"
	if wrongText || reply.Usage.Input != 26 || reply.Usage.Output != 9 {
		t.Errorf("%+v", reply)
	}
	if len(reply.Calls) != 2 || reply.Calls[1].Arguments != `{"path":"."}` || reply.Calls[0].ID == reply.Calls[1].ID {
		t.Errorf("calls %+v", reply.Calls)
	}
	path, sent, _ := strings.Cut(asked[0], " ")
	for _, want := range []string{
		`"options":{"num_ctx":8192,"num_predict":100}`, `"truncate":false`, `"shift":false`, `"think":false`, `"tool_name":"LIST"`,
		`"function":{"name":"LIST","arguments":{}}`,
	} {
		if path != "/api/chat" || !strings.Contains(sent, want) {
			t.Errorf("%s lacks %s: %s", path, want, sent)
		}
	}
}

// What a server refuses as too long is an overflow that names the window; a gateway with OpenAI's answers is understood.
func TestOllamaRefuses(t *testing.T) {
	noKeys(t)
	inner, _ := json.Marshal(`{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context size (4096 tokens), ` +
		`try increasing it","type":"exceed_context_size_error"}}`)
	for answer, want := range map[string]string{
		`{"error":` + string(inner) + `}`:                                "overflow 4096",
		`{"error":"the input length exceeds the context length"}`:        "overflow 0",
		`{"model":"m","message":{"content":"half"},"done":false}` + "\n": "truncated 0",
		whole: "answer",
	} {
		var asked []string
		_, err := ollama(t, map[string]string{"/api/chat": answer}, &asked).Complete(t.Context(), ask, nil)
		got := "answer"
		if err != nil {
			got = KindOf(err).String() + " " + word(err.(*Error).Limit)
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s (%v)", answer, got, want, err)
		}
	}
}

// The window of a model is what it was trained with; a life without a limit takes what it is loaded with, or enough.
func TestWindowOfServers(t *testing.T) {
	noKeys(t)
	const show = `{"parameters":"num_ctx   %\nstop \"x\"","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`
	ps := func(window string) string { return `{"models":[{"name":"m:latest","context_length":` + window + `}]}` }
	for name, test := range map[string]struct {
		answers       map[string]string
		window, limit int
	}{
		"nothing told":  {nil, 0, 32768},
		"loaded small":  {map[string]string{"/api/show": show, "/api/ps": ps("4096")}, 40960, 32768},
		"loaded large":  {map[string]string{"/api/show": show, "/api/ps": ps("40960")}, 40960, 40960},
		"a small model": {map[string]string{"/api/show": strings.Replace(show, "40960", "8192", 1)}, 8192, 8192},
		"its own":       {map[string]string{"/api/show": strings.Replace(show, "%", "36864", 1)}, 40960, 36864},
	} {
		var asked []string
		window, limit := ollama(t, test.answers, &asked).Window(t.Context(), "m")
		if window != test.window || limit != test.limit {
			t.Errorf("%s: %d, %d, want %d, %d", name, window, limit, test.window, test.limit)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{
			"/props": `{"default_generation_settings":{"n_ctx":16384}}`, "/v1/models": `{"data":[{"id":"m","meta":{"n_ctx":12288}}]}`,
		}[r.URL.Path])
	}))
	defer srv.Close()
	c := client(t, Config{Preset: "llamacpp", BaseURL: srv.URL + "/v1", MaxRetries: -1})
	window, limit := c.Window(t.Context(), "m")
	_, _, models, err := c.Look(t.Context())
	if window != 16384 || limit != 0 || models["m"].Window != 12288 || err != nil {
		t.Errorf("llama.cpp: %d, %d, %+v, %v", window, limit, models, err)
	}
}
