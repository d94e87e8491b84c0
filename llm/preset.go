package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// PresetInfo is what one provider wants differently. Zero values are the plain
// OpenAI dialect.
type PresetInfo struct {
	Name        string
	BaseURL     string // with final slash; "" for custom
	KeyEnv      string // environment variable of the key
	KeyRequired bool   // BaseURL's host refuses calls without a key
	Model       string // default model, "" when there is none

	MaxField    string        // field of MaxTokens; "" is max_tokens
	UserField   string        // field of UserID; "" leaves it out
	Thinking    ThinkingStyle // how Thinking and Effort are written
	MaxEffort   string        // the provider's word for Effort "max"; "" is high
	NoUsageFlag bool          // refuses stream_options; sends usage unasked

	// ReasoningField is where an assistant message carries its reasoning back;
	// "" drops it, because the provider refuses unknown fields. What comes in is
	// understood under either name.
	ReasoningField string
	// ReasoningPlaceholder stands in for missing reasoning on assistant messages
	// with calls, and with ReasoningAlways on every assistant message.
	ReasoningPlaceholder string
	ReasoningAlways      bool

	Alternate bool // user and assistant must take turns, and a result is no user's turn; see Message.Aside
	ShortIDs  bool // call ids must be nine letters or digits
}

// ThinkingStyle is how a request says whether and how hard to think.
type ThinkingStyle int

const (
	ThinkingNone     ThinkingStyle = iota // not said at all
	ThinkingObject                        // thinking: {type}, reasoning_effort
	ThinkingNested                        // reasoning: {enabled, effort}
	ThinkingEffort                        // reasoning_effort alone, "none" for disabled
	ThinkingLevel                         // reasoning_effort alone; disabling is not said
	ThinkingTemplate                      // chat_template_kwargs: {enable_thinking, reasoning_effort}
)

// noReasoning is fixed: it is part of the bytes of a life.
const noReasoning = "(no reasoning recorded)"

// presets is the table of providers, sources: their API references, and what
// they were seen to refuse. Mistral and Groq answer 4xx to any field they do
// not know; Mistral also to call ids that are not nine alphanumerics and to a
// user message right after a tool's. Chat templates served by vLLM and
// llama.cpp raise when roles do not alternate.
var presets = []PresetInfo{
	{Name: "deepseek", BaseURL: "https://api.deepseek.com/", KeyEnv: "DEEPSEEK_API_KEY", KeyRequired: true,
		Model: "deepseek-v4-pro", UserField: "user_id", Thinking: ThinkingObject, MaxEffort: "max",
		ReasoningField: "reasoning_content", ReasoningPlaceholder: noReasoning},
	{Name: "openai", BaseURL: "https://api.openai.com/v1/", KeyEnv: "OPENAI_API_KEY", KeyRequired: true,
		Model: "gpt-5.1", MaxField: "max_completion_tokens", UserField: "prompt_cache_key",
		Thinking: ThinkingEffort},
	{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1/", KeyEnv: "OPENROUTER_API_KEY", KeyRequired: true,
		Model: "deepseek/deepseek-v4-pro", UserField: "user",
		Thinking: ThinkingNested, MaxEffort: "xhigh",
		ReasoningField: "reasoning", ReasoningPlaceholder: noReasoning},
	{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1/", KeyEnv: "OLLAMA_API_KEY",
		Model: "qwen3", Thinking: ThinkingEffort, ReasoningField: "reasoning"},
	{Name: "groq", BaseURL: "https://api.groq.com/openai/v1/", KeyEnv: "GROQ_API_KEY", KeyRequired: true,
		Model: "openai/gpt-oss-120b", MaxField: "max_completion_tokens", UserField: "user", Thinking: ThinkingLevel},
	{Name: "mistral", BaseURL: "https://api.mistral.ai/v1/", KeyEnv: "MISTRAL_API_KEY", KeyRequired: true,
		Model: "mistral-large-latest", NoUsageFlag: true, Alternate: true, ShortIDs: true},
	{Name: "together", BaseURL: "https://api.together.xyz/v1/", KeyEnv: "TOGETHER_API_KEY", KeyRequired: true,
		Model: "deepseek-ai/DeepSeek-V3.1", Thinking: ThinkingNested},
	{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1/", KeyEnv: "VLLM_API_KEY",
		MaxField: "max_tokens", Thinking: ThinkingTemplate, ReasoningField: "reasoning", Alternate: true},
	{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1/", KeyEnv: "LLAMA_API_KEY",
		Model: "default", Thinking: ThinkingTemplate,
		ReasoningField: "reasoning_content", Alternate: true},
	{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1/", KeyEnv: "LMSTUDIO_API_KEY",
		MaxField: "max_tokens", Alternate: true},
	// custom is any other gateway: the plainest parameters, and messages that
	// satisfy the strictest one.
	{Name: "custom", KeyEnv: "LETHE_API_KEY", Alternate: true,
		ReasoningField: "reasoning_content", ReasoningPlaceholder: noReasoning, ReasoningAlways: true},
}

