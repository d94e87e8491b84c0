package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"lethe/internal/secret"
)

// PresetInfo describes the dialect of one provider. Zero values are the plain
// OpenAI dialect.
type PresetInfo struct {
	Name        string
	BaseURL     string // with final slash; "" for custom
	KeyEnv      string // environment variable of the key
	KeyRequired bool   // BaseURL's host refuses calls without a key
	Model       string // default model, or ""

	Dialect       string // Anthropic or Ollama; "" is OpenAI's, which the fields below vary
	MaxField      string // field of MaxTokens; "" is max_tokens
	UserField     string // field of UserID; "" leaves it out
	ThinkingField string // field of Thinking, or of an object in a field; "" leaves it out
	EffortField   string // field of Effort, likewise
	MaxEffort     string // the provider's word for Effort "max"; "" is high
	NoEffort      string // the effort to send if Thinking is disabled; "" leaves it out
	// ToolsOrThinking are beginnings of names of models that refuse to think if there are tools.
	ToolsOrThinking string
	Slow            bool // may say nothing for minutes, and answer then
	NoUsageFlag     bool // refuses stream_options; sends usage unasked

	// ReasoningField is the field in which an assistant message carries its reasoning
	// back; "" drops it, because the provider refuses unknown fields. A reply's
	// reasoning is understood under either name.
	ReasoningField string
	// ReasoningPlaceholder stands in for missing reasoning on assistant messages
	// with calls, and with ReasoningAlways on every assistant message, unless Request.Spare.
	ReasoningPlaceholder string
	ReasoningAlways      bool

	// OpaqueField is the field in which a provider wants its JSON back: "reasoning_details" of a message, in the place of
	// its reasoning, or "extra_content" of a call. "" drops it.
	OpaqueField string
	// OpaqueStandIn fills that field of a reply's first call if the provider sent nothing for it.
	OpaqueStandIn string

	Alternate bool // user and assistant must take turns, and a result is no user's turn; see Message.Aside
	ShortIDs  bool // call ids must be nine letters or digits
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

// endpoint returns the address of requests.
func (t target) endpoint() string {
	switch t.preset.Dialect {
	case Anthropic:
		return t.base.String() + "messages"
	case Ollama:
		return t.beside("api/chat")
	}
	return t.base.String() + "chat/completions"
}

// owns says whether u is an address of the provider itself.
func (p PresetInfo) owns(u *url.URL) bool {
	own, _ := url.Parse(p.BaseURL) // of the table
	bothHere := loopback(u) && loopback(own)
	sameHost := bothHere || strings.EqualFold(u.Hostname(), own.Hostname())
	samePort := u.Scheme == own.Scheme && port(u) == port(own)
	return samePort && sameHost
}

func port(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return cmp.Or(u.Port(), usual[u.Scheme])
}

func loopback(u *url.URL) bool {
	return strings.EqualFold(u.Hostname(), "localhost") || net.ParseIP(u.Hostname()).IsLoopback()
}

// target is the address of calls, with the dialect there and the key.
type target struct {
	preset PresetInfo
	base   *url.URL // with final slash
	key    string
	keyEnv string // the variable that was asked for the key, "" when it was given
}

// aim settles preset, address and key of a configuration.
func aim(conf Config) (t target, err error) {
	if t.preset, err = conf.Chosen(); err != nil {
		return t, err
	}
	address := cmp.Or(conf.BaseURL, t.preset.BaseURL)
	if address == "" {
		return t, fmt.Errorf("use preset %s: no base url", t.preset.Name)
	}
	if t.base, err = parseBase(address); err != nil {
		return t, err
	}
	if t.preset.Dialect == Anthropic && t.base.Path == "/" { // as Anthropic's own clients name it
		t.base.Path = "/v1/"
	}
	if err := t.preset.misnamed(conf.Model); err != nil {
		return t, err
	}
	t.key, t.keyEnv, err = keyFor(t.preset, t.base, conf.Key)
	return t, err
}

// Chosen returns the preset that a client of this configuration has.
func (conf Config) Chosen() (p PresetInfo, err error) {
	name := conf.Preset
	if name+conf.BaseURL == "" {
		name = ParseName(conf.Model).Preset
	}
	base, err := parseBase(cmp.Or(conf.BaseURL, presets[0].BaseURL))
	if err != nil {
		return p, err
	}
	for _, p := range presets { // custom, the last one, has no address
		fits := p.BaseURL == "" || p.owns(base)
		unnamed := name == "" && fits
		if unnamed || name == p.Name {
			return p, nil
		}
	}
	return p, fmt.Errorf("use preset %q: unknown, want one of %s", name, strings.Join(Presets(), ", "))
}

// misnamed refuses the name of a model that seems meant for another preset: behind a misspelt preset, or known, with the
// words that follow or without, as a model of that one alone. A server without a key may have models of any name.
func (p PresetInfo) misnamed(model string) error {
	word, _, hasWord := strings.Cut(model, ":")
	isNamed := model == "" || ParseName(model).Preset != ""
	if isNamed || !p.KeyRequired {
		return nil
	}
	for _, other := range presets {
		if hasWord && Slips(word, other.Name) <= 2 {
			return fmt.Errorf("use model %q: there is no preset %q; did you mean %s:?", model, word, other.Name)
		}
	}
	other := ""
	for known := range table() {
		preset, name, _ := strings.Cut(known, ":")
		switch {
		case name != model && !strings.HasPrefix(name, model+"-"):
		case preset == p.Name:
			return nil
		default:
			other = cmp.Or(other, known)
			other = min(other, known) // model itself comes before longer names
		}
	}
	if other != "" {
		preset, name, _ := strings.Cut(other, ":")
		usual, _ := Preset(preset)
		if name != model && strings.HasPrefix(usual.Model, model) {
			other = preset + ":" + usual.Model
		}
		return fmt.Errorf("use model %q of %s: it is one of the preset %s; name it as in %s", model, p.Name, preset, other)
	}
	return nil
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
	path := strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"), "/messages")
	u.Path, u.RawPath = strings.TrimRight(path, "/")+"/", ""
	return u, nil
}

// keyFor finds the key for base and the variable that it is in. A preset's variable
// holds a key for the provider's own host only.
func keyFor(p PresetInfo, base *url.URL, given string) (key, env string, err error) {
	if given != "" {
		return given, "", nil
	}
	if !p.owns(base) { // a named preset at another host, such as a gateway or a test server
		p, _ = Preset("custom")
	}
	key = secret.Value(p.KeyEnv)
	if key == "" && p.KeyRequired {
		return "", "", fmt.Errorf("%w for %s: %s is not set", ErrNoKey, p.Name, p.KeyEnv)
	}
	return key, p.KeyEnv, nil
}
