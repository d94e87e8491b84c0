package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lethe/bridge/telegram"
	"lethe/config"
	"lethe/home"
	"lethe/host"
	"lethe/internal/secret"
	"lethe/llm"
)

// setup has the answers to the questions of init, until all are given.
type setup struct {
	*program
	call
	ask     bool              // without it each answer is the one in brackets
	preset  llm.PresetInfo    // of the model
	online  bool              // there is a key, or none is needed
	keys    map[string]string // by variable
	config  map[string]any    // for config.toml
	unit    string            // of systemd; "" for none
	written []string
}

// initCommand asks five questions, and writes what was answered once all are: a home is not set up by half.
func (p *program) initCommand(c call) error {
	yes := c.is("yes")
	if !yes && (p.json || !isTerminal(p.in)) {
		return hint(usagef("init asks its questions on a terminal"), "‹init --yes› takes the answers that it would propose")
	}
	s := &setup{program: p, call: c, ask: !yes, keys: map[string]string{}, config: map[string]any{}}
	if s.ask {
		fmt.Fprintf(p.out, "Five questions for %s.\nEnter takes what stands in brackets.\n\n", p.home.Dir)
	}
	for _, question := range []func() error{s.askModel, s.askName, s.askTelegram, s.askBudget, s.askService} {
		err := question()
		if errors.Is(err, io.EOF) { // Ctrl+D
			err = context.Canceled
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w: nothing was written", p.home.Dir, err)
		}
	}
	if err := s.write(); err != nil {
		for _, what := range s.written {
			p.note("wrote %s", what)
		}
		return err
	}
	next := p.lethe("")
	if s.keys[botToken] != "" && s.unit == "" {
		next = p.lethe("run --with telegram")
	}
	done := object{"home": p.home.Dir, "written": append([]string{}, s.written...), "next": next}
	return p.words("set up", done, nil, s.online, s.keys[botToken] != "")
}

