// Package config reads config.toml: the settings of a home, checked.
//
//	settings, err := config.Read(home) // a missing file is empty settings
//
// A key that nobody knows and a value that makes no sense are refused, by name, with an
// *Error. The table of a bridge is understood by that bridge: a program that runs one hands
// its Table to Read, and other programs pass over it.
package config

import (
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

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/llm"
	"lethe/tools"
)

const (
	DefaultName = "lethe" // of an identity that nobody named
	DefaultRoom = "dev"   // that it hears
)

// Settings are config.toml. Every key is optional; flags win over them.
type Settings struct {
	DefaultIdentity string   `toml:"default_identity"`
	User            string   `toml:"user"`   // your name in rooms
	People          []string `toml:"people"` // who may answer questions, approve calls and raise budgets
	TZ              string   `toml:"tz"`

	Notify []string `toml:"notify"` // "telegram:ada": who is told of what needs a person

	Model struct {
		Preset        string        `toml:"preset"`
		BaseURL       string        `toml:"base_url"`
		Name          string        `toml:"name"`
		MaxTokens     int           `toml:"max_tokens"`
		Thinking      string        `toml:"thinking"`
		Effort        string        `toml:"effort"`
		AnswerTimeout time.Duration `toml:"answer_timeout"`
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
		AskTime     string        `toml:"ask_time"`
	} `toml:"tools"`
	Budget Budget               `toml:"budget"`
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
	Reviewer Reviewer `toml:"reviewer"`

	Ignored []string `toml:"-"` // keys that are set and have no effect any more
}

// Table is a table of config.toml that another package understands.
type Table struct {
	Name  string
	Into  any          // a pointer to the struct that takes its keys
	Check func() error // refuses values, after Into has them
}

// bridgeTables are those of bridges, which a program that does not run them passes over.
var bridgeTables = []string{"telegram", "serve"}

// removedKeys had a meaning in earlier versions.
var removedKeys = []string{
	"budget.turn_usd", "recall.embeddings_url", "recall.embeddings_model",
	"telegram.flood", "telegram.flood.user", "telegram.flood.room", "telegram.relay", "telegram.rich",
}

// Error is a configuration that makes no sense, or a file of settings that is none.
type Error struct {
	error
	hint string
}

func (e *Error) Unwrap() error { return e.error }
func (e *Error) Hint() string  { return e.hint }

// Invalid returns an *Error. hint, which may be empty, says what to do.
func Invalid(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint}
}

// File is the path of config.toml.
func File(home string) string { return filepath.Join(home, "config.toml") }

// Read reads config.toml in the home. A missing one is empty.
func Read(home string, tables ...Table) (Settings, error) {
	path := File(home)
	data, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, err
	}
	return Parse(path, data, tables...)
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
func Parse(path string, data []byte, tables ...Table) (Settings, error) {
	var s Settings
	var raw map[string]toml.Primitive
	meta, err := toml.Decode(string(data), &s)
	if err != nil {
		return s, Invalid("", "read %s: %w", path, tomlError(err))
	}
	theirs, _ := toml.Decode(string(data), &raw) // it is TOML
	passed := slices.Clone(bridgeTables)
	for _, t := range tables {
		passed = slices.DeleteFunc(passed, func(name string) bool { return name == t.Name })
		if value, ok := raw[t.Name]; ok {
			if err := theirs.PrimitiveDecode(value, t.Into); err != nil {
				return s, Invalid("", "read %s: %w", path, tomlError(err))
			}
		}
	}
	unknown := map[string]bool{} // to the tables
	for _, k := range theirs.Undecoded() {
		unknown[k.String()] = true
	}
	var keys []string
	for _, k := range meta.Undecoded() {
		of := slices.ContainsFunc(tables, func(t Table) bool { return t.Name == k[0] })
		if of && !unknown[k.String()] || slices.Contains(passed, k[0]) {
			continue
		}
		if slices.Contains(removedKeys, k.String()) {
			s.Ignored = append(s.Ignored, k.String())
			continue
		}
		if table := strings.Join(k[:len(k)-1], "."); !slices.Contains(keys, table) { // of an unknown table, the table
			keys = append(keys, k.String())
		}
	}
	if len(keys) > 0 {
		return s, unknownKeys(path, keys, tables)
	}
	faults := []error{s.check()}
	for _, t := range tables {
		faults = append(faults, t.Check())
	}
	if err := errors.Join(faults...); err != nil {
		return s, Invalid("", "read %s: %w", path, err)
	}
	return s, nil
}

func unknownKeys(path string, keys []string, tables []Table) error {
	known := Keys(tables...)
	var meant []string
	for _, key := range keys {
		if near := Nearest(key, known); near != "" {
			meant = append(meant, near)
		}
	}
	what := "docs/configuration.md lists the keys"
	if len(meant) > 0 {
		what = "did you mean: " + strings.Join(meant, ", ")
	}
	return Invalid(what, "read %s: unknown key %s", path, strings.Join(keys, ", "))
}

// Nearest is the name that a mistyped word was most probably meant to be, or "".
func Nearest(word string, names []string) string {
	best, most := "", 0
	for _, name := range names {
		if like := tools.Alike(strings.ToLower(word), name); like > most {
			best, most = name, like
		}
	}
	return best
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
func Keys(tables ...Table) []string {
	keys := keysOf(reflect.TypeFor[Settings](), "")
	for _, t := range tables {
		keys = append(append(keys, t.Name), keysOf(reflect.TypeOf(t.Into).Elem(), t.Name+".")...)
	}
	return keys
}

func keysOf(t reflect.Type, table string) (keys []string) {
	for f := range t.Fields() {
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		key := table + f.Tag.Get("toml")
		if f.Tag.Get("toml") == "-" {
			continue
		}
		if f.Anonymous {
			keys = append(keys, keysOf(inner, table)...)
		} else if f.IsExported() {
			keys = append(keys, key)
			if inner.Kind() == reflect.Struct {
				keys = append(keys, keysOf(inner, key+".")...)
			}
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
	HintsOff       = "off"        // nobody is reminded of what it has forgotten
)

// notifyBy comes before the name of a person who is told through Telegram.
const notifyBy = "telegram:"

// Notified are the names of the people that notify lists.
func (s Settings) Notified() (names []string) {
	for _, entry := range s.Notify {
		names = append(names, strings.TrimPrefix(entry, notifyBy))
	}
	return names
}

// UserName is how the person who runs this program signs.
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
