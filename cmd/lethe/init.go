package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/bridge/telegram"
	"lethe/internal/must"
	"lethe/internal/secret"
)

// setup is a use of init. Its methods are steps.
type setup struct {
	*program
	call
	preset llm.PresetInfo // of the model
}

// initCommand asks five questions. Each answer is written before the next question: what is set is always whole.
func (p *program) initCommand(c call) error {
	if !c.is("yes") && (p.json || !isTerminal(p.in)) {
		return hint(usagef("init asks its questions on a terminal"), "‹init --yes› takes the answers that it would propose")
	}
	s := &setup{program: p, call: c}
	next := p.lethe("")
	err := must.Run(func() {
		s.askModel()
		s.askPerson()
		if !s.askService() && secret.Value(botToken) != "" {
			next = p.lethe("run --with telegram")
		}
	})
	return p.words("set up", object{"home": p.home.Dir, "next": next}, err, s.online(), secret.Value(botToken) != "")
}

// ask asks until take takes the answer, and returns it. Enter leaves what is usual, and so does --yes.
func (s *setup) ask(question, usual string, hidden bool, take func(string) error) string {
	for !s.is("yes") {
		text := must.Get(s.typed(s.out, fmt.Sprintf("%s [%s]: ", question, usual), hidden))
		if text == "" || text == usual {
			break
		}
		err := take(text)
		if err == nil {
			return text
		}
		fmt.Fprintln(s.out, "  ", plain(err))
	}
	return usual
}

// set gives a key of config.toml its value.
func (s *setup) set(key string, value any) error {
	return config.Set(s.home.Dir, map[string]any{key: value})
}

// askKey asks for the key of a variable.
func (s *setup) askKey(question, variable string, check func(string) error) {
	usual := "none"
	if secret.Value(variable) != "" {
		usual = "the one that is there"
	}
	s.ask(question+", not shown", usual, true, func(text string) error {
		if err := check(text); err != nil {
			return err
		}
		return config.SetKey(s.home.Dir, variable, text)
	})
}

// online reports whether there is what the model needs.
func (s *setup) online() bool { return !s.preset.KeyRequired || secret.Value(s.preset.KeyEnv) != "" }

// askModel asks for a model and its key. Without the key nothing is set: then the offline one answers.
func (s *setup) askModel() {
	has := s.settings.Model
	isNew := has.Preset+has.Name+has.BaseURL == ""
	usual := strings.TrimSuffix(llm.Explicit(has.Name, s.program.preset()), ":")
	presets := llm.Presets()
	presets = presets[:len(presets)-1] // the last one is for endpoints that config.toml names
	withKey := slices.IndexFunc(presets, func(name string) bool {
		preset, _ := llm.Preset(name)
		return secret.Value(preset.KeyEnv) != ""
	})
	if isNew && withKey >= 0 {
		usual = presets[withKey]
	}
	var model llm.Name
	choose := func(text string) error {
		if model = llm.ParseName(text); slices.Contains(presets, text) {
			model = llm.Name{Preset: text}
		}
		if s.preset, _ = llm.Preset(model.Preset); s.preset.BaseURL == "" || s.preset.Model+model.Model == "" {
			return fmt.Errorf("%q is no provider with a model, such as openai or ollama:qwen3:8b", text)
		}
		return nil
	}
	answer := s.ask(s.program.text("which model", presets), usual, false, choose)
	_ = choose(answer) // the usual one may be at an address in config.toml, and no preset's
	isNew = isNew || answer != usual
	if s.preset.KeyRequired {
		s.askKey("   Its key", s.preset.KeyEnv, func(string) error { return nil })
	}
	if isNew && s.online() {
		model.Preset = ""
		values := map[string]any{"model.preset": s.preset.Name, "model.name": model.String(), "model.base_url": ""}
		must.Do(config.Set(s.home.Dir, values))
	}
}

// askPerson asks for what a person decides.
func (s *setup) askPerson() {
	id, _ := host.Default(s.home, s.settings.Settings) // there may be none yet, or several
	name := cmp.Or(s.settings.DefaultIdentity, id.Name, config.DefaultName)
	s.ask("2  Name of the identity that you talk to", name, false, func(text string) error {
		if err := home.CheckName(text); err != nil {
			return err
		}
		return s.set("default_identity", text)
	})
	s.askKey("3  Telegram: the token of a bot, from @BotFather", botToken, telegram.CheckToken)
	day := strconv.FormatFloat(s.settings.Budget.Day, 'f', -1, 64)
	s.ask("4  Budget: dollars a day, at most; 0 is no limit", day, false, func(text string) error {
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no amount, such as 2.50", text)
		}
		return s.set("budget.day_usd", usd)
	})
}
