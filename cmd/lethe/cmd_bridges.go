package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/bridge"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newBridgesCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "bridges",
		Short: "List bridges with their health and the lines that wait",
		Long: `Bridges lists the bridges of this home with the time of the last successful exchange
with the other side, the lines that wait to go out and in, and the last error. It
fails when one of them is deaf (it runs and reaches nobody), late (an error has
gone on for more than five minutes), has died, was stopped with lines waiting, or cannot
be told: fit for a monitor.`,
		RunE: app.WithHome(func(context.Context, []string) error {
			return runBridges(app)
		}),
	}
}

func runBridges(app *cli.App) error {
	all, err := bridge.ReadHealth(app.Home.Dir)
	if err != nil {
		return err
	}
	err = app.Show(all, func(out io.Writer) { writeBridges(out, app, all) })
	if err != nil {
		return err
	}
	return sick(all)
}

func writeBridges(out io.Writer, app *cli.App, all []bridge.Health) {
	if len(all) == 0 {
		fmt.Fprintf(out, "no bridges yet; docs/telegram.md tells how to set one up. In a terminal, talk with: %s\n",
			app.Lethe("chat"))
		return
	}
	rows := console.NewTable("NAME", "STATE", "PID", "LAST EXCHANGE", "WAITING OUT/IN", "UNREACHABLE", "LAST ERROR")
	for _, health := range all {
		pid, fault := 0, ""
		if health.Runs() {
			pid = health.PID
		}
		if health.Error != "" {
			fault = fmt.Sprintf("%s: %s", console.Ago(health.ErrorAt), health.Error)
		}
		rows.Row(health.Name, health.State, console.Nonzero(pid), console.Ago(health.Exchanged),
			fmt.Sprintf("%d/%d", health.Out, health.In), health.Unreachable, fault)
	}
	rows.Write(out)
}

// sick is an error when a bridge needs somebody to look at it.
func sick(all []bridge.Health) error {
	var bad []string
	for _, health := range all {
		if why := health.Ailment(); why != "" {
			bad = append(bad, health.Name+" is "+why)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New("bridges: " + strings.Join(bad, ", "))
}
