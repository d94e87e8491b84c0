// Package config reads config.toml: the settings of a home, checked.
//
//	var settings config.Settings
//	err := config.Read(home, &settings) // a missing file changes nothing
//
// A key that nobody knows and a value that makes no sense are refused, by name, with an
// *Error. The table of a bridge is understood by that bridge: a program that runs one embeds
// Settings in a struct with that table, and other programs pass over it.
package config

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"lethe/agent/llm"
	"lethe/agent/share/hosts"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
	"lethe/agent/tools/web"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life"
)

const (
	DefaultName = "lethe" // of an identity that nobody named
	DefaultRoom = "dev"   // that it hears
)

// Settings are config.toml. Every key is optional; flags win over them. The tags one and least say which values there
// are.
type Settings struct {
	DefaultIdentity string   `toml:"default_identity"`
	User            string   `toml:"user"`   // your name in rooms
	People          []string `toml:"people"` // who may answer questions, approve calls and raise budgets
	TZ              string   `toml:"tz"`

	Notify []string `toml:"notify"` // "telegram:ada", "push": they are told when a person is needed

	Share hosts.Config `toml:"share"`

	Model struct {
		Preset        string        `toml:"preset"`
		BaseURL       string        `toml:"base_url"`
		Name          string        `toml:"name"`
		Fallback      []string      `toml:"fallback"` // models that stand in when the model does not answer
		MaxTokens     int           `toml:"max_tokens" least:"256"`
		Thinking      string        `toml:"thinking" one:"enabled disabled"`
		Effort        string        `toml:"effort" one:"low high max"`
		AnswerTimeout time.Duration `toml:"answer_timeout"`
	} `toml:"model"`
	Context struct {
		Limit int `toml:"limit" least:"1"`
	} `toml:"context"`
	Fade struct {
		Target *float64 `toml:"target"`
	} `toml:"fade"`
	Compactor struct {
		Mode     string `toml:"mode" one:"model mechanical"`
		Model    string `toml:"model"`
		Parallel int    `toml:"parallel" least:"1"`
	} `toml:"compactor"`
	Prompt struct {
		Order string `toml:"order" one:"head tail"`
	} `toml:"prompt"`
	Life struct {
		Lines int `toml:"lines"`
	} `toml:"life"`
	Turn struct {
		MaxSteps int `toml:"max_steps" least:"1"`
	} `toml:"turn"`
	Chat struct {
		MaxAgentTurns int `toml:"max_agent_turns" least:"1"`
	} `toml:"chat"`
	Tools struct {
		Bash        string        `toml:"bash" one:"off sandbox trusted"`
		BashTimeout time.Duration `toml:"bash_timeout"`
		Shell       []string      `toml:"shell"` // runs commands elsewhere; empty: here
		Untried     bool          `toml:"shell_untried"`
		Workspace   string        `toml:"workspace"`
		Roots       []string      `toml:"roots"`
		Only        []string      `toml:"only"` // names of the tools that identities have; empty: all
		// Network is NetworkNone where nothing that agents run or call may reach a network: commands, servers of
		// tools, FETCH and SEARCH.
		Network string   `toml:"network" one:"open none"`
		Ask     []string `toml:"ask"` // calls before which people are asked
		AskTime string   `toml:"ask_time"`
	} `toml:"tools"`
	Web    web.Settings          `toml:"web"`
	MCP    map[string]mcp.Server `toml:"mcp"` // servers of tools, by name
	Budget Budget                `toml:"budget"`
	Models map[string]Model      `toml:"models"` // by name: their properties, before llm's table
	Prices map[string]llm.Price  `toml:"prices"` // by name, in USD per million tokens
	Media  struct {
		Transcribe string `toml:"transcribe"` // a command
	} `toml:"media"`
	Gate struct {
		Check string `toml:"check"`
	} `toml:"gate"`
	Triggers struct {
		Add string `toml:"add" one:"spoken always"`
	} `toml:"triggers"`
	Recall struct {
		Hints string `toml:"hints" one:"on off"`
	} `toml:"recall"`
	Secrets  shape.Config `toml:"secrets"`
	Reviewer Reviewer     `toml:"reviewer"`
	Hire     Hire         `toml:"hire"`
	Agents   map[string]struct {
		Wake string `toml:"wake"` // WakeMentions; default: each line
	} `toml:"agents"` // by name

	Ignored []string `toml:"-"` // keys that are set and have lost their effect
}

// Checked is a *Settings, or a pointer to a struct that embeds Settings and has more tables.
type Checked interface {
	Check() error // refuses values
	own() *Settings
}

func (s *Settings) own() *Settings { return s }

// bridgeTables are tables for bridges. A program that does not run bridges passes over them.
var bridgeTables = []string{"telegram", "serve"}

