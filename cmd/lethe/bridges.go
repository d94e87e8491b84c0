package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/bridge"
)

func newBridgesCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "bridges",
		Short: "List bridges with their health and the lines that wait",
		Long: `Bridges lists the bridges of this home with the time of the last successful exchange
with the other side, the lines that wait to go out and in, and the last error. It
fails when one of them is deaf (it runs and reaches nobody), late (an error has
gone on for more than five minutes), has died, was stopped with lines waiting, or cannot
be told: fit for a monitor.`,
		RunE: app.withHome(func(context.Context, []string) error {
			return runBridges(app)
		}),
	}
}

func runBridges(app *app) error {
	all, err := bridge.ReadHealth(app.home.Dir)
	if err != nil {
		return err
	}
	err = app.show(all, func(out io.Writer) { writeBridges(out, app, all) })
	if err != nil {
		return err
	}
	return sick(all)
}

func writeBridges(out io.Writer, app *app, all []bridge.Health) {
	if len(all) == 0 {
		fmt.Fprintf(out, "no bridges yet; docs/telegram.md tells how to set one up. In a terminal, talk with: %s\n",
			app.lethe("chat"))
		return
	}
	rows := newTable("NAME", "STATE", "PID", "LAST EXCHANGE", "WAITING OUT/IN", "UNREACHABLE", "LAST ERROR")
	for _, health := range all {
		pid, fault := 0, ""
		if health.Runs() {
			pid = health.PID
		}
		if health.Error != "" {
			fault = fmt.Sprintf("%s: %s", ago(health.ErrorAt), health.Error)
		}
		rows.row(health.Name, health.State, nonzero(pid), ago(health.Exchanged),
			fmt.Sprintf("%d/%d", health.Out, health.In), health.Unreachable, fault)
	}
	rows.write(out)
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
