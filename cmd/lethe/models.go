package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/config"
	"lethe/llm"
)

// presetRow is a provider, without its key's value.
type presetRow struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url"`
	Key     string `json:"key"` // the variable
	Set     bool   `json:"set"`
	Model   string `json:"model"` // its default
}

type modelRow struct {
	Name string `json:"name"` // with its preset
	llm.Info
}

type modelList struct {
	Presets []presetRow `json:"presets"`
	Models  []modelRow  `json:"models"`
}

func (p *program) modelsCommand(c call) (err error) {
	if p.home.Dir, err = p.dir(); err != nil {
		return err
	}
	if err := config.Read(p.home.Dir, &p.settings); err != nil {
		return err
	}
	presets, list := llm.Presets(), modelList{}
	if only := c.arg(0); only != "" {
		if !slices.Contains(presets, only) {
			return hint(usagef("%q is no preset", only), "they are %s", strings.Join(presets, ", "))
		}
		presets = []string{only}
	}
	known, rows := p.known(), map[string]llm.Info{}
	for name := range known { // what config.toml names
		if slices.Contains(presets, llm.ParseName(name).Preset) {
			rows[name], _ = known.Of(name)
		}
	}
	for _, name := range presets {
		preset, _ := llm.Preset(name)
		list.Presets = append(list.Presets,
			presetRow{name, preset.BaseURL, preset.KeyEnv, os.Getenv(preset.KeyEnv) != "", preset.Model})
		for model := range llm.Table(name) {
			rows[name+":"+model], _ = known.Of(name + ":" + model)
		}
	}
	if c.arg(0) != "" {
		p.served(c, c.arg(0), rows)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list.Models = append(list.Models, modelRow{name, rows[name]})
	}
	return p.words("models", list, nil)
}

// served adds what the endpoint of a preset tells of its models, where there is a key.
func (p *program) served(ctx context.Context, preset string, rows map[string]llm.Info) {
	base := ""
	if preset == p.preset() {
		base = p.settings.Model.BaseURL
	}
	client, err := llm.New(llm.Config{Preset: preset, BaseURL: base})
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
	for model, told := range models {
		info, has := rows[preset+":"+model]
		if !has {
			info, _ = p.known().Of(preset + ":" + model) // one with a date
		}
		if info.Window == 0 {
			info.Window, info.From = told.Window, told.From
		}
		rows[preset+":"+model] = info
	}
}