// removedKeys had a meaning in earlier versions.
var removedKeys = []string{
	"budget.turn_usd", "recall.embeddings_url", "recall.embeddings_model",
	"telegram.flood", "telegram.flood.user", "telegram.flood.room", "telegram.relay", "telegram.rich",
}

// Error is a configuration that makes no sense, or a file that holds no settings.
type Error struct {
	error
	hint string
}

func (e *Error) Unwrap() error { return e.error }
func (e *Error) Hint() string  { return e.hint }

// Invalid returns an *Error. hint, which may be empty, is a way out.
func Invalid(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint}
}

// File is the path of config.toml.
func File(home string) string { return filepath.Join(home, "config.toml") }

// Read reads config.toml in the home, and has secret.Value find the keys of its file of keys. A missing file is empty.
// From then on this process strikes secrets as the settings say.
func Read(home string, into Checked) error {
	if err := readKeys(home); err != nil {
		return err
	}
	secret.From(func() { _ = readKeys(home) }) // what was there before stays
	path := File(home)
	data, err := ReadFile(path)
	if err == nil {
		err = Parse(path, data, into)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	shape.Use(into.own().Secrets, func() []byte {
		key, err := life.LoadKey(home)
		if err != nil { // marks cannot be allowed, and say nothing of what they stand for
			return []byte(rand.Text())
		}
		return key.Derive("secrets")
	})
	return nil
}

// maxFile bounds a file that a person hands to the program, in bytes.
const maxFile = 1 << 20

// ReadFile reads such a file. One that cannot be meant, a pipe or a very long one, is an *Error.
func ReadFile(path string) ([]byte, error) {
	data, err := durable.ReadWhole(path, maxFile)
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLarge) {
		err = &Error{err, ""}
	}
	return data, err
}

// Parse reads the text of a config.toml; path is for errors.
func Parse(path string, data []byte, into Checked) error {
	ignored, err := decode(path, data, into)
	if err != nil {
		return err
	}
	into.own().Ignored = append(into.own().Ignored, ignored...)
	if err := into.Check(); err != nil {
		return Invalid("", "read %s: %w", path, err)
	}
	model := &into.own().Model
	model.Name = llm.Config{Preset: model.Preset, BaseURL: model.BaseURL, Model: model.Name}.Named()
	return nil
}

// decode reads a text into a struct, and returns the keys that have lost their effect. It refuses unknown ones.
func decode(path string, data []byte, into any) (ignored []string, err error) {
	meta, err := toml.Decode(string(data), into)
	if err != nil {
		return nil, Invalid("", "read %s: %w", path, tomlError(err))
	}
	known := keysOf(reflect.TypeOf(into).Elem(), "")
	var unknown, meant []string
	for _, k := range meta.Undecoded() {
		key, table := k.String(), strings.Join(k[:len(k)-1], ".")
		switch {
		case slices.Contains(bridgeTables, k[0]) && !slices.Contains(known, k[0]):
		case slices.Contains(removedKeys, key):
			ignored = append(ignored, key)
		case !slices.Contains(unknown, table): // of an unknown table, the table
			unknown = append(unknown, key)
			if near := Nearest(key, known); near != "" {
				meant = append(meant, near)
			}
		}
	}
	for _, k := range meta.Keys() { // the decoder takes a key in any case
		if right := spelled(reflect.TypeOf(into).Elem(), k); right != "" {
			unknown, meant = append(unknown, k.String()), append(meant, right)
		}
	}
	if len(unknown) > 0 {
		what := "docs/configuration.md lists the keys"
		if len(meant) > 0 {
			what = "did you mean: " + strings.Join(meant, ", ")
		}
		return nil, Invalid(what, "read %s: unknown key %s", path, strings.Join(unknown, ", "))
	}
	return ignored, nil
}

// spelled returns the right spelling of a key of a type that is written in another case, or "".
func spelled(t reflect.Type, key toml.Key) string {
	right := slices.Clone(key)
	for i, name := range key {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			field, found := fieldOf(t, name)
			if !found {
				return ""
			}
			right[i], t = field.Tag.Get("toml"), field.Type
			right[i], _, _ = strings.Cut(right[i], ",")
		default:
			return ""
		}
	}
	if slices.Equal(right, key) {
		return ""
	}
	return right.String()
}

// fieldOf returns the field that the decoder takes a key for.
func fieldOf(t reflect.Type, name string) (folded reflect.StructField, found bool) {
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		if tag == name {
			return field, true
		}
		if strings.EqualFold(tag, name) {
			folded, found = field, true
		}
	}
	return folded, found
}

// Nearest is the name that a mistyped word was most probably meant to be, or "".
func Nearest(word string, names []string) string {
	best, most := "", 0
	for _, name := range names {
		like := tools.Alike(strings.ToLower(word), strings.ToLower(name))
		if like > most && !Opposed(word, name) {
			best, most = name, like
		}
	}
	return best
}

