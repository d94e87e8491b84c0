package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/internal/secret"
)

// presetRow is a provider, without its key's value.
type presetRow struct {
	BaseURL string `json:"base_url"`
	Key     string `json:"key"` // the variable
	Set     bool   `json:"set"`
	Model   string `json:"model"` // its default
}

// modelCommand tells which model an identity uses, or has it use another one.
func (p *program) modelCommand(c call, id home.Identity) error {
	name := c.arg(1)
	if name == "" {
		s, err := home.Fold(id, p.look.Store)
		if err != nil {
			return err
		}
		return p.words("model", map[string]string{
			"model": cmp.Or(s.WantModel, s.Stable.Params.Model), "away": s.Away,
		}, nil, id.Name)
	}
	answer, err := report.Switch(c, id, name)
	text, use := answer.Get("text"), answer.Get("use")
	switch {
	case err != nil:
		return err
	case text == "":
		text = id.Name + " does not run; it tries the model when it runs"
	case use == "":
		return errors.New(text)
	}
	return p.print(map[string]string{"model": use, "text": text}, "%s\n", text)
}

func (p *program) modelsCommand(c call) (err error) {
	if p.home.Dir, err = p.dir(); err == nil {
		err = config.Read(p.home.Dir, &p.settings)
	}
	if err != nil {
		return err
	}
	known, only, presets := p.known(), c.arg(0), map[string]*presetRow{}
	for _, name := range llm.Presets() {
		if i, _ := llm.Preset(name); only == "" || only == name {
			presets[name] = &presetRow{i.BaseURL, i.KeyEnv, secret.Value(i.KeyEnv) != "", i.Model}
		}
	}
	if len(presets) == 0 {
		return hint(usagef("%q is no preset", only), "did you mean: %s",
			cmp.Or(config.Nearest(only, llm.Presets()), strings.Join(llm.Presets(), ", ")))
	}
	if only != "" {
		p.served(c, only, known)
	}
	maps.DeleteFunc(known, func(name string, _ llm.Info) bool {
		return presets[llm.ParseName(name).Preset] == nil
	})
	return p.words("models", map[string]any{"presets": presets, "models": known}, nil)
}

// served adds what the endpoint of a preset tells of its models, where there is a key.
func (p *program) served(ctx context.Context, preset string, known llm.Known) {
	conf := llm.Config{Preset: preset}
	if preset == p.preset() {
		conf.BaseURL = p.settings.Model.BaseURL
	}
	client, err := llm.New(conf)
	if err != nil {
		return // it is not in use here
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, _, models, err := client.Look(ctx)
	if err != nil {
		p.warn("%v", err)
	}
	known.Learn(preset, models)
}
