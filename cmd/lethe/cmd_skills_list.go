package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
)

// skillsListOptions are the flags of lethe skills list.
type skillsListOptions struct {
	workspace string
}

func newSkillsListCommand(app *cli.App) *cobra.Command {
	var options skillsListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List skills, programs and rules of workspaces, and why some do not count",
		RunE: app.WithHome(func(context.Context, []string) error {
			return listSkills(app, options.workspace)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	return cmd
}
