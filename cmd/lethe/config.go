package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"lethe/agent"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// settings are config.toml. Every key is optional; flags win over them.
type settings struct {
	DefaultIdentity string   `toml:"default_identity"`
	User            string   `toml:"user"`   // your name in rooms
	People          []string `toml:"people"` // who may answer questions, approve calls and raise budgets
	TZ              string   `toml:"tz"`

	Notify []string `toml:"notify"` // "telegram:ada": who is told of what needs a person

	Model struct {
		Preset    string `toml:"preset"`
		BaseURL   string `toml:"base_url"`
		Name      string `toml:"name"`
		MaxTokens int    `toml:"max_tokens"`
		Thinking  string `toml:"thinking"`
		Effort    string `toml:"effort"`
	} `toml:"model"`
	Context struct {
		Limit int `toml:"limit"`
	} `toml:"context"`
	Fade struct {
		Target *float64 `toml:"target"`
	} `toml:"fade"`
	Compactor struct {
		Mode     string `toml:"mode"`
		Model    string `toml:"model"`
		Parallel int    `toml:"parallel"`
	} `toml:"compactor"`
	Prompt struct {
		Order string `toml:"order"`
	} `toml:"prompt"`
	Life struct {
		Lines int `toml:"lines"`
	} `toml:"life"`
	Turn struct {
		MaxSteps int `toml:"max_steps"`
	} `toml:"turn"`
	Chat struct {
		MaxAgentTurns int `toml:"max_agent_turns"`
	} `toml:"chat"`
	Tools struct {
		Bash        string        `toml:"bash"`
		BashTimeout time.Duration `toml:"bash_timeout"`
		Workspace   string        `toml:"workspace"`
		Roots       []string      `toml:"roots"`
		Ask         []string      `toml:"ask"` // calls before which people are asked
	} `toml:"tools"`
	Budget budgetSettings       `toml:"budget"`
	Prices map[string]llm.Price `toml:"prices"` // by model, in USD per million tokens
	Gate   struct {
		Check string `toml:"check"`
	} `toml:"gate"`
	Triggers struct {
		Add string `toml:"add"`
	} `toml:"triggers"`
	Recall struct {
		Hints string `toml:"hints"`
	} `toml:"recall"`
	Reviewer reviewerSettings `toml:"reviewer"`
	Telegram telegramSettings `toml:"telegram"`

	ignored []string // keys that are set and have no effect any more
}

// removedKeys had a meaning in earlier versions.
var removedKeys = []string{
	"recall.embeddings_url", "recall.embeddings_model",
	"telegram.flood", "telegram.flood.user", "telegram.flood.room", "telegram.relay",
}

// readSettings reads config.toml in the home. A missing one is empty; an unknown
// key or a value that makes no sense is refused, by name.
func readSettings(home string) (settings, error) {
	path := configFile(home)
	data, err := readGiven(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, err
	}
	return parseSettings(path, data)
}

// maxGiven bounds a file that a person hands to the program, in bytes.
const maxGiven = 1 << 20

// readGiven reads such a file. One that cannot be meant is called wrongly.
func readGiven(path string) ([]byte, error) {
	data, err := durable.ReadWhole(path, maxGiven)
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLarge) {
		err = usageError{err}
	}
	return data, err
}

func configFile(home string) string { return filepath.Join(home, "config.toml") }

func parseSettings(path string, data []byte) (settings, error) {
	var s settings
	meta, err := toml.Decode(string(data), &s)
	if err != nil {
		return s, usagef("read %s: %w", path, tomlError(err))
	}
	var keys []string
	for _, k := range meta.Undecoded() {
		if slices.Contains(removedKeys, k.String()) {
			s.ignored = append(s.ignored, k.String())
			continue
		}
		if table := strings.Join(k[:len(k)-1], "."); !slices.Contains(keys, table) { // of an unknown table, the table
			keys = append(keys, k.String())
		}
	}
	if len(keys) > 0 {
		return s, unknownKeys(path, keys)
	}
	if err := s.check(); err != nil {
		return s, usagef("read %s: %w", path, err)
	}
	return s, nil
}

// unknownKeys refuses keys, with those that were probably meant.
func unknownKeys(path string, keys []string) error {
	known := settingKeys(reflect.TypeFor[settings](), "")
	var meant []string
	for _, key := range keys {
		if near := nearest(key, known); near != "" {
			meant = append(meant, near)
		}
	}
	what := "docs/configuration.md lists the keys"
	if len(meant) > 0 {
		what = "did you mean: " + strings.Join(meant, ", ")
	}
	return hint(usagef("read %s: unknown key %s", path, strings.Join(keys, ", ")), "%s", what)
}

