package llm

import (
	"cmp"
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
		got := Known{}.Settle(c.name, c.inUse, c.configured)
		if got != c.want || (Known{}).Settle(got, "", c.configured) != got {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A model of a server without keys may be called as a preset is: beside that server's preset or address the name means
// it, and while that server is in use, if it lists the name. The table's models are always those of their presets.
func TestNamesLikePresets(t *testing.T) {
	const opus, small = "anthropic:claude-opus-5-5", "mistral:mistral-small-latest"
	for conf, want := range map[[3]string]string{
		{"ollama", "", "mistral:7b"}:            "ollama:mistral:7b",
		{"ollama", "", "mistral:7b@high"}:       "ollama:mistral:7b@high",
		{"ollama", "", "ollama:mistral:7b"}:     "ollama:mistral:7b",
		{"ollama", "", "qwen3:8b"}:              "qwen3:8b",
		{"ollama", "", opus}:                    opus,
		{"ollama", "", small + "@low"}:          small + "@low",
		{"", "http://gw.test/v1", "mistral:7b"}: "custom:mistral:7b",
		{"", "", "mistral:7b"}:                  "mistral:7b",
		{"openai", "", "mistral:a-new-one"}:     "mistral:a-new-one",
		{"nonsense", "", "mistral:7b"}:          "mistral:7b",
		{"lmstudio", "", "anthropic:"}:          "anthropic:",
	} {
		if got := (Config{Preset: conf[0], BaseURL: conf[1], Model: conf[2]}).Named(); got != want {
			t.Errorf("%q means %s, want %s", conf, got, want)
		}
	}
	known := Know("ollama")
	known.Learn("ollama", Known{"mistral:7b": {}, "qwen3:8b": {}})
	for _, c := range []struct{ name, inUse, want, doubt string }{
		{"mistral:7b", "qwen3:8b", "ollama:mistral:7b", ""},
		{"mistral:7b@low", "ollama:mistral:7b", "ollama:mistral:7b@low", ""},
		{"mistral:8x7b", "qwen3:8b", "mistral:8x7b", "ollama:mistral:8x7b"},
		{"anthropic:claude-x", "qwen3:8b", "anthropic:claude-x", "ollama:anthropic:claude-x"},
		{opus, "qwen3:8b", opus, ""},
		{"mistral:7b", "openai:gpt-5.1", "mistral:7b", ""},
	} {
		got := known.Settle(c.name, c.inUse, "ollama")
		if doubt := known.Doubt(got, cmp.Or(ParseName(c.inUse).Preset, "ollama")); got != c.want || doubt != c.doubt {
			t.Errorf("%+v: %s, in doubt %q", c, got, doubt)
		}
	}
}
