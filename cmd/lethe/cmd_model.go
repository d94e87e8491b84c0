package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newModelCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "model NAME [MODEL]",
		Short: "Tell which model an identity uses, or have it use another one",
		Long: `Model has an identity go over to another model, as /model in a room does: the model is tried,
and a new epoch begins. MODEL is PRESET:NAME@EFFORT; without a preset it is of that in use,
and without an effort the configured one holds. docs/models.md has the rest.`,
		Example: `  lethe model ada
  lethe model ada anthropic:claude-opus-5-5@high`,
		Args: cli.RangeArgs(1, 2),
		RunE: app.ReadingIdentity(
			func(args []string) bool { return len(args) < 2 },
			func(ctx context.Context, id home.Identity, args []string) error { return runModel(ctx, app, id, args) },
		),
	}
}

// runModel prints the model of an identity, or has it use another one.
func runModel(ctx context.Context, app *cli.App, id home.Identity, args []string) error {
	if model := cli.Argument(args, 1); model != "" {
		return switchModel(ctx, app, id, model)
	}
	state, err := home.Fold(id, app.Look.Store)
	if err != nil {
		return err
	}
	model := cmp.Or(state.WantModel, state.Stable.Params.Model)
	instead := ""
	if state.Away != "" {
		instead = fmt.Sprintf(", in the place of %s, which does not answer", console.OneLine(state.Away))
	}
	return app.Print(map[string]string{"model": model, "away": state.Away},
		"%s: %s%s\n", id.Name, console.OneLine(model), instead)
}

func switchModel(ctx context.Context, app *cli.App, id home.Identity, model string) error {
	answer, err := report.Switch(ctx, id, model)
	if err != nil {
		return err
	}
	text, use := answer.Get("text"), answer.Get("use")
	if text == "" {
		text = id.Name + " does not run; it tries the model when it runs"
	} else if use == "" {
		return errors.New(text)
	}
	return app.Print(map[string]string{"model": use, "text": text}, "%s\n", text)
}