// Preset returns the preset of that name.
func Preset(name string) (PresetInfo, bool) {
	for _, p := range presets {
		if p.Name == name {
			return p, true
		}
	}
	return PresetInfo{}, false
}

// Presets returns the names of all presets, the default first.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// owns says whether u is an address of the provider itself.
func (p PresetInfo) owns(u *url.URL) bool {
	own, err := url.Parse(p.BaseURL)
	if err != nil || p.BaseURL == "" {
		return false
	}
	sameHost := strings.EqualFold(u.Hostname(), own.Hostname()) || loopback(u) && loopback(own)
	return u.Scheme == own.Scheme && port(u) == port(own) && sameHost
}

func port(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return cmp.Or(u.Port(), usual[u.Scheme])
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || (ip != nil && ip.IsLoopback())
}

// target is where calls go, under which rules, with which key.
type target struct {
	preset PresetInfo
	base   *url.URL // with final slash
	key    string
	keyEnv string // the variable that was asked for the key, "" when it was given
}

// aim settles preset, address and key of a configuration.
func aim(conf Config) (target, error) {
	var t target
	var err error
	if conf.BaseURL != "" {
		if t.base, err = parseBase(conf.BaseURL); err != nil {
			return target{}, err
		}
	}
	if t.preset, err = choose(conf.Preset, t.base); err != nil {
		return target{}, err
	}
	if t.base == nil {
		if t.preset.BaseURL == "" {
			return target{}, fmt.Errorf("use preset %s: no base url", t.preset.Name)
		}
		if t.base, err = parseBase(t.preset.BaseURL); err != nil {
			return target{}, err
		}
	}
	t.key, t.keyEnv, err = keyFor(t.preset, t.base, conf.Key)
	return t, err
}

func choose(name string, base *url.URL) (PresetInfo, error) {
	for _, p := range presets {
		if name == p.Name || name == "" && (base == nil || p.owns(base)) {
			return p, nil
		}
	}
	if name != "" {
		return PresetInfo{}, fmt.Errorf("use preset %q: unknown, want one of %s", name, strings.Join(Presets(), ", "))
	}
	p, _ := Preset("custom")
	return p, nil
}

// parseBase accepts an address with or without its final slash, and also the
// full address of the endpoint. Its errors do not repeat the address: people
// put keys into it.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, errors.New("parse base url: not a valid url")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("parse base url: want http:// or https:// and a host")
	case u.User != nil:
		return nil, errors.New("parse base url: holds a user or password, want them as the key")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("parse base url: holds a query or fragment")
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.Path, u.RawPath = strings.TrimRight(path, "/")+"/", ""
	return u, nil
}

// keyFor finds the key for base and the variable that it is in. A preset's variable
// holds a key for the provider's own host only.
func keyFor(p PresetInfo, base *url.URL, given string) (key, env string, err error) {
	if given != "" {
		return given, "", nil
	}
	if p.BaseURL != "" && !p.owns(base) { // a named preset at another host, such as a gateway or a test server
		p, _ = Preset("custom")
	}
	key = strings.TrimSpace(os.Getenv(p.KeyEnv))
	if key == "" && p.KeyRequired {
		return "", "", fmt.Errorf("%w for %s: %s is not set", ErrNoKey, p.Name, p.KeyEnv)
	}
	return key, p.KeyEnv, nil
}
