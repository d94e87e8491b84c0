package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/llm"
	"lethe/internal/secret"
)

// online reports whether the model has its key, or needs no key.
func (s *setup) online() bool { return !s.model.KeyRequired || secret.Value(s.model.KeyEnv) != "" }

// askModel asks for a model and its key. Without the key nothing is set: then the offline model answers.
func (s *setup) askModel() error {
	configured := s.Settings.Model
	isNew := configured.Preset+configured.Name+configured.BaseURL == ""
	presets := llm.Presets()
	presets = presets[:len(presets)-1] // the last one is for endpoints that config.toml names
	usual := strings.TrimSuffix(llm.Explicit(configured.Name, s.Preset()), ":")
	question := modelQuestion(presets)
	var here []string
	if isNew {
		proposed := firstWithKey(presets)
		if here = s.modelsHere(); len(here) > 0 {
			question = strings.TrimSuffix(question, "\n  ") + "\n   running here: " + strings.Join(here, " ") + "\n  "
			proposed = cmp.Or(proposed, here[0])
		}
		usual = cmp.Or(proposed, usual)
	}
	var model llm.Name
	choose := func(text string) error {
		model = chosen(text, here)
		s.model, _ = llm.Preset(model.Preset)
		if s.model.BaseURL == "" || s.model.Model+model.Model == "" {
			return fmt.Errorf("%q is no provider with a model, such as openai or ollama:qwen3:8b", text)
		}
		return nil
	}
	answer, err := s.ask(question, usual, false, choose)
	if err != nil {
		return err
	}
	_ = choose(answer) // the usual one may be at an address in config.toml, and no preset's
	if s.model.KeyRequired {
		if err := s.askKey("   Its key", s.model.KeyEnv, func(string) error { return nil }); err != nil {
			return err
		}
	}
	changed := isNew || answer != usual
	if !changed || !s.online() {
		return nil
	}
	return config.Set(s.Home.Dir, map[string]any{
		"model.preset": s.model.Name, "model.name": kept(model), "model.base_url": "",
	})
}

// chosen reads an answer. A provider alone means its default model, or the first one of its server that runs here.
func chosen(text string, here []string) llm.Name {
	if !slices.Contains(llm.Presets(), text) {
		return llm.ParseName(text)
	}
	for _, name := range here {
		if model := llm.ParseName(name); model.Preset == text {
			return model
		}
	}
	return llm.Name{Preset: text}
}

// kept returns model.name for config.toml; "" is the default of the preset. The preset stays before a name such as
// mistral:7b, which begins with another one.
func kept(model llm.Name) string {
	if model.Model == "" {
		model.Preset = ""
		return model.String()
	}
	return llm.Known(nil).Settle(model.String(), "", model.Preset)
}

// modelsHere returns the models of servers that run on this machine, ten at most. Nobody but a person chooses one.
func (s *setup) modelsHere() []string {
	if s.yes {
		return nil
	}
	here := llm.Here(context.Background())
	return here[:min(len(here), 10)]
}

// firstWithKey returns the first preset with its key in the environment, or "".
func firstWithKey(presets []string) string {
	for _, name := range presets {
		preset, _ := llm.Preset(name)
		if secret.Value(preset.KeyEnv) != "" {
			return name
		}
	}
	return ""
}

// modelQuestion lists the presets, on lines of their own.
func modelQuestion(presets []string) string {
	question := "1  Model: PROVIDER or PROVIDER:MODEL, of\n   "
	for i, name := range presets {
		if i == 7 || i == 13 {
			question += "\n   "
		}
		question += name + " "
	}
	return question + "\n  "
}
