package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	_ "time/tzdata" // schedules know their zones on any machine

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// triggersOptions are the flags of lethe triggers.
type triggersOptions struct {
	runNow string
}

func newTriggersCommand(app *cli.App) *cobra.Command {
	var options triggersOptions
	cmd := &cobra.Command{
		Use:   "triggers [NAME]",
		Short: "List what wakes an identity by itself, with the next times and the history",
		Long: `Triggers lists the triggers of an identity: when each fires next, and from LIFE how often it has
fired, how many times were missed while the identity did not run, and what its turns have cost. It fails
when a file is wrong, and says what. docs/triggers.md tells how to write one.`,
		Args: cli.MaximumArgs(1),
		RunE: app.ReadingIdentity(
			func([]string) bool { return options.runNow == "" },
			func(_ context.Context, id home.Identity, _ []string) error { return runTriggers(app, id, options) },
		),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.runNow, "run-now", "", "have `TRIGGER` fire once, now; its schedule stays")
	return cmd
}

func runTriggers(app *cli.App, id home.Identity, options triggersOptions) error {
	all, err := app.Look.Triggers(id)
	if err != nil {
		return err
	}
	if options.runNow != "" {
		return fireTrigger(app, id, options.runNow, all)
	}
	_, running := home.Running(id)
	idle := !running && !id.Mirrored() && len(all) > 0
	if idle && !app.JSON {
		app.Note("%s does not run, and nothing fires until it does; start it with: %s", id.Name, app.HowToRun(id, ""))
	}
	err = app.Show(all, func(out io.Writer) { writeTriggers(out, app, id, all) })
	if err != nil {
		return err
	}
	return report.Wrong(id, all)
}

func writeTriggers(out io.Writer, app *cli.App, id home.Identity, all []report.Trigger) {
	if len(all) == 0 {
		fmt.Fprintf(out, "%s has no triggers; docs/triggers.md tells how to write one, or ask it: %s\n", id.Name,
			app.Lethe(`"every day at nine say good morning"`))
		return
	}
	rows := console.NewTable("TRIGGER", "WHEN", "ROOM", "NEXT", "LAST", "FIRED", "MISSED", "USD")
	for _, trigger := range all {
		next, cost := app.At(trigger.Next), ""
		if trigger.Paused {
			next = "paused"
		}
		if trigger.Model != "" {
			cost = llm.Dollars(trigger.Model, trigger.USD)
		}
		rows.Row(trigger.Name, trigger.When, trigger.Room, next, app.At(trigger.Last), trigger.Fired, trigger.Missed, cost)
	}
	rows.Write(out)
}

// fireTrigger asks the identity to fire a trigger now.
func fireTrigger(app *cli.App, id home.Identity, name string, all []report.Trigger) error {
	err := report.Fire(id, name, all)
	if errors.Is(err, home.ErrNotFound) {
		return exit.Hint(err, "%s lists them", app.Lethe("triggers %s", id.Name))
	}
	if err != nil {
		return err
	}
	if _, running := home.Running(id); !running {
		app.Note("%s does not run: %s fires when it does; start it with: %s", id.Name, name, app.HowToRun(id, ""))
		return nil
	}
	app.Note("asked %s to fire %s now", id.Name, name)
	return nil
}
