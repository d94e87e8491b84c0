package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/demo"
)

// demoOptions are the flags of lethe demo.
type demoOptions struct {
	fast bool
}

func newDemoCommand(app *cli.App) *cobra.Command {
	var options demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "One minute, offline: an identity forgets, is reminded, is killed, and goes on",
		Long: `Demo boots a throwaway identity with a small context in a temporary home, talks to it
until things fade, mentions one of them so that it is reminded and looks it up, kills the
daemon with kill -9, resumes it by its hash, asks again, and proves what is left. It needs
no key, no network and no typing. The daemon is the real one in a process of its own; what
is shown is read from its files, and if a step does not happen, demo says so and fails.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), app, options)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.fast, "fast", false, "no pauses for reading")
	return cmd
}

func runDemo(ctx context.Context, app *cli.App, options demoOptions) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return demo.Run(ctx, exe, app.Out, options.fast)
}
