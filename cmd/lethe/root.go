package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe"
	"lethe/agent"
)

// program is what every command shares: the streams, the global flags, and the
// home once it is open.
type program struct {
	in       io.Reader
	out, err io.Writer

	homeDir string
	json    bool
	verbose bool
	runs    runFlags

	home     agent.Home
	settings settings

	outlets []*outlet // of a program that stays
}

func (p *program) execute(ctx context.Context, args []string) int {
	cmd := p.command()
	cmd.SetArgs(args)
	cmd.SetIn(p.in)
	cmd.SetOut(p.out)
	cmd.SetErr(p.err)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		report(p.err, err)
	}
	for _, o := range p.outlets {
		o.flush()
	}
	return codeOf(err)
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lethe",
		Short: "Agents that live for months, forget gracefully, and lose nothing",
		Long: `Lethe runs agents that live for months in chat rooms that are plain files.

Without a command: chat with the default identity. If it is running, this
attaches to it; otherwise it is resumed, or booted if there is none, and lives
until you leave. With DEEPSEEK_API_KEY set it thinks with DeepSeek; without a
key, with the offline rehearsal model, which says so.`,
		Example: `  lethe                                 chat, offline if there is no key
  lethe run --name ada --room dev       a daemon with the new identity ada
  lethe say dev "are you there?"        append a line to room dev
  echo "what is 12*7?" | lethe          ask in a script`,
		Version:       lethe.Version,
		Args:          noCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if homeless(cmd) {
				return nil
			}
			return p.open(!looks(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return p.converse(cmd.Context()) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpCommand(helpCommand(root))
	root.SetVersionTemplate("lethe {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&p.homeDir, "home", "", "`DIR` of all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&p.json, "json", false, "print data as JSON")
	flags.BoolVar(&p.verbose, "verbose", false, "print LIFE events as they happen")
	_ = root.MarkPersistentFlagDirname("home")
	p.runFlags(root)
	root.AddCommand(
		p.runCommand(), p.stopCommand(), p.chatCommand(), p.sayCommand(), p.agentsCommand(), p.lifeCommand(),
		p.contextCommand(), p.catCommand(), p.recallCommand(), p.bridgeCommand(), p.bridgesCommand(), p.evalCommand(), p.rehearseCommand(), p.replayCommand(), p.demoCommand(), p.cleanCommand(),
	)
	return root
}

// helpCommand is cobra's, but for a word that is no command, which is refused.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, list []string) error {
			target, rest, err := root.Find(list)
			if err != nil || len(rest) > 0 {
				return noCommand(root, rest)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range root.Commands() {
				if len(list) == 0 && c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// homeless reports whether a command has nothing to do with a home: it must not
// make one, nor trip over a bad configuration.
func homeless(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		switch cmd.Name() {
		case "rehearse", "demo", "eval", "completion", "help":
			return true
		}
	}
	return false
}

// looks reports whether a command only looks at a home: a mistyped one is not made.
func looks(cmd *cobra.Command) bool {
	switch strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") {
	case "agents", "life", "context", "cat", "stop", "recall", "bridges", "clean",
		"bridge", "bridge telegram who", "bridge telegram allow", "bridge telegram revoke":
		return true
	}
	return false
}

// noCommand refuses words after lethe that are no command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usagef("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 1 + len(args[0])/5
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return hint(err, "did you mean: lethe %s", near[0])
	}
	return hint(err, "lethe --help lists the commands")
}

// args makes cobra's complaints about arguments usage errors.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		if err := check(cmd, list); err != nil {
			return hint(usageError{err}, "usage: %s", cmd.UseLine())
		}
		return nil
	}
}
