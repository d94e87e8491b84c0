package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/tools/skills"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newSkillsAddCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "add SKILL",
		Short: "Put a skill that ships with Lethe into the home: plan",
		Args:  cli.ExactArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runSkillsAdd(app, args)
		}),
	}
}

func runSkillsAdd(app *cli.App, args []string) error {
	dir, err := skills.Install(app.Home.Dir, args[0])
	if err != nil {
		return err
	}
	return app.Print(console.Object{"added": dir}, "added: %s\n", dir)
}
