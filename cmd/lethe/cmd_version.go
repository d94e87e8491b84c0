package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lethe"
	"lethe/cmd/lethe/cli"
)

func newVersionCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		RunE:  func(*cobra.Command, []string) error { return printVersion(app) },
	}
}

func printVersion(app *cli.App) error {
	number := version(debug.ReadBuildInfo())
	return app.Print(map[string]string{"version": number}, "lethe %s\n", number)
}

// version returns the number of the program and, where the build recorded it, the commit that it was built from.
func version(info *debug.BuildInfo, recorded bool) string {
	if !recorded {
		return lethe.Version
	}
	of := map[string]string{}
	for _, setting := range info.Settings {
		of[setting.Key] = setting.Value
	}
	commit, changed := of["vcs.revision"], ""
	if commit == "" {
		return lethe.Version
	}
	if of["vcs.modified"] == "true" {
		changed = ", changed since"
	}
	return fmt.Sprintf("%s (commit %.12s%s)", lethe.Version, commit, changed)
}