// Opposed reports whether one of two words says the opposite of the other, as "no-network" does of "network".
func Opposed(a, b string) bool {
	return slices.ContainsFunc([]string{"no-", "un", "dis"}, func(not string) bool { return a == not+b || b == not+a })
}

// tomlError says in plain words what the decoder found.
func tomlError(err error) error {
	text := err.Error()
	if at, rest, ok := strings.Cut(text, "type mismatch for "); ok { // a Go type, which says nothing to people
		_, rest, _ = strings.Cut(rest, ": expected")
		text = at + "expected" + rest
	}
	return errors.New(strings.NewReplacer(
		"toml: ", "", "type slice", "type list",
		"incompatible types: TOML value has type ", "it is of type ",
		"; destination has type ", ", and has to be of type ",
		"primitive (string-like)", "string", "map[string]any", "table", "[]any", "list",
		"int64", "integer", "float64", "float",
	).Replace(text))
}

// Keys lists the keys that there are, as "table.key".
func Keys(into Checked) []string { return keysOf(reflect.TypeOf(into).Elem(), "") }

func keysOf(t reflect.Type, table string) (keys []string) {
	for f := range t.Fields() {
		inner, key := f.Type, table+f.Tag.Get("toml")
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("toml") == "-" || !f.IsExported():
			continue
		case f.Anonymous:
			key = strings.TrimSuffix(table, ".")
		default:
			keys = append(keys, key)
		}
		if inner.Kind() == reflect.Struct {
			keys = append(keys, keysOf(inner, strings.TrimPrefix(key+".", "."))...)
		}
	}
	return keys
}

// Zone decides when a day begins.
func (s Settings) Zone() *time.Location {
	if zone, err := time.LoadLocation(s.TZ); s.TZ != "" && err == nil { // it was checked
		return zone
	}
	return time.Local
}

const (
	ModeMechanical = "mechanical" // summaries of heads, tails and keywords, without a model
	NetworkNone    = "none"       // agents reach no network
	HintsOff       = "off"        // no hint comes without being asked for
	WakeMentions   = "mentions"   // only lines wake an identity that mention it
)

// The ways to tell people that they are needed: through Telegram, and on the devices of users of the page.
const (
	ByTelegram = "telegram"
	ByPush     = "push"
)

// Notified are the names of the people that notify lists for one of these ways.
func (s Settings) Notified(way string) (names []string) {
	for _, entry := range s.Notify {
		if by, name, _ := strings.Cut(entry, ":"); by == way {
			names = append(names, cmp.Or(name, s.UserName()))
		}
	}
	return names
}

// Mentions says whether an identity is woken only by lines that mention it.
func (s Settings) Mentions(name string) bool { return s.Agents[name].Wake == WakeMentions }

// Workspace returns the workspace of the identity with this directory.
func (s Settings) Workspace(dir string) string {
	return cmp.Or(s.Tools.Workspace, filepath.Join(dir, "workspace"))
}

// UserName is the signature of the person who runs this program.
func (s Settings) UserName() string {
	if s.User != "" {
		return chat.CleanName(s.User)
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return chat.CleanName(filepath.Base(u.Username))
	}
	return "user"
}

// Deciders are the people who may answer questions, approve calls and raise budgets.
func (s Settings) Deciders() []string {
	if s.People != nil {
		return s.People
	}
	return []string{s.UserName()}
}

// Model is a model's table in config.toml. Keys that are left out stay as the table of package llm has them.
type Model struct {
	llm.Info
	Sees *bool `toml:"sees"`
}

// Known returns the models of the settings while preset is in use.
func (s *Settings) Known(preset string) llm.Known {
	known := llm.Know(preset)
	set := func(name string, m Model) {
		info, _ := known.Of(name)
		info.Window, info.Output = cmp.Or(m.Window, info.Window), cmp.Or(m.Output, info.Output)
		info.Price, info.From = cmp.Or(m.Price, info.Price), "config.toml"
		if m.Sees != nil {
			info.Sees = *m.Sees
		}
		known[llm.Explicit(name, preset)] = info
	}
	for name, price := range s.Prices {
		set(name, Model{Info: llm.Info{Price: price}})
	}
	for name, m := range s.Models {
		set(name, m)
	}
	return known
}

// Fits refuses a limit above a model's window.
func Fits(limit int, model string, info llm.Info) error {
	if info.Window == 0 || limit <= info.Window {
		return nil
	}
	return Invalid("if it takes more by now, say so as window in [models]",
		"context.limit = %d is above the window of %s, %d tokens (%s)",
		limit, model, info.Window, info.From)
}
