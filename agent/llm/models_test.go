package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// elsewhere brings requests for any host to one server, which sees the host that was meant.
type elsewhere struct{ server string }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", e.server // r.Host stays
	return http.DefaultTransport.RoundTrip(r)
}

// Each name reaches the provider that it means, with that one's key, its own dialect, the bare model and the effort.
func TestModels(t *testing.T) {
	noKeys(t)
	t.Setenv("OPENAI_API_KEY", "sk-of-openai")
	t.Setenv("DEEPSEEK_API_KEY", "sk-of-deepseek")
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model  string `json:"model"`
			Effort string `json:"reasoning_effort"`
			Think  string // Ollama's
			User   string `json:"prompt_cache_key"`
		}
		lethetest.Must(t, json.NewDecoder(r.Body).Decode(&body))
		got = strings.Join([]string{r.Host, r.Header.Get("Authorization"), body.Model, body.Effort + body.Think, body.User}, " ")
		text(whole)(w, r)
	}))
	defer srv.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	m := Models{client(t, Config{Transport: elsewhere{strings.TrimPrefix(srv.URL, "http://")}})}
	for name, want := range map[string]string{
		"deepseek-flash":          "api.deepseek.com Bearer sk-of-deepseek deepseek-flash low ",
		"deepseek:deepseek-flash": "api.deepseek.com Bearer sk-of-deepseek deepseek-flash low ",
		"deepseek-v4-pro@max":     "api.deepseek.com Bearer sk-of-deepseek deepseek-v4-pro max ",
		"openai:gpt-5.1@high":     "api.openai.com Bearer sk-of-openai gpt-5.1 high me",
		"ollama:mistral:7b":       "127.0.0.1:11434  mistral:7b low ",
		"meta/llama:free":         "api.deepseek.com Bearer sk-of-deepseek meta/llama:free low ",
		"mistral:mistral-small":   "call mistral:mistral-small: no api key for mistral: MISTRAL_API_KEY is not set",
		"custom:x":                "call custom:x: use preset custom: no base url",
	} {
		got = ""
		_, err := m.Complete(t.Context(), Request{Model: name, Messages: ask.Messages, Effort: "low", UserID: "me"}, nil)
		if err != nil {
			got = err.Error()
			if KindOf(err) != Permanent || errors.Is(err, ErrNoKey) != strings.Contains(got, "no api key") {
				t.Errorf("%s: %#v", name, err)
			}
		}
		if got != want {
			t.Errorf("%s asks\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestSettle(t *testing.T) {
	for _, c := range []struct{ name, inUse, configured, want string }{
		{"", "openai:gpt-5.1", "deepseek", ""},
		{"m", "", "deepseek", "m"},
		{"m", "old", "deepseek", "m"},
		{"m@high", "openai:gpt-5.1@low", "deepseek", "openai:m@high"},
		{"deepseek:m", "openai:gpt-5.1", "deepseek", "m"},
		{"deepseek:@max", "openai:gpt-5.1", "deepseek", "deepseek-v4-pro@max"},
		{"openai:", "m", "deepseek", "openai:gpt-5.1"},
		{"ollama:mistral:7b", "qwen3", "ollama", "ollama:mistral:7b"},
		{"ollama:qwen3:8b", "openai:m", "ollama", "qwen3:8b"},
	} {
		got := Settle(c.name, c.inUse, c.configured)
		if got != c.want || Settle(got, "", c.configured) != got {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
