package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/prompt"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/screen"
)

// contextOptions are the flags of lethe context.
type contextOptions struct {
	compact bool
	cost    bool
	model   string
}

func newContextCommand(app *cli.App) *cobra.Command {
	var options contextOptions
	cmd := &cobra.Command{
		Use:   "context [NAME] [WISH]",
		Short: "Print the context of an identity and its budget, or compact it",
		Long: `With --compact the identity forgets now, and a WISH may say what it is to keep or to drop,
this once: the summariser reads it.

With --cost nothing is sent, and no key is needed: it tells of the next request how many
tokens its parts have, how many of them the provider's cache has seen in this epoch, and
the price, by the table of lethe models.`,
		Example: `  lethe context ada
  lethe context ada --cost --model anthropic:claude-opus-5-5
  lethe context ada --compact "keep the decisions, drop the logs"`,
		Args: cli.MaximumArgs(2),
		RunE: app.ReadingIdentity(
			func([]string) bool { return !options.compact },
			func(ctx context.Context, id home.Identity, args []string) error {
				return runContext(ctx, app, id, options, args)
			},
		),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.compact, "compact", false, "compact it now and print the effect")
	flags.BoolVar(&options.cost, "cost", false, "print what the next request would cost")
	flags.StringVar(&options.model, "model", "", "with --cost: of the next request to this `MODEL`")
	return cmd
}

func runContext(ctx context.Context, app *cli.App, id home.Identity, options contextOptions, args []string) error {
	now, err := app.Look.Context(id)
	wish := cli.Argument(args, 1)
	if wish != "" && !options.compact {
		return exit.Usagef("%q is for --compact, which is not given", wish)
	}
	if err != nil {
		return err
	}
	switch {
	case options.compact:
		return compact(ctx, app, id, now.Parts, wish)
	case options.cost:
		return showCost(app, id, now, options.model)
	case app.JSON:
		return app.PrintJSON(now)
	}
	var text strings.Builder
	summary := app.Err // apart from the text, for a pipe
	if app.DrawsScreen() {
		summary = &text
	}
	console.WriteParts(summary, id.Name, now.Parts)
	text.WriteString(screen.Sanitize(string(now.State.View())))
	return app.Page(text.String())
}

// showCost prints the price of the next request with a model; "" is the identity's own.
func showCost(app *cli.App, id home.Identity, now report.Context, model string) error {
	has := now.State.Stable.Params.Model
	model = app.Known().Settle(cmp.Or(model, has), has, app.Preset())
	cost := prompt.CostOf(now.State, now.Parts, app.Known(), model, time.Now())
	both := struct {
		prompt.Parts
		prompt.Cost
	}{now.Parts, cost}
	return app.Show(both, func(out io.Writer) {
		console.WriteParts(out, id.Name, now.Parts)
		fmt.Fprintf(out, "with %s: about %d tokens of input, of which the provider's cache serves %d\n",
			cost.Model, cost.Input, cost.Cached)
		if cost.USD == 0 {
			fmt.Fprintln(out, "nobody has told its price")
			return
		}
		fmt.Fprintf(out, "%.4f USD, and %.4f with the longest answer\n", cost.USD, cost.Most)
	})
}

// compact makes an identity forget now: by a wish where it runs, else by opening it here.
func compact(ctx context.Context, app *cli.App, id home.Identity, before prompt.Parts, wish string) error {
	var err error
	if _, running := home.Running(id); running {
		app.Note("asked %s to compact; waiting", id.Name)
		err = report.Compact(ctx, id, wish)
	} else {
		err = app.Opened(ctx, id, func(opened *host.Agent) error { return opened.Compact(ctx, wish) })
	}
	if err != nil {
		return err
	}
	now, err := app.Look.Context(id)
	if err != nil {
		return err
	}
	after := now.Parts
	return app.Show(map[string]prompt.Parts{"before": before, "after": after}, func(out io.Writer) {
		if before.Epoch == after.Epoch {
			fmt.Fprintf(out, "%s: nothing to compact; about %d of %d tokens\n", id.Name, after.Used(), after.Limit)
			return
		}
		fmt.Fprintf(out, "%s: from about %d tokens to %d of %d; live entries: %d, before %d\n",
			id.Name, before.Used(), after.Used(), after.Limit, after.Entries, before.Entries)
	})
}
