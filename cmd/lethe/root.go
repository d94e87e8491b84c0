package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lethe"
	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/llm"
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

// runFlags say how identities run.
type runFlags struct {
	name, soul, preset, model, baseURL, workspace string
	rooms                                         []string
	offline                                       bool
	limit                                         int
}

// living reports whether a flag is set that only matters to who runs an identity.
func (r runFlags) living() bool {
	return r.soul != "" || r.preset != "" || r.model != "" || r.baseURL != "" || r.workspace != "" || r.offline || r.limit != 0
}

// run is the whole program; it returns the exit code.
func run(args []string) int {
	ctx, stop := signals()
	defer stop()
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	rememberKeys()
	return p.execute(ctx, args)
}

// rememberKeys makes known which values of the environment nobody may see.
func rememberKeys() {
	secret.Add(os.Getenv(tokenVariable))
	for _, name := range llm.Presets() {
		preset, _ := llm.Preset(name)
		secret.Add(os.Getenv(preset.KeyEnv))
	}
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

// sameSignal is how long a signal may come again and still be the same: wrappers
// such as timeout(1) send it to the process and to its group.
const sameSignal = 300 * time.Millisecond

// signals ends a context at the first SIGINT or SIGTERM; the second ends the
// process at once.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-ch
		cancel()
		for first := time.Now(); ; {
			if <-ch; time.Since(first) > sameSignal {
				os.Exit(exitInterrupt)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
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

// runFlags adds the flags of commands that run identities.
func (p *program) runFlags(cmd *cobra.Command) {
	f, r := cmd.Flags(), &p.runs
	f.StringVar(&r.name, "name", "", "`NAME` of the identity to resume or boot")
	f.StringVar(&r.soul, "soul", "", "`FILE` with the purpose of an identity to boot")
	f.StringArrayVar(&r.rooms, "room", nil, "`ROOM` to hear, may be repeated (a new identity hears dev)")
	f.StringVar(&r.model, "model", "", "`MODEL` to think with (default: the life's own, or the provider's)")
	f.StringVar(&r.preset, "preset", "", "`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)")
	f.StringVar(&r.baseURL, "base-url", "", "`URL` of another OpenAI-compatible endpoint")
	f.BoolVar(&r.offline, "offline", false, "think with the offline rehearsal model")
	f.IntVar(&r.limit, "context-limit", 0, "`TOKENS` of a whole request with its answer (default 100000)")
	f.StringVar(&r.workspace, "workspace", "", "`DIR` the tools work in (default: one of the identity's own)")
	_ = cmd.MarkFlagDirname("workspace")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"room": p.completeRooms, "name": p.completeIdentities,
		"soul":   cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // any file
		"preset": cobra.FixedCompletions(llm.Presets(), cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails for a flag that is not there
	}
}

// open finds the home and reads its configuration. A home that is missing is
// made, or else is empty.
func (p *program) open(missing bool) error {
	dir := p.homeDir
	if dir == "" {
		dir = os.Getenv("LETHE_HOME")
	}
	if dir == "" {
		base, err := os.UserHomeDir()
		if err != nil {
			return hint(fmt.Errorf("find the home: %w", err), "name it with --home")
		}
		dir = filepath.Join(base, ".lethe")
	}
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return hint(fmt.Errorf("open home: %s is not a directory", dir), "name another with --home, or LETHE_HOME")
	}
	if errors.Is(err, fs.ErrNotExist) && !missing {
		p.home.Dir, err = filepath.Abs(dir)
		return err
	}
	if p.home, err = agent.OpenHome(dir); err != nil {
		return err
	}
	if p.home.Restored != "" {
		fmt.Fprintf(p.err, "note: the home is for its owner alone; permissions were restored: %s\n", p.home.Restored)
	}
	told := len(p.settings.ignored) > 0
	p.settings, err = readSettings(p.home.Dir)
	if keys := p.settings.ignored; len(keys) > 0 && !told {
		fmt.Fprintf(p.err, "warning: %s: %s no longer has an effect; delete it\n", configFile(p.home.Dir), strings.Join(keys, ", "))
	}
	return err
}

func (p *program) store() (*blobs.Store, error) {
	if _, err := os.Stat(p.home.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, hint(fmt.Errorf("open home %s: %w", p.home.Dir, agent.ErrNotFound), "name it with --home, or LETHE_HOME")
	}
	return blobs.Open(p.home.Blobs())
}

// find is the identity that who names, or the default one when who is empty.
func (p *program) find(who string) (agent.Identity, error) {
	if who == "" {
		return p.defaultIdentity()
	}
	id, err := p.home.Find(who)
	if errors.Is(err, agent.ErrNotFound) {
		return id, hint(err, "lethe agents lists them")
	}
	return id, err
}

// defaultIdentity is the one named in the configuration, or the one named lethe,
// or the only one.
func (p *program) defaultIdentity() (agent.Identity, error) {
	all, err := p.home.List()
	if err != nil {
		return agent.Identity{}, err
	}
	for _, name := range []string{p.settings.DefaultIdentity, defaultName} {
		for _, id := range all {
			if id.Name == name {
				return id, nil
			}
		}
	}
	switch len(all) {
	case 0:
		return agent.Identity{}, hint(fmt.Errorf("find the default identity: %w", agent.ErrNotFound), "boot one with: lethe")
	case 1:
		return all[0], nil
	}
	return agent.Identity{}, hint(usagef("there are %d identities, and none is the default", len(all)),
		"name one (lethe agents lists them), or set default_identity in %s", filepath.Join(p.home.Dir, "config.toml"))
}

// defaultName is what an identity is called that nobody named.
const defaultName = "lethe"

// userName is how the person at this terminal signs.
func (p *program) userName() string {
	if p.settings.User != "" {
		return chat.CleanName(p.settings.User)
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return chat.CleanName(filepath.Base(u.Username))
	}
	return "user"
}

func (p *program) completeRooms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	if p.open(false) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var rooms []string
	files, _ := filepath.Glob(chat.Path(p.home.Dir, "*"))
	for _, f := range files {
		room := strings.TrimSuffix(filepath.Base(f), chat.FileName(""))
		if chat.ValidRoom(room) {
			rooms = append(rooms, room)
		}
	}
	return rooms, cobra.ShellCompDirectiveNoFileComp
}

// completeIdentities completes names of identities that are not in list yet.
func (p *program) completeIdentities(_ *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
	if p.open(false) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := p.home.List()
	var names []string
	for _, id := range all {
		if !slices.Contains(list, id.Name) {
			names = append(names, id.Name+"\t"+id.Self[:16])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// firstOnly completes the first argument and no other.
func firstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, list []string, s string) ([]string, cobra.ShellCompDirective) {
		if len(list) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, list, s)
	}
}
