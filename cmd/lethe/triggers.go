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
)

// triggersOptions are the flags of lethe triggers.
type triggersOptions struct {
	runNow string
}

func newTriggersCommand(app *app) *cobra.Command {
	var options triggersOptions
	cmd := &cobra.Command{
		Use:   "triggers [NAME]",
		Short: "List what wakes an identity by itself, with the next times and the history",
		Long: `Triggers lists the triggers of an identity: when each fires next, and from LIFE how often it has
fired, how many times were missed while the identity did not run, and what its turns have cost. It fails
when a file is wrong, and says what. docs/triggers.md tells how to write one.`,
		RunE: app.withIdentity(func(_ context.Context, id home.Identity, _ []string) error {
			return runTriggers(app, id, options)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.runNow, "run-now", "", "have `TRIGGER` fire once, now; its schedule stays")
	return cmd
}

func runTriggers(app *app, id home.Identity, options triggersOptions) error {
	all, err := app.look.Triggers(id)
	if err != nil {
		return err
	}
	if options.runNow != "" {
		return fireTrigger(app, id, options.runNow, all)
	}
	_, running := home.Running(id)
	idle := !running && len(all) > 0
	if idle && !app.json {
		app.note("%s does not run, and nothing fires until it does; start it with: %s", id.Name, app.howToRun(id, ""))
	}
	err = app.show(all, func(out io.Writer) { writeTriggers(out, app, id, all) })
	if err != nil {
		return err
	}
	return report.Wrong(id, all)
}

func writeTriggers(out io.Writer, app *app, id home.Identity, all []report.Trigger) {
	if len(all) == 0 {
		fmt.Fprintf(out, "%s has no triggers; docs/triggers.md tells how to write one, or ask it: %s\n", id.Name,
			app.lethe(`"every day at nine say good morning"`))
		return
	}
	rows := newTable("TRIGGER", "WHEN", "ROOM", "NEXT", "LAST", "FIRED", "MISSED", "USD")
	for _, trigger := range all {
		next, cost := app.at(trigger.Next), ""
		if trigger.Paused {
			next = "paused"
		}
		if trigger.Model != "" {
			cost = llm.Dollars(trigger.Model, trigger.USD)
		}
		rows.row(trigger.Name, trigger.When, trigger.Room, next, app.at(trigger.Last), trigger.Fired, trigger.Missed, cost)
	}
	rows.write(out)
}

// fireTrigger asks the identity to fire a trigger now.
func fireTrigger(app *app, id home.Identity, name string, all []report.Trigger) error {
	err := report.Fire(id, name, all)
	if errors.Is(err, home.ErrNotFound) {
		return hint(err, "‹triggers %s› lists them", id.Name)
	}
	if err != nil {
		return err
	}
	if _, running := home.Running(id); !running {
		app.note("%s does not run: %s fires when it does; start it with: %s", id.Name, name, app.howToRun(id, ""))
		return nil
	}
	app.note("asked %s to fire %s now", id.Name, name)
	return nil
}
