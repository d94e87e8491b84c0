package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"lethe/agent"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// settings are config.toml. Every key is optional; flags win over them.
type settings struct {
	DefaultIdentity string `toml:"default_identity"`
	User            string `toml:"user"` // your name in rooms

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
	Turn struct {
		MaxSteps int `toml:"max_steps"`
	} `toml:"turn"`
	Chat struct {
		MaxAgentTurns int `toml:"max_agent_turns"`
	} `toml:"chat"`
	Tools struct {
		Bash        string   `toml:"bash"`
		BashTimeout duration `toml:"bash_timeout"`
		Workspace   string   `toml:"workspace"`
		Roots       []string `toml:"roots"`
	} `toml:"tools"`
}

// duration is written like "90s" or "5m".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v <= 0 {
		err = fmt.Errorf("%s is not a positive duration", text)
	}
	*d = duration(v)
	return err
}

// readSettings reads config.toml in the home. A missing one is empty; an unknown
// key or a value that makes no sense is refused, by name.
func readSettings(home string) (settings, error) {
	var s settings
	path := filepath.Join(home, "config.toml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	meta, err := toml.Decode(string(data), &s)
	if err != nil {
		return s, usagef("read %s: %w", path, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		var keys []string
		for _, k := range extra {
			keys = append(keys, k.String())
		}
		return s, hint(usagef("read %s: unknown key %s", path, strings.Join(keys, ", ")), "docs/configuration.md lists the keys")
	}
	if err := s.check(); err != nil {
		return s, usagef("read %s: %w", path, err)
	}
	return s, nil
}

// Who summarises what fades.
const (
	modeModel      = "model"      // the model that lives, or compactor.model
	modeMechanical = "mechanical" // nobody: heads, tails and keywords
)

// leastLimit is a context limit, in tokens, below which the fixed parts alone
// never fit.
const leastLimit = 12_000

// check refuses values outside of their range.
func (s settings) check() error {
	oneOf := func(key, value string, allowed ...string) error {
		if value == "" || slices.Contains(allowed, value) {
			return nil
		}
		return fmt.Errorf("%s = %q is none of %s", key, value, strings.Join(allowed, ", "))
	}
	atLeast := func(key string, value, least int) error {
		if value == 0 || value >= least {
			return nil
		}
		return fmt.Errorf("%s = %d is less than %d", key, value, least)
	}
	share := func(key string, value *float64) error {
		if value == nil || (*value >= 0 && *value <= 1) {
			return nil
		}
		return fmt.Errorf("%s = %g is not between 0 and 1", key, *value)
	}
	name := func() error {
		if s.DefaultIdentity == "" || agent.ValidName(s.DefaultIdentity) {
			return nil
		}
		return fmt.Errorf("default_identity = %q is not a name", s.DefaultIdentity)
	}
	return errors.Join(
		name(),
		oneOf("model.preset", s.Model.Preset, llm.Presets()...),
		oneOf("model.thinking", s.Model.Thinking, "enabled", "disabled"),
		oneOf("model.effort", s.Model.Effort, "low", "high", "max"),
		atLeast("model.max_tokens", s.Model.MaxTokens, 256),
		atLeast("context.limit", s.Context.Limit, leastLimit),
		share("fade.target", s.Fade.Target),
		oneOf("compactor.mode", s.Compactor.Mode, modeModel, modeMechanical),
		atLeast("compactor.parallel", s.Compactor.Parallel, 1),
		oneOf("prompt.order", s.Prompt.Order, "head", mind.OrderTail),
		atLeast("turn.max_steps", s.Turn.MaxSteps, 1),
		atLeast("chat.max_agent_turns", s.Chat.MaxAgentTurns, 1),
		oneOf("tools.bash", s.Tools.Bash, tools.BashOff, tools.BashSandbox, tools.BashTrusted),
	)
}
