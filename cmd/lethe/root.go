package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/cmd/lethe/talk"
)

// newRootCommand makes lethe with all its commands.
func newRootCommand(app *cli.App) *cobra.Command {
	wantsVersion := false
	talks := app.MakingHome(func(ctx context.Context, args []string) error {
		return runRoot(ctx, app, args)
	})
	root := &cobra.Command{
		Use:   "lethe [QUESTION]",
		Short: "Agents that live for months, forget gracefully, and lose nothing",
		Long: `Lethe runs agents that live for months in chat rooms that are plain files.

Without a command, lethe is a chat with the default identity. If the identity is
running, the chat attaches to it. Otherwise the identity is resumed, or booted if
there is none or with --new, and runs until you leave. With a question, lethe prints the answer
and exits.

The model is DeepSeek if DEEPSEEK_API_KEY is set. Without a key it is the offline
rehearsal model, which says so.`,
		Example: `  lethe                                 chat, offline if there is no key
  lethe "what is 12*7?"                 ask once and print the answer
  lethe run --name ada --room dev       run the new identity ada as a daemon
  lethe say dev "are you there?"        append a line to room dev`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if wantsVersion {
				return printVersion(app)
			}
			return talks(cmd, args)
		},
		Args: func(cmd *cobra.Command, args []string) error {
			if wantsVersion {
				return nil
			}
			return cli.Question(cmd, args)
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// cobra would print the version by text/template, which keeps every exported method of the program in its file.
	root.Flags().BoolVarP(&wantsVersion, "version", "v", false, "version for lethe")
	app.Runs.AddTo(root.Flags())
	addGlobalFlags(root, app)
	addCommands(root, app)
	root.SetFlagErrorFunc(cli.FlagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	app.Finish(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd == root {
			fmt.Fprintln(app.Out, "\nTo say \"help\" to the identity: lethe ask help")
		}
	})
	return root
}

// addGlobalFlags adds the flags of every command.
func addGlobalFlags(root *cobra.Command, app *cli.App) {
	flags := root.PersistentFlags()
	flags.StringVar(&app.HomeDir, "home", "", "`DIR` with all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&app.JSON, "json", app.JSON, "print data and errors as JSON")
	flags.BoolVar(&app.Verbose, "verbose", false, "log more of what goes on")
	_ = root.MarkPersistentFlagDirname("home")
}

// addCommands adds all commands, in groups of the help.
func addCommands(root *cobra.Command, app *cli.App) {
	addGroup(root, "Talk",
		newACPCommand(app), newAnswerCommand(app), newAskCommand(app), newChatCommand(app), newDemoCommand(app),
		newMCPCommand(app), newSayCommand(app))
	addGroup(root, "Look",
		newAgentsCommand(app), newBridgesCommand(app), newBudgetCommand(app), newCatCommand(app), newCheckCommand(app),
		newContextCommand(app), newDoctorCommand(app), newFilesCommand(app), newJobsCommand(app), newLifeCommand(app),
		newModelCommand(app), newModelsCommand(app), newQuestionsCommand(app), newRecallCommand(app), newRoomsCommand(app),
		newTriggersCommand(app), newVersionCommand(app), newWorkCommand(app))
	addGroup(root, "Run",
		newBridgeCommand(app), newCleanCommand(app), newFireCommand(app), newHireCommand(app), newInitCommand(app),
		newRmCommand(app), newEraseCommand(app),
		newGCCommand(app), newRunCommand(app), newServeCommand(app), newSkillsCommand(app), newStopCommand(app))
	addGroup(root, "Branch", newBranchCommand(app), newDiffCommand(app), newForkCommand(app), newTreeCommand(app))
	addGroup(root, "Carry",
		newAdoptCommand(app), newExportCommand(app), newImportCommand(app), newHostsCommand(app), newRestoreCommand(app),
		newTakeCommand(app))
	addGroup(root, "Measure", newRehearseCommand(app), newRerunCommand(app))
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
func runRoot(ctx context.Context, app *cli.App, args []string) error {
	if len(args) == 0 {
		return talk.ChatWithDefault(ctx, app, beside(app))
	}
	if app.Named(ctx, args[0]) {
		err := exit.Usagef("%s is an identity", args[0])
		return exit.Hint(err, "talk to it with: %s", app.Lethe("--name %s", args[0]))
	}
	text, err := talk.ReadQuestion(app, args)
	if err != nil {
		return err
	}
	return talk.Ask(ctx, app, text, 0)
}