// tomlError says in plain words what the decoder found.
func tomlError(err error) error {
	text := err.Error()
	if at, rest, ok := strings.Cut(text, "type mismatch for "); ok { // a Go type, which says nothing to people
		_, rest, _ = strings.Cut(rest, ": expected")
		text = at + "expected" + rest
	}
	return errors.New(strings.NewReplacer(
		"toml: ", "", "type slice", "type list", "incompatible types: TOML value has type ", "it is of type ", "; destination has type ", ", and has to be of type ",
		"primitive (string-like)", "string", "map[string]any", "table", "[]any", "list",
		"int64", "integer", "float64", "float",
	).Replace(text))
}

// settingKeys lists the keys that a struct takes, as "table.key".
func settingKeys(t reflect.Type, table string) (keys []string) {
	for f := range t.Fields() {
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		key := table + f.Tag.Get("toml")
		if f.Anonymous {
			keys = append(keys, settingKeys(inner, table)...)
		} else if f.IsExported() {
			keys = append(keys, key)
			if inner.Kind() == reflect.Struct {
				keys = append(keys, settingKeys(inner, key+".")...)
			}
		}
	}
	return keys
}

// zone is whose clocks count.
func (s settings) zone() *time.Location {
	if zone, err := time.LoadLocation(s.TZ); s.TZ != "" && err == nil { // it was checked
		return zone
	}
	return time.Local
}

const (
	modeMechanical = "mechanical" // summaries of heads, tails and keywords, without a model
	hintsOff       = "off"        // nobody is reminded of what it has forgotten
)

// notified are the names of the people that notify lists.
func (s settings) notified() (names []string) {
	for _, entry := range s.Notify {
		names = append(names, strings.TrimPrefix(entry, telegram.Name+":"))
	}
	return names
}

// check refuses values outside of their range.
func (s settings) check() error {
	var faults []error
	unless := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(key, value string, allowed ...string) {
		unless(value == "" || slices.Contains(allowed, value), "%s = %q is none of %s", key, value, strings.Join(allowed, ", "))
	}
	atLeast := func(key string, value, least int) {
		unless(value == 0 || value >= least, "%s = %d is less than %d", key, value, least)
	}
	unless(s.DefaultIdentity == "" || agent.ValidName(s.DefaultIdentity), "default_identity = %q is not a name", s.DefaultIdentity)
	for _, name := range s.People {
		unless(chat.ValidName(name), "people: %q is not a name that a line can be signed with", name)
	}
	_, err := time.LoadLocation(s.TZ)
	unless(err == nil, "tz = %q is not a time zone such as \"Europe/Berlin\"", s.TZ)
	for _, entry := range s.Notify {
		name, ok := strings.CutPrefix(entry, telegram.Name+":")
		unless(ok && name != "" && chat.ValidRoom(chat.NotifyRoom(name)), "notify has %q, which is not of the form \"telegram:NAME\", with a name of letters a-z, digits, _ and -", entry)
	}
	oneOf("model.preset", s.Model.Preset, llm.Presets()...)
	oneOf("model.thinking", s.Model.Thinking, "enabled", "disabled")
	oneOf("model.effort", s.Model.Effort, "low", "high", "max")
	atLeast("model.max_tokens", s.Model.MaxTokens, 256)
	atLeast("context.limit", s.Context.Limit, 1)
	if t := s.Fade.Target; t != nil {
		unless(*t >= 0 && *t <= 1, "fade.target = %g is not between 0 and 1", *t)
	}
	oneOf("compactor.mode", s.Compactor.Mode, "model", modeMechanical)
	atLeast("compactor.parallel", s.Compactor.Parallel, 1)
	oneOf("prompt.order", s.Prompt.Order, "head", mind.OrderTail)
	unless(s.Life.Lines >= 0 && s.Life.Lines <= 50, "life.lines = %d is not between 0 and 50", s.Life.Lines)
	atLeast("turn.max_steps", s.Turn.MaxSteps, 1)
	atLeast("chat.max_agent_turns", s.Chat.MaxAgentTurns, 1)
	oneOf("triggers.add", s.Triggers.Add, agent.AddSpoken, agent.AddAlways)
	oneOf("recall.hints", s.Recall.Hints, "on", hintsOff)
	timeout := s.Tools.BashTimeout // a number without a unit is taken for nanoseconds
	unless(timeout == 0 || timeout >= time.Second, "tools.bash_timeout = %s is not a positive duration of a second or more, such as \"90s\" or \"5m\"", timeout)
	for _, rule := range s.Tools.Ask {
		_, err := tools.ParseRule(rule)
		unless(err == nil, "tools.ask: %w", err)
	}
	oneOf("tools.bash", s.Tools.Bash, tools.BashOff, tools.BashSandbox, tools.BashTrusted)
	faults = append(faults, s.Budget.check())
	for model, p := range s.Prices {
		unless(p.Hit >= 0 && p.Miss > 0 && p.Output > 0 && max(p.Hit, p.Miss, p.Output) <= 1e6, "prices.%q: miss and output have to be given, and hit may be: USD per million tokens, above 0 and up to 1000000", model)
	}
	return errors.Join(append(faults, s.Reviewer.check(), s.Telegram.check())...)
}
