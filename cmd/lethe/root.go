package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe"
	"lethe/agent"
	"lethe/config"
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
	again   string // global flags that a command in a hint has to repeat
	rerun   string // flags that a command in a hint has to repeat to run an identity the same way

	asIs     bool // the home is looked at, and nothing of it made or restored
	home     agent.Home
	settings settings
	refused  error // why help was refused

	outlets []*outlet // of a program that stays
}

func (p *program) execute(ctx context.Context, args []string) int {
	p.json = wantsJSON(args)
	cmd := p.command()
	cmd.SetArgs(args)
	cmd.SetIn(p.in)
	help := &printer{Writer: p.out}
	cmd.SetOut(help)
	cmd.SetErr(p.err)
	err := cmp.Or(cmd.ExecuteContext(ctx), p.refused, help.err)
	if err != nil {
		p.report(err)
	}
	for _, o := range p.outlets {
		o.flush()
	}
	return codeOf(err)
}

// printer keeps the first error of its writes, which cobra ignores.
type printer struct {
	io.Writer
	err error
}

func (w *printer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.err = cmp.Or(w.err, err)
	return n, err
}

// wantsJSON looks for --json before the flags are parsed, which may fail.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

func (p *program) command() *cobra.Command {
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
		Version:       lethe.Version,
		Args:          quotedQuestion,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.noteFlags(cmd)
			_, name, _ := strings.Cut(cmd.CommandPath(), " ")
			switch first, _, _ := strings.Cut(name, " "); first {
			case "demo", "completion":
				if p.json {
					return usagef("lethe %s prints text; leave out --json", first)
				}
				return nil
			case "rehearse", "replay", "eval", "bench", "help", "doctor": // need no home, and no configuration
				return nil
			}
			repair, _ := cmd.Flags().GetBool("repair")
			p.asIs = name == "fsck" && !repair
			return p.open(slices.Contains([]string{"", "run", "serve", "chat", "say", "ask", "acp", "import"}, name)) // the others only look
		},
	}
	root.RunE = func(cmd *cobra.Command, list []string) error {
		if len(list) == 1 {
			text, err := p.question(list)
			if err != nil {
				return err
			}
			return p.ask(cmd.Context(), asking{text: text})
		}
		return p.converse(cmd.Context())
	}
	root.SetVersionTemplate("lethe {{.Version}}\n")
	if p.json {
		root.SetVersionTemplate(`{"version":"{{.Version}}"}` + "\n")
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpFunc(p.help(root.HelpFunc()))
	flags := root.PersistentFlags()
	flags.StringVar(&p.homeDir, "home", "", "`DIR` with all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&p.json, "json", p.json, "print data and errors as JSON")
	flags.BoolVar(&p.verbose, "verbose", false, "print LIFE events as they happen")
	_ = root.MarkPersistentFlagDirname("home")
	p.runFlags(root)
	p.newFlag(root)
	p.traceFlag(root)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"talk", "Talk:", []*cobra.Command{p.askCommand(), p.chatCommand(), p.sayCommand(), p.answerCommand(), p.acpCommand(), p.demoCommand()}},
		{"look", "Look:", []*cobra.Command{p.agentsCommand(), p.topCommand(), p.questionsCommand(), p.lifeCommand(), p.contextCommand(), p.budgetCommand(), p.catCommand(), p.recallCommand(), p.jobsCommand(), p.triggersCommand(), p.bridgesCommand(), p.doctorCommand(), p.fsckCommand(), p.verifyCommand()}},
		{"run", "Run:", []*cobra.Command{p.runCommand(), p.stopCommand(), p.serveCommand(), p.bridgeCommand(), p.eraseCommand(), p.gcCommand(), p.cleanCommand()}},
		{"branch", "Branch:", []*cobra.Command{p.forkCommand(), p.branchCommand(), p.treeCommand(), p.diffCommand()}},
		{"carry", "Carry:", []*cobra.Command{p.exportCommand(), p.importCommand()}},
		{"measure", "Measure:", []*cobra.Command{p.benchCommand(), p.replayCommand(), p.evalCommand(), p.rehearseCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(p.completionCommand())
	setOnce(root)
	return root
}

// help refuses words that are no command, which cobra's help would ignore.
func (p *program) help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, list []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			p.refused = noCommand(cmd, words)
			return
		}
		show(cmd, list)
	}
}

