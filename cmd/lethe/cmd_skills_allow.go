package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// skillsAllowOptions are the flags of lethe skills allow.
type skillsAllowOptions struct {
	all       bool
	show      bool
	workspace string
}

func newSkillsAllowCommand(app *cli.App) *cobra.Command {
	var options skillsAllowOptions
	cmd := &cobra.Command{
		Use:   "allow [NAME]",
		Short: "Allow a skill, a program or AGENTS.md of a workspace as it is now, and show what changed",
		Long: `Allow shows how a skill, a program or AGENTS.md differs from what you allowed of it, which
is nothing at first, and records that you allow it as it is now. When it changes, it is out
again. What has this name in the workspace, in its bin/, .agents/skills or .claude/skills is
meant; a path means that one alone. Without --workspace, the workspace is that of the
configuration, or those of all identities.`,
		Args: cli.MaximumArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runSkillsAllow(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.all, "all", false, "allow all that waits for it")
	flags.BoolVar(&options.show, "show", false, "only show it")
	flags.StringVar(&options.workspace, "workspace", "", "the `DIR` of the workspace")
	return cmd
}

func runSkillsAllow(app *cli.App, options skillsAllowOptions, args []string) error {
	name := cli.Argument(args, 0)
	if name == "" && !options.all {
		return exit.Usagef("name the skill, program or AGENTS.md to allow, or say --all")
	}
	shelf, diffs := shelf(app, options.workspace), map[string]string{}
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
		err := exit.With(exit.NotFound, fmt.Errorf("allow %s: none of that name waits for it", name))
		return exit.Hint(err, "%s shows all; --workspace names another workspace", app.Lethe("skills list"))
	}
	return app.Show(diffs, func(out io.Writer) {
		for _, path := range slices.Sorted(maps.Keys(diffs)) {
			fmt.Fprintln(out, console.Indented("", diffs[path]))
			if !options.show {
				fmt.Fprintf(out, "allowed: %s\n", console.OneLine(path))
			}
		}
	})
}