// say tells what is not asked, and why.
func (s *setup) say(format string, args ...any) {
	if s.ask {
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// answer asks until an answer makes sense. Enter, and every answer where nobody is asked, is usual.
func (s *setup) answer(question, usual string, hidden bool, check func(string) error) (string, error) {
	for s.ask {
		text, err := s.typed(s, s.out, fmt.Sprintf("%s [%s]: ", question, usual), hidden)
		text = cmp.Or(strings.TrimSpace(text), usual)
		if err != nil {
			return "", err
		}
		if err = check(text); err == nil {
			return text, nil
		}
		s.say("   %v", plain(err))
	}
	return usual, nil
}

const none = "none"

// askModel asks for a model, and for the key of its provider.
func (s *setup) askModel() error {
	has := s.settings.Model
	if has.BaseURL != "" {
		s.say("1  Model: base_url in config.toml says where it is, and stays.")
		s.preset, _ = llm.Preset("custom")
		s.online = true
		return nil
	}
	in := llm.Name{Preset: s.program.preset(), Model: llm.ParseName(has.Name).Model, Effort: llm.ParseName(has.Name).Effort}
	usual := in
	if has.Preset+has.Name == "" {
		usual.Preset = s.presetWithKey()
	}
	presets := slices.DeleteFunc(llm.Presets(), func(name string) bool { return name == "custom" })
	s.say("1  Model: a provider, or provider:model")
	for some := range slices.Chunk(presets, 7) {
		s.say("      %s", strings.Join(some, "  "))
	}
	text, err := s.answer("   Which one?", strings.TrimSuffix(usual.String(), ":"), false, func(text string) error {
		_, err := modelNamed(text, presets)
		return err
	})
	if err != nil {
		return err
	}
	model, _ := modelNamed(text, presets) // checked
	s.preset, _ = llm.Preset(model.Preset)
	if err := s.askKey(); err != nil || !s.online {
		return err
	}
	if model != in {
		s.config["model.preset"] = model.Preset
		model.Preset = ""
		s.config["model.name"] = model.String()
	}
	return nil
}

// presetWithKey is the first preset whose key is there, or else the default one.
func (s *setup) presetWithKey() string {
	for _, name := range llm.Presets() {
		if preset, _ := llm.Preset(name); secret.Value(preset.KeyEnv) != "" {
			return name
		}
	}
	return llm.Presets()[0]
}

// modelNamed reads the name of a provider, or of one of its models.
func modelNamed(text string, presets []string) (n llm.Name, err error) {
	if n = llm.ParseName(text); slices.Contains(presets, text) {
		n = llm.Name{Preset: text}
	}
	preset, _ := llm.Preset(n.Preset)
	switch {
	case !slices.Contains(presets, n.Preset):
		word, _, _ := strings.Cut(text, ":")
		err = fmt.Errorf("there is no provider %q", word)
		if near := config.Nearest(word, presets); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
	case preset.Model+n.Model == "":
		err = fmt.Errorf("name a model, too, such as %s:qwen3:8b", n.Preset)
	}
	return n, err
}

// askKey asks for the key of the provider, unless the environment has it.
func (s *setup) askKey() error {
	variable, usual := s.preset.KeyEnv, none
	key := secret.Value(variable)
	s.online = key != "" || !s.preset.KeyRequired
	switch {
	case !s.preset.KeyRequired:
		return nil
	case key != "" && fromEnvironment(variable):
		s.say("   Its key is in the environment, as %s.", variable)
		return nil
	case key != "":
		usual = "the one in keys.env"
	}
	text, err := s.answer("   Its key, not shown; without one an offline model answers", usual, true, func(text string) error {
		if text != usual && !config.ValidKey(text) {
			return errors.New("a key is one line, without quotes around it")
		}
		return nil
	})
	if err == nil && text != usual {
		s.keys[variable], s.online = text, true
	}
	return err
}

func (s *setup) askName() error {
	id, err := host.Default(s.home, s.settings.Settings)
	usual := cmp.Or(s.settings.DefaultIdentity, id.Name, config.DefaultName)
	if all := new(host.SeveralError); errors.As(err, &all) {
		s.say("   There are %s.", strings.Join(all.Names, ", "))
	}
	name, err := s.answer("2  Name of the identity that you talk to", usual, false, home.CheckName)
	if err == nil && name != usual {
		s.config["default_identity"] = name
	}
	return err
}

func (s *setup) askTelegram() error {
	if _, err := s.token(); err == nil {
		s.say("3  Telegram: there is a token of a bot already.")
		return nil
	}
	token, err := s.answer("3  Telegram: the token of a bot, from @BotFather, not shown", none, true, func(text string) error {
		if text == none {
			return nil
		}
		return telegram.CheckToken(text)
	})
	if err == nil && token != none {
		s.keys[botToken] = token
	}
	return err
}

func (s *setup) askBudget() error {
	if !s.preset.KeyRequired {
		s.say("4  Budget: nobody has told a price of this model, so none is asked for.")
		return nil
	}
	usual := none
	if day := s.settings.Budget.Day; day > 0 {
		usual = strconv.FormatFloat(day, 'f', -1, 64)
	}
	amount := func(text string) (float64, error) {
		text = strings.Trim(text, "$ ")
		usd, err := strconv.ParseFloat(text, 64)
		if text == none {
			return 0, nil
		}
		if err != nil || usd < 0.01 || usd > 1e6 {
			err = fmt.Errorf("%q is no amount of dollars, such as 2.50", text)
		}
		return usd, err
	}
	text, err := s.answer("4  Budget: dollars a day, at most", usual, false, func(text string) error {
		_, err := amount(text)
		return err
	})
	if err == nil && text != usual {
		s.config["budget.day_usd"], _ = amount(text) // checked
	}
	return err
}

// write writes keys, then settings, then the service that needs both.
func (s *setup) write() error {
	if s.unit != "" { // a service has no environment of a shell
		for _, variable := range []string{s.preset.KeyEnv, botToken} {
			if value := secret.Value(variable); value != "" && fromEnvironment(variable) {
				s.keys[variable] = value
			}
		}
	}
	for variable, key := range s.keys {
		if err := config.SetKey(s.home.Dir, variable, key); err != nil {
			return err
		}
		s.written = append(s.written, variable+" in "+config.KeysFile(s.home.Dir))
	}
	if len(s.config) > 0 {
		if err := config.Set(s.home.Dir, s.config); err != nil {
			return err
		}
		for key := range s.config {
			s.written = append(s.written, key+" in "+config.File(s.home.Dir))
		}
	}
	slices.Sort(s.written)
	if s.unit == "" {
		return nil
	}
	return s.startService()
}
