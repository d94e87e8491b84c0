package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/events"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/telegram"
	"lethe/chat"
)

// Bridges are the bridges that a daemon can keep beside itself.
var Bridges = []string{telegram.Name, backend.Name}

// Finish gives a command, and each below it, the completion of its arguments and flags. A command that says nothing of
// arguments takes no arguments, and the usage line of one without flags names no flags.
func (app *App) Finish(cmd *cobra.Command) {
	switch {
	case cmd.Args != nil:
	case cmd.HasSubCommands():
		cmd.Args = noCommand
	default:
		cmd.Args = ExactArgs(0)
	}
	cmd.DisableFlagsInUseLine = !cmd.HasAvailableFlags()
	cmd.ValidArgsFunction = app.completeArgument
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		word, _ := pflag.UnquoteUsage(flag)
		complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return app.complete(word, nil)
		}
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails for a flag that is not there
	})
	for _, below := range cmd.Commands() {
		app.Finish(below)
	}
}

// completeArgument completes the argument behind args, by the word at its place in the usage line.
func (app *App) completeArgument(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := strings.Fields(cmd.Use)[1:]
	next := len(args)
	if len(words) > 0 && strings.HasSuffix(words[len(words)-1], "...") {
		next = min(next, len(words)-1)
	}
	if next >= len(words) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return app.complete(strings.Trim(words[next], "[]."), args)
}

// complete completes an argument or a flag's value by the word that stands for it in the help, such as NAME or FILE|-.
// args stand before it.
func (app *App) complete(word string, args []string) (offers []string, how cobra.ShellCompDirective) {
	how = cobra.ShellCompDirectiveNoFileComp
	switch word, _, _ = strings.Cut(word, "|"); word {
	case "FILE":
		how = cobra.ShellCompDirectiveDefault
	case "DIR":
		how = cobra.ShellCompDirectiveFilterDirs
	case "PROVIDER":
		offers = llm.Presets()
	case "BRIDGE":
		offers = Bridges
	case "TYPE":
		offers = events.Types
	case "KIND":
		offers = report.Kinds
	case "ROOM":
		_ = app.Open(false)
		offers = chat.All(app.Home.Dir)
	case "NAME":
		_ = app.Open(false)
		all, _ := app.Home.List()
		for _, id := range all {
			if !slices.Contains(args, id.Name) {
				offers = append(offers, fmt.Sprintf("%s\t%.16s", id.Name, id.Self))
			}
		}
	}
	return offers, how
}
