package llm

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Models asks any model by its Name. A name without a preset means a model of the Client's own preset. Models of other
// presets are asked with the same patience at the provider's own address, with the key of its variable.
type Models struct{ *Client }

// Of returns the client that asks a model. The error is a Permanent *Error, which wraps ErrNoKey where there is no key.
func (m Models) Of(name string) (*Client, Name, error) {
	n := ParseName(name)
	if n.Preset == "" || n.Preset == m.preset.Name {
		return m.Client, n, nil
	}
	t, err := aim(Config{Preset: n.Preset})
	if err != nil {
		return nil, n, &Error{Kind: Permanent, Model: clean(name, 100), Message: clean(err.Error(), 300), Err: err}
	}
	c := *m.Client
	c.target = t
	return &c, n, nil
}

// Complete calls Complete of the client that Of returns. An effort in the name goes before r's.
func (m Models) Complete(ctx context.Context, r Request, on func(Delta)) (Reply, error) {
	c, n, err := m.Of(r.Model)
	if err != nil {
		return Reply{}, err
	}
	r.Model, r.Effort = n.Model, cmp.Or(n.Effort, r.Effort)
	return c.Complete(ctx, r, on)
}

// Name is a model as people name it: preset:model@effort, where preset and effort may be left out. A word before a
// colon that is no preset belongs to the model, as in qwen3:8b.
type Name struct {
	Preset string // "" for the configured one
	Model  string // as its provider names it; "" for the preset's default
	Effort string // low, high or max; "" for the configured one
}

// String is the name as ParseName reads it.
func (n Name) String() string {
	s := n.Model
	if n.Preset != "" {
		s = n.Preset + ":" + s
	}
	if n.Effort != "" {
		s += "@" + n.Effort
	}
	return s
}

// ParseName reads a name. It understands every text.
func ParseName(s string) (n Name) {
	n.Model = s
	if preset, model, found := strings.Cut(s, ":"); found && slices.Contains(Presets(), preset) {
		n.Preset, n.Model = preset, model
	}
	if i := strings.LastIndexByte(n.Model, '@'); i >= 0 && slices.Contains([]string{"low", "high", "max"}, n.Model[i+1:]) {
		n.Model, n.Effort = n.Model[:i], n.Model[i+1:]
	}
	return n
}

// Named returns Model as ParseName reads it. Beside an address, or a preset that needs no key, mistral:7b is a model
// of that server, unless the table knows it as one of the preset mistral.
func (conf Config) Named() string {
	server, err := conf.Chosen()
	isAlone := conf.Preset+conf.BaseURL == ""
	if isAlone || err != nil {
		return conf.Model
	}
	return cmp.Or(table().Doubt(conf.Model, server.Name), conf.Model)
}

// Doubt returns how to name a server's own model that name, which begins with another preset, may mean as well. Only a
// server without keys takes models of any name. It returns "" where there is no doubt.
func (k Known) Doubt(name, server string) string {
	n := ParseName(name)
	preset, found := Preset(server)
	_, isKnown := k[n.Preset+":"+n.Model]
	isOther := n.Preset != "" && n.Preset != server && n.Model != ""
	takesAny := found && !preset.KeyRequired
	if takesAny && isOther && !isKnown {
		return server + ":" + name
	}
	return ""
}

// Settle returns the form of a name that is kept. A name without a preset, or of a model that k knows of the server in
// use, takes the preset in use. The configured preset is left out. A preset alone stands for its default model. ""
// stays "".
func (k Known) Settle(name, inUse, configured string) string {
	n := ParseName(name)
	if name == "" {
		return ""
	}
	uses := ParseName(inUse).Preset
	own := Name{Preset: cmp.Or(uses, configured), Model: Name{Preset: n.Preset, Model: n.Model}.String()}
	if _, isOwn := k[own.String()]; isOwn {
		n.Preset, n.Model = own.Preset, own.Model
	}
	n.Preset = cmp.Or(n.Preset, uses)
	if n.Model == "" {
		preset, _ := Preset(cmp.Or(n.Preset, configured))
		n.Model = preset.Model
	}
	if n.Preset == configured && ParseName(n.Model).Preset == "" {
		n.Preset = ""
	}
	return n.String()
}

// Explicit returns a name with its preset; with the configured one if it names no preset.
func Explicit(name, configured string) string {
	if configured == "" || ParseName(name).Preset != "" {
		return name
	}
	return configured + ":" + name
}

// Slips counts the letters that differ in two words: changed, missing, added, or in the place of the next one.
func Slips(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i == 0 || j == 0 {
				continue
			}
			if isSwapped := a[i] == b[j-1] && a[i-1] == b[j]; isSwapped {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