// helpCommand makes "help COMMAND" mean "COMMAND --help".
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, list []string) error {
			root.SetArgs(append(slices.Clone(list), "--help"))
			return root.ExecuteContext(cmd.Context())
		},
	}
}

// noteFlags remembers the flags that hints have to repeat.
func (p *program) noteFlags(cmd *cobra.Command) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		text := " --" + f.Name
		if f.Value.Type() != "bool" {
			text += " " + quoted(f.Value.String())
		}
		switch f.Name {
		case "home":
			p.again += text
		case "offline", "preset", "base-url", "context-limit", "workspace":
			p.rerun += text
		}
	})
}

// quoted writes a word for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-:+@%,=", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// lethe is a command line for a hint, in the same home.
func (p *program) lethe(format string, args ...any) string {
	return strings.TrimSpace("lethe "+fmt.Sprintf(format, args...)) + p.again
}

// quotedQuestion takes at most one argument, which has to have white space: a single
// word is a mistyped command.
func quotedQuestion(cmd *cobra.Command, list []string) error {
	if len(list) == 1 && strings.ContainsFunc(strings.TrimSpace(list[0]), unicode.IsSpace) {
		return nil
	}
	if len(list) == 1 && strings.TrimSpace(list[0]) == "" {
		return usagef("the question is empty")
	}
	return noCommand(cmd, list)
}

// noCommand refuses words behind a command that are none of its commands.
func noCommand(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	what := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	near := config.Nearest(words[0], names)
	if near != "" {
		what = fmt.Sprintf("did you mean: %s %s", cmd.CommandPath(), near)
	}
	switch {
	case cmd.HasParent():
	case len(words) > 1:
		what += "; a question needs quotes"
	case near == "":
		what += "; a question has two words at least"
	}
	return hint(usagef("unknown command %q", words[0]), "%s", what)
}

// args makes cobra's complaints about arguments usage errors.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		switch {
		case check(cmd, list) == nil:
			return nil
		case check(cmd, append(list, "", "")) == nil || check(cmd, append(list, "")) == nil:
			return hint(usagef("%s needs more arguments", cmd.CommandPath()), "usage: %s", cmd.UseLine())
		}
		return hint(usagef("%s takes fewer arguments", cmd.CommandPath()), "usage: %s", cmd.UseLine())
	}
}

// once is a flag that may be given once: of two values, one would be ignored.
type once struct {
	pflag.Value
	set bool
}

func (o *once) Set(s string) error {
	if o.set {
		return errTwice
	}
	o.set = true
	return o.Value.Set(s)
}

var errTwice = errors.New("given twice")

// setOnce makes flags of a command and those below it refuse a second value,
// unless they are lists.
func setOnce(cmd *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		if f.DefValue == "0s" {
			f.DefValue = "" // the help would show it as a default
		}
		if _, done := f.Value.(*once); !done && !slices.Contains([]string{"bool", "count", "stringArray", "stringSlice"}, f.Value.Type()) {
			f.Value = &once{Value: f.Value}
		}
	}
	cmd.Flags().VisitAll(wrap)
	cmd.PersistentFlags().VisitAll(wrap)
	for _, c := range cmd.Commands() {
		setOnce(c)
	}
}

// wants says what a flag of a type takes.
var wants = map[string]string{
	"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
	"duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.Is(err, errTwice) && errors.As(err, &value):
		return usagef("--%s is given twice", value.GetFlag().Name)
	case errors.As(err, &value):
		return usagef("--%s is %q; it is %s", value.GetFlag().Name, value.GetValue(), wants[value.GetFlag().Value.Type()])
	case errors.As(err, &missing):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return hint(usageError{err}, "did you mean: --%s", near)
		}
		return hint(usageError{err}, "%s --help lists the flags", cmd.CommandPath())
	}
	return usageError{err}
}
