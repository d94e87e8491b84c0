package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/agent/tools/skills"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

// skillsOptions are the flags of lethe skills.
type skillsOptions struct {
	workspace string
}

func newSkillsCommand(app *cli.App) *cobra.Command {
	var options skillsOptions
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List the texts that tell identities how to do something; docs/others.md",
		RunE: app.WithHome(func(context.Context, []string) error {
			return listSkills(app, options.workspace)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	cmd.AddCommand(newSkillsAddCommand(app), newSkillsAllowCommand(app), newSkillsListCommand(app))
	return cmd
}

// shelf reads the skills and programs of the home and of a workspace: the named one, else host.Workspaces.
func shelf(app *cli.App, workspace string) *skills.Shelf {
	settings, workspaces := app.Settings.Settings, []string{workspace}
	if workspace == "" {
		workspaces = host.Workspaces(app.Home, settings)
	}
	return host.Shelf(app.Home, settings, workspaces...)
}

func listSkills(app *cli.App, workspace string) error {
	all := shelf(app, workspace).All()
	return app.Show(all, func(out io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(out, "no skills yet; docs/others.md tells where they go, and this adds one that ships: %s\n",
				app.Lethe("skills add plan"))
			return
		}
		rows := console.NewTable("SKILL", "WHERE", "WRONG")
		for _, skill := range all {
			rows.Row(skill.Name, skill.Path, skill.Why)
		}
		rows.Write(out)
	})
}
