package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/internal/seal"
)

func newHostsKeyCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Put a new key into share.key, before the old ones",
		Long: `What is stored from then on is encrypted for the new key alone; the old ones open what is
there. Hosts that run heed it at once. Those without the new key wait for it: copy share.key.`,
		RunE: app.WithHome(func(context.Context, []string) error {
			_, err := app.Others()
			if err == nil {
				err = seal.New(app.Home.Dir)
			}
			if err == nil {
				app.Note("copy %s to each other host, which waits for it, and to where you keep it", seal.File(app.Home.Dir))
			}
			return err
		}),
	}
}
