package llm

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// noKeys empties every key variable.
func noKeys(t *testing.T) {
	for _, p := range presets {
		t.Setenv(p.KeyEnv, "")
	}
}

func TestPresetByHost(t *testing.T) {
	noKeys(t)
	for base, want := range map[string]string{
		"https://api.deepseek.com":           "deepseek",
		"https://API.DeepSeek.com:443/v1":    "deepseek",
		"https://api.openai.com/v1":          "openai",
		"https://openrouter.ai/api/v1/":      "openrouter",
		"http://localhost:11434/v1":          "ollama",
		"http://127.0.0.1:11434":             "ollama",
		"http://[::1]:8000/v1":               "vllm",
		"http://api.deepseek.com":            "custom", // not the provider: not encrypted
		"http://api.deepseek.com:443":        "custom",
		"https://api.deepseek.com:8443":      "custom",
		"https://api.deepseek.com.evil.test": "custom",
		"https://evil.test/api.deepseek.com": "custom",
		"http://10.0.0.7:11434/v1":           "custom",
		"http://127.0.0.1:54321/":            "custom",
	} {
		if p, err := (Config{BaseURL: base}).Chosen(); err != nil || p.Name != want {
			t.Errorf("%s: %s, %v, want %s", base, p.Name, err, want)
		}
	}
	if p, err := (Config{Model: "gemini:@high"}).Chosen(); err != nil || p.Name != "gemini" {
		t.Errorf("by the model's name: %s, %v", p.Name, err)
	}
	if _, err := New(Config{Preset: "deepsek"}); err == nil || !strings.Contains(err.Error(), "want one of deepseek") {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://x.test":                         "https://x.test/",
		" https://x.test/ ":                      "https://x.test/",
		"https://x.test//":                       "https://x.test/",
		"https://x.test/v1":                      "https://x.test/v1/",
		"https://x.test/v1/chat/completions":     "https://x.test/v1/",
		"https://x.test/v1/chat/completions/":    "https://x.test/v1/",
		"http://x.test:8080/openai/v1/":          "http://x.test:8080/openai/v1/",
		"https://x.test/chat/completions/really": "https://x.test/chat/completions/really/",
	} {
		if got, err := parseBase(in); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"localhost:8000/v1", "x.test", "ftp://x.test", "https://", "http://%zz", "https://x.test?key=" + testKey,
		"https://" + testKey + "@x.test", "https://x.test/#" + testKey, "http://\x7f" + testKey} {
		if got, err := parseBase(in); err == nil {
			t.Errorf("%q: accepted as %v", in, got)
		} else if strings.Contains(err.Error(), testKey) {
			t.Errorf("%q: the error repeats it: %v", in, err)
		}
	}
	if _, err := New(Config{Preset: "custom"}); err == nil || !strings.Contains(err.Error(), "no base url") {
		t.Errorf("custom without an address: %v", err)
	}
}

func TestKeysStayWithTheirHosts(t *testing.T) {
	const deep, open, own = "sk-of-deepseek", "sk-of-openai", "sk-of-lethe"
	for name, test := range map[string]struct {
		conf Config
		env  map[string]string
		want string
	}{
		"own host": {Config{}, map[string]string{"DEEPSEEK_API_KEY": deep, "OPENAI_API_KEY": open}, deep},
		"preset":   {Config{Preset: "openai"}, map[string]string{"DEEPSEEK_API_KEY": deep, "OPENAI_API_KEY": open}, open},
		"by host": {Config{BaseURL: "https://api.openai.com/v1"},
			map[string]string{"DEEPSEEK_API_KEY": deep, "OPENAI_API_KEY": open}, open},
		"gateway": {Config{Preset: "deepseek", BaseURL: "https://gw.test"}, map[string]string{"DEEPSEEK_API_KEY": deep}, ""},
		"gateway's key": {Config{Preset: "deepseek", BaseURL: "https://gw.test"},
			map[string]string{"DEEPSEEK_API_KEY": deep, "LETHE_API_KEY": own}, own},
		"custom": {Config{BaseURL: "https://gw.test"}, map[string]string{"DEEPSEEK_API_KEY": deep, "LETHE_API_KEY": own}, own},
		"in the clear": {Config{Preset: "deepseek", BaseURL: "http://api.deepseek.com:443"},
			map[string]string{"DEEPSEEK_API_KEY": deep}, ""},
		"another provider": {Config{Preset: "deepseek", BaseURL: "https://api.openai.com/v1"},
			map[string]string{"DEEPSEEK_API_KEY": deep}, ""},
		"local server":            {Config{Preset: "ollama"}, map[string]string{"DEEPSEEK_API_KEY": deep}, ""},
		"local server with a key": {Config{Preset: "vllm", BaseURL: "http://localhost:8000/v1"}, map[string]string{"VLLM_API_KEY": own}, own},
		"explicit":                {Config{BaseURL: "https://gw.test", Key: "own"}, nil, "own"},
		"explicit, own host":      {Config{Key: deep}, map[string]string{"DEEPSEEK_API_KEY": deep}, deep},
	} {
		t.Run(name, func(t *testing.T) {
			noKeys(t)
			for k, v := range test.env {
				t.Setenv(k, v)
			}
			got, err := aim(test.conf)
			if err != nil || got.key != test.want {
				t.Errorf("key %q, %v", got.key, err)
			}
		})
	}
}

