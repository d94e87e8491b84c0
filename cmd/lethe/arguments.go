package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/chat"
)

// argument returns the n-th argument, "" where there are fewer.
func argument(args []string, n int) string {
	if n >= len(args) {
		return ""
	}
	return args[n]
}

// withHome opens the home for a command that looks at it; a home that is missing is empty.
func (app *app) withHome(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := app.prepare(cmd, false); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// makingHome opens the home for a command that needs one; a home that is missing is made.
func (app *app) makingHome(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := app.prepare(cmd, true); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// withIdentity is withHome for a command about the identity that its first argument names, or about the default one.
func (app *app) withIdentity(
	run func(context.Context, home.Identity, []string) error,
) func(*cobra.Command, []string) error {
	return app.withHome(func(ctx context.Context, args []string) error {
		id, err := app.find(argument(args, 0))
		if err != nil {
			return err
		}
		return run(ctx, id, args)
	})
}

// prepare checks the flags that commands share, and opens the home.
func (app *app) prepare(cmd *cobra.Command, missing bool) error {
	if flag := cmd.Flag("home"); flag != nil && flag.Changed {
		app.again = " --home " + quoted(app.homeDir)
	}
	if err := checkRooms(app.runs.Rooms...); err != nil {
		return err
	}
	err := app.open(missing)
	if app.shared != nil {
		app.shared.Until(cmd.Context())
	}
	return err
}

// finish gives a command, and each below it, the check of its arguments and the completion of arguments and flags.
func (app *app) finish(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = byUse
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		words := strings.Fields(cmd.Use)[1:]
		next := len(args)
		if len(words) > 0 && strings.HasSuffix(words[len(words)-1], "...") {
			next = min(next, len(words)-1)
		}
		if next >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return app.offers(strings.Trim(words[next], "[]."), args)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		word, _ := pflag.UnquoteUsage(flag)
		offers := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return app.offers(word, nil)
		}
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, offers) // fails for a flag that is not there
	})
	for _, below := range cmd.Commands() {
		app.finish(below)
	}
}

// byUse refuses arguments that the Use line of a command does not name: NAME has to be there, [NAME] may be left out,
// and TEXT... may be several.
func byUse(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	least, most := 0, len(words)
	for _, word := range words {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if strings.Contains(word, "...") {
			most = math.MaxInt
		}
	}
	wrong := "takes fewer"
	switch {
	case cmd.HasSubCommands():
		return noCommand(cmd, args)
	case len(args) >= least && len(args) <= most:
		return nil
	case len(args) < least:
		wrong = "needs more"
	}
	return hint(usagef("%s %s arguments", cmd.CommandPath(), wrong), "usage: %s", cmd.UseLine())
}

// offers completes an argument or a flag's value by the word that stands for it in the help, such as NAME. args stand
// before it.
func (app *app) offers(word string, args []string) (offers []string, how cobra.ShellCompDirective) {
	how = cobra.ShellCompDirectiveNoFileComp
	switch word, _, _ = strings.Cut(word, "|"); word {
	case "FILE":
		how = cobra.ShellCompDirectiveDefault
	case "DIR":
		how = cobra.ShellCompDirectiveFilterDirs
	case "PROVIDER":
		offers = llm.Presets()
	case "BRIDGE":
		offers = companions
	case "TYPE":
		offers = events.Types
	case "KIND":
		offers = report.Kinds
	case "ROOM":
		_ = app.open(false)
		offers = chat.All(app.home.Dir)
	case "NAME":
		_ = app.open(false)
		all, _ := app.home.List()
		for _, id := range all {
			if !slices.Contains(args, id.Name) {
				offers = append(offers, fmt.Sprintf("%s\t%.16s", id.Name, id.Self))
			}
		}
	}
	return offers, how
}
