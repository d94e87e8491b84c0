package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/config"
)

// newRootCommand makes lethe with all its commands.
func newRootCommand(app *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "lethe [QUESTION]",
		Short: "Agents that live for months, forget gracefully, and lose nothing",
		Long: `Lethe runs agents that live for months in chat rooms that are plain files.

Without a command, lethe is a chat with the default identity. If the identity is
running, the chat attaches to it. Otherwise the identity is resumed, or booted if
there is none or with --new, and runs until you leave. With a question in quotes, lethe prints
the answer and exits.

The model is DeepSeek if DEEPSEEK_API_KEY is set. Without a key it is the offline
rehearsal model, which says so.`,
		Example: `  lethe                                 chat, offline if there is no key
  lethe "what is 12*7?"                 ask once and print the answer
  lethe run --name ada --room dev       run the new identity ada as a daemon
  lethe say dev "are you there?"        append a line to room dev`,
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
			return runRoot(ctx, app, args)
		}),
		Args:          quotedQuestion,
		Version:       version(debug.ReadBuildInfo()),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("lethe {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	app.runs.addTo(root.Flags())
	flags := root.PersistentFlags()
	flags.StringVar(&app.homeDir, "home", "", "`DIR` with all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&app.json, "json", app.json, "print data and errors as JSON")
	flags.BoolVar(&app.verbose, "verbose", false, "log more of what goes on")
	_ = root.MarkPersistentFlagDirname("home")
	addGroup(root, "Talk",
		newACPCommand(app), newAnswerCommand(app), newAskCommand(app), newChatCommand(app), newDemoCommand(app),
		newMCPCommand(app), newSayCommand(app))
	addGroup(root, "Look",
		newAgentsCommand(app), newBridgesCommand(app), newBudgetCommand(app), newCatCommand(app), newCheckCommand(app),
		newContextCommand(app), newDoctorCommand(app), newJobsCommand(app), newLifeCommand(app), newModelCommand(app),
		newModelsCommand(app), newQuestionsCommand(app), newRecallCommand(app), newRoomsCommand(app),
		newTriggersCommand(app))
	addGroup(root, "Run",
		newBridgeCommand(app), newCleanCommand(app), newInitCommand(app), newRemoveCommand(app), newEraseCommand(app),
		newCollectCommand(app), newRunCommand(app), newServeCommand(app), newSkillsCommand(app), newStopCommand(app))
	addGroup(root, "Branch", newBranchCommand(app), newDiffCommand(app), newForkCommand(app), newTreeCommand(app))
	addGroup(root, "Carry",
		newExportCommand(app), newImportCommand(app), newHostsCommand(app), newRestoreCommand(app), newTakeCommand(app))
	addGroup(root, "Measure", newRehearseCommand(app))
	app.finish(root)
	return root
}

// addGroup adds commands below a title of the help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// runRoot is lethe alone, or with a question.
func runRoot(ctx context.Context, app *app, args []string) error {
	if len(args) == 0 {
		return chatWithDefault(ctx, app)
	}
	text, err := readQuestion(app, args)
	if err != nil {
		return err
	}
	return askMeant(ctx, app, text, 0)
}

// quotedQuestion accepts one argument with white space, or no argument: a single word is a mistyped command.
func quotedQuestion(cmd *cobra.Command, list []string) error {
	if len(list) == 1 && strings.ContainsFunc(strings.TrimSpace(list[0]), unicode.IsSpace) {
		return nil
	}
	if len(list) == 1 && strings.TrimSpace(list[0]) == "" {
		return usagef("the question is empty")
	}
	return noCommand(cmd, list)
}

// noCommand refuses a word behind a command that names no command below it.
func noCommand(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	advice := cmd.CommandPath() + " --help lists the commands"
	near := config.Nearest(words[0], names)
	if near != "" {
		advice = fmt.Sprintf("did you mean: %s %s", cmd.CommandPath(), near)
	}
	switch {
	case cmd.HasParent():
	case len(words) > 1:
		advice += "; a question needs quotes"
	case near == "":
		advice += "; a question has two words at least"
	}
	return hint(usagef("unknown command %q", words[0]), "%s", advice)
}

// wants describes the values of a flag by its type.
var wants = map[string]string{
	"int": "a whole number", "duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// flagError tells in plain words why a flag is refused.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		flag := value.GetFlag()
		return usagef("--%s is %q; it is %s", flag.Name, value.GetValue(), wants[flag.Value.Type()])
	case errors.As(err, &missing):
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return hint(usageError(err), "did you mean: --%s", near)
		}
	}
	return hint(usageError(err), "%s --help lists its flags", cmd.CommandPath())
}