func TestMissingKey(t *testing.T) {
	noKeys(t)
	for _, name := range Presets() {
		p, _ := Preset(name)
		c, err := New(Config{Preset: name})
		switch {
		case p.KeyRequired && (!errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), p.KeyEnv)):
			t.Errorf("%s: %v", name, err)
		case !p.KeyRequired && p.BaseURL != "" && err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

// The name of a model that is meant for another preset is refused before anything is sent.
func TestNamesOfAnotherPreset(t *testing.T) {
	noKeys(t)
	for model, want := range map[string]string{
		"anthropc:claude-opus-5-5": "did you mean anthropic:?",
		"claude":                   "one of the preset anthropic; name it as in anthropic:claude-sonnet-5-5",
		"gpt-5.1":                  "name it as in openai:gpt-5.1",
	} {
		_, err := New(Config{Model: model, Key: "k"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	for _, conf := range []Config{
		{Model: "deepseek-flash", Key: "k"}, {Model: "new-model", Key: "k"}, {Preset: "ollama", Model: "mixtral:8x7b"},
		{Model: "anthropic:claude-opus-5-5", Key: "k"}, {BaseURL: "https://gw.test", Model: "claude"},
		{Preset: "openrouter", Model: "mistralai/mixtral-8x7b:free", Key: "k"}, {Preset: "openai", Model: "m", Key: "k"},
	} {
		client, err := New(conf)
		if err != nil {
			t.Errorf("%+v: %v", conf, err)
			continue
		}
		client.Close()
	}
}

// Anthropic's address is named with its /v1, or as Anthropic's own clients name it.
func TestAnthropicsBase(t *testing.T) {
	for _, base := range []string{"https://api.anthropic.com", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"} {
		got, err := aim(Config{Preset: "anthropic", BaseURL: base, Key: "k"})
		if err != nil || got.base.String() != "https://api.anthropic.com/v1/" {
			t.Errorf("%s: %v, %v", base, got.base, err)
		}
	}
}

// A key stays away from a gateway, and the error says why.
func TestGatewayWithoutAKey(t *testing.T) {
	noKeys(t)
	t.Setenv("OPENAI_API_KEY", testKey)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent")
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	conf := Config{Preset: "openai", BaseURL: server.URL, MaxRetries: -1}
	said := func() string {
		client, err := New(conf)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Complete(t.Context(), Request{Model: "m", MaxTokens: 10}, nil)
		return fmt.Sprint(err)
	}
	want := "OPENAI_API_KEY goes to the provider's own address alone: set LETHE_API_KEY"
	if got := said(); !strings.Contains(got, want) {
		t.Errorf("%s, want %q", got, want)
	}
	server.Close()
	conf.Preset = "ollama"
	if got := said(); !strings.HasSuffix(got, "Is Ollama running?") {
		t.Error(got)
	}
}

// Ollama's refusal of a model that it has not says where to find one.
func TestModelThatOllamaHasNot(t *testing.T) {
	noKeys(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := New(Config{Preset: "ollama", BaseURL: server.URL, MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Complete(t.Context(), Request{Model: "qwen3", MaxTokens: 10}, nil)
	if got := fmt.Sprint(err); !strings.HasSuffix(got, "ollama pull NAME gets another one") {
		t.Error(got)
	}
}

// Models of servers that run on this machine are found; what does not answer costs half a second.
func TestServersHere(t *testing.T) {
	noKeys(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"qwen3:8b"},{"id":"mistral:7b"}]}`)
	}))
	defer server.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	before := slices.Clone(presets)
	defer func() { presets = before }()
	presets = slices.Clone(presets)
	for i := range presets {
		switch presets[i].Name {
		case "ollama":
			presets[i].BaseURL = server.URL + "/v1/"
		case "vllm", "lmstudio", "llamacpp":
			presets[i].BaseURL = "http://" + silent.Addr().String() + "/v1/"
		}
	}
	got := Here(t.Context())
	if !slices.Equal(got, []string{"ollama:mistral:7b", "ollama:qwen3:8b"}) {
		t.Errorf("found %q", got)
	}
	known := Known{}
	known.Learn("ollama", Known{"mistral:7b": {Window: 4096}})
	if info, _ := known.Of("ollama:mistral:7b"); info.Window != 4096 {
		t.Errorf("learned %v", known)
	}
}
