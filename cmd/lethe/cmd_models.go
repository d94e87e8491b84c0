package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/llm"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

// presetRow is a provider, without its key's value.
type presetRow struct {
	BaseURL string `json:"base_url"`
	Key     string `json:"key"` // the variable
	Set     bool   `json:"set"`
	Model   string `json:"model"` // its default
}

func newModelsCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "models [PRESET]",
		Short: "List the presets of providers, and what is known of their models",
		Long: `Models lists the presets, which of their keys are set, and of each model that Lethe knows
its window, its largest answer, its price, whether it sees pictures, and where that is
from. With a preset it lists those of that one, and asks its endpoint, if there is a key,
which models it serves. [models] in config.toml says what Lethe does not know.`,
		Example: `  lethe models
  lethe models openrouter`,
		Args: cli.MaximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runModels(cmd.Context(), app, args)
		},
	}
}

func runModels(ctx context.Context, app *cli.App, args []string) (err error) {
	if app.Home.Dir, err = app.Dir(); err != nil {
		return err
	}
	if err := config.Read(app.Home.Dir, &app.Settings); err != nil {
		return err
	}
	only, presets := cli.Argument(args, 0), map[string]presetRow{}
	for _, name := range llm.Presets() {
		if only == "" || only == name {
			info, _ := llm.Preset(name)
			presets[name] = presetRow{info.BaseURL, info.KeyEnv, secret.Value(info.KeyEnv) != "", info.Model}
		}
	}
	if len(presets) == 0 {
		near := cmp.Or(config.Nearest(only, llm.Presets()), strings.Join(llm.Presets(), ", "))
		return exit.Hint(exit.Usagef("%q is no preset", only), "did you mean: %s", near)
	}
	known := app.Known()
	if only != "" {
		app.Learn(ctx, only, known)
	}
	maps.DeleteFunc(known, func(name string, _ llm.Info) bool {
		_, listed := presets[llm.ParseName(name).Preset]
		return !listed
	})
	return app.Show(map[string]any{"presets": presets, "models": known}, func(out io.Writer) {
		writeModels(out, presets, known)
	})
}

func writeModels(out io.Writer, presets map[string]presetRow, known llm.Known) {
	rows := console.NewTable("PRESET", "KEY", "", "DEFAULT MODEL")
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		preset, isSet := presets[name], "-"
		if preset.Set {
			isSet = "set"
		}
		rows.Row(name, preset.Key, isSet, preset.Model)
	}
	rows.Write(out)
	fmt.Fprintln(out)
	rows = console.NewTable("MODEL", "WINDOW", "ANSWER", "HIT", "MISS", "WRITE", "OUTPUT", "SEES", "FROM")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		model, sees := known[name], "-"
		if model.Sees {
			sees = "yes"
		}
		rows.Row(name, console.Nonzero(model.Window), console.Nonzero(model.Output), console.Nonzero(model.Hit),
			console.Nonzero(model.Miss), console.Nonzero(model.Write), console.Nonzero(model.Price.Output), sees, model.From)
	}
	rows.Write(out)
	fmt.Fprintln(out, "tokens; USD per million tokens of input from the cache, other input, "+
		"input that the cache takes in, output")
}
