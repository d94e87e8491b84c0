package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/agent/tools/skills"
)

// skillsOptions are the flags of lethe skills.
type skillsOptions struct {
	workspace string
}

func newSkillsCommand(app *app) *cobra.Command {
	var options skillsOptions
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List the texts that tell identities how to do something; docs/others.md",
		RunE: app.withHome(func(context.Context, []string) error {
			return listSkills(app, options.workspace)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	cmd.AddCommand(newSkillsAddCommand(app), newSkillsAllowCommand(app), newSkillsListCommand(app))
	return cmd
}

// skillsListOptions are the flags of lethe skills list.
type skillsListOptions struct {
	workspace string
}

func newSkillsListCommand(app *app) *cobra.Command {
	var options skillsListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List skills and programs, and why some are not offered",
		RunE: app.withHome(func(context.Context, []string) error {
			return listSkills(app, options.workspace)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	return cmd
}

// shelf reads the skills and programs of the home and of a workspace: the named or configured one, else each identity's
// own.
func (app *app) shelf(workspace string) *skills.Shelf {
	workspace = cmp.Or(workspace, app.settings.Tools.Workspace)
	if workspace != "" {
		return host.Shelf(app.home, app.settings.Settings, workspace)
	}
	var workspaces []string
	all, _ := app.home.List() // what cannot be read has no skills
	for _, id := range all {
		workspaces = append(workspaces, filepath.Join(id.Dir, "workspace"))
	}
	return host.Shelf(app.home, app.settings.Settings, workspaces...)
}

func listSkills(app *app, workspace string) error {
	all := app.shelf(workspace).All()
	return app.show(all, func(out io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(out, "no skills yet; docs/others.md tells where they go, and this adds one that ships: %s\n",
				app.lethe("skills add plan"))
			return
		}
		rows := newTable("SKILL", "WHERE", "WRONG")
		for _, skill := range all {
			rows.row(skill.Name, skill.Path, skill.Why)
		}
		rows.write(out)
	})
}

func newSkillsAddCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "add SKILL",
		Short: "Put a skill that ships with Lethe into the home: plan",
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runSkillsAdd(app, args)
		}),
	}
}

func runSkillsAdd(app *app, args []string) error {
	dir, err := skills.Install(app.home.Dir, args[0])
	if err != nil {
		return err
	}
	return app.print(object{"added": dir}, "added: %s\n", dir)
}

// skillsAllowOptions are the flags of lethe skills allow.
type skillsAllowOptions struct {
	all       bool
	show      bool
	workspace string
}

func newSkillsAllowCommand(app *app) *cobra.Command {
	var options skillsAllowOptions
	cmd := &cobra.Command{
		Use:   "allow [NAME]",
		Short: "Allow a skill or program of a workspace as it is now, and show what changed",
		Long: `Allow shows how a skill or a program differs from what you allowed of it, which is nothing
at first, and records that you allow it as it is now. When it changes, it is out again.
What has one of these names in bin/, .agents/skills or .claude/skills of the workspace is
meant; a path means that one alone. Without --workspace, the workspace is that of the
configuration, or those of all identities.`,
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runSkillsAllow(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.all, "all", false, "allow all that waits for it")
	flags.BoolVar(&options.show, "show", false, "only show it")
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	return cmd
}

func runSkillsAllow(app *app, options skillsAllowOptions, args []string) error {
	name := argument(args, 0)
	if name == "" && !options.all {
		return usagef("name the skill or program to allow, or say --all")
	}
	shelf, diffs := app.shelf(options.workspace), map[string]string{}
	for _, skill := range shelf.All() {
		isNamed := skill.Name == name || skill.Path == name
		isMeant := options.all || isNamed
		if !skill.Waits || !isMeant {
			continue
		}
		diff, err := shelf.Allow(skill, !options.show)
		if err != nil {
			return fmt.Errorf("allow %s: %w", skill.Path, err)
		}
		diffs[skill.Path] = diff
	}
	if len(diffs) == 0 && !options.all {
		err := codedError{fmt.Errorf("allow %s: none of that name waits for it", name), exitNotFound}
		return hint(err, "‹skills list› shows all; --workspace names another workspace")
	}
	return app.show(diffs, func(out io.Writer) {
		for _, path := range slices.Sorted(maps.Keys(diffs)) {
			fmt.Fprintln(out, indented("", diffs[path]))
			if !options.show {
				fmt.Fprintf(out, "allowed: %s\n", oneLine(path))
			}
		}
	})
}
