package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe"
	"lethe/config"
	"lethe/home"
	"lethe/report"
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
	again   string        // global flags that a command in a hint has to repeat
	timeout time.Duration // of the wait for an answer; 0 is none
	rerun   string        // flags that a command in a hint has to repeat to run an identity the same way

	asIs     bool // the home is looked at, and nothing of it made or restored
	home     home.Home
	look     report.Home // all there is to see of it
	settings settings

	outlets []*outlet // of a program that stays
}

func (p *program) execute(ctx context.Context, args []string) int {
	p.json = wantsJSON(args)
	cmd := p.command()
	cmd.SetArgs(args)
	cmd.SetIn(p.in)
	cmd.SetOut(p.out)
	cmd.SetErr(p.err)
	var refused error // cobra's help ignores words that are no command
	show := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, list []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			refused = noCommand(cmd, words)
			return
		}
		show(cmd, list)
	})
	err := cmp.Or(cmd.ExecuteContext(ctx), refused)
	if err != nil {
		p.report(err)
	}
	for _, o := range p.outlets {
		o.flush()
	}
	return codeOf(err)
}

// wantsJSON looks for --json before the flags are parsed, which may fail.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

func (p *program) command() *cobra.Command {
	number, commit := version(buildInfo())
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
		Version:       number,
		Args:          quotedQuestion,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Hidden { // it is gone, or completes words
				return nil
			}
			p.noteFlags(cmd)
			_, name, _ := strings.Cut(cmd.CommandPath(), " ")
			switch first, _, _ := strings.Cut(name, " "); first {
			case "demo", "completion":
				if p.json {
					return usagef("lethe %s prints text; leave out --json", first)
				}
				return nil
			case "rehearse", "help", "doctor": // need no home, and no configuration
				return nil
			}
			repair, _ := cmd.Flags().GetBool("repair")
			p.asIs = name == "check" && !repair
			makes := []string{"", "run", "serve", "chat", "say", "ask", "acp", "import"} // a home; the others only look
			return p.open(slices.Contains(makes, name))
		},
	}
	root.RunE = func(cmd *cobra.Command, list []string) error {
		if len(list) == 1 {
			text, err := p.question(list)
			if err != nil {
				return err
			}
			return p.ask(cmd.Context(), text)
		}
		return p.converse(cmd.Context())
	}
	root.SetVersionTemplate("lethe {{.Version}}\n")
	if p.json {
		root.SetVersionTemplate(fmt.Sprintf("{\"version\":%q,\"commit\":%q}\n", lethe.Version, commit))
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	flags := root.PersistentFlags()
	flags.StringVar(&p.homeDir, "home", "", "`DIR` with all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&p.json, "json", p.json, "print data and errors as JSON")
	flags.BoolVar(&p.verbose, "verbose", false, "log more of what goes on")
	_ = root.MarkPersistentFlagDirname("home")
	p.runFlags(root)
	p.newFlag(root)
	group := func(title string, commands ...func() *cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, command := range commands {
			cmd := command()
			cmd.GroupID = title
			root.AddCommand(cmd)
		}
	}
	group("Talk", p.askCommand, p.chatCommand, p.sayCommand, p.answerCommand, p.acpCommand, p.demoCommand)
	group("Look", p.agentsCommand, p.topCommand, p.questionsCommand, p.lifeCommand, p.contextCommand,
		p.budgetCommand, p.catCommand, p.recallCommand, p.jobsCommand, p.triggersCommand, p.bridgesCommand,
		p.doctorCommand, p.checkCommand)
	group("Run", p.runCommand, p.stopCommand, p.serveCommand, p.bridgeCommand, p.eraseCommand, p.gcCommand,
		p.cleanCommand)
	group("Branch", p.forkCommand, p.branchCommand, p.treeCommand, p.diffCommand)
	group("Carry", p.exportCommand, p.importCommand)
	group("Measure", p.rehearseCommand)
	root.AddCommand(p.completionCommand())
	for old, now := range moved {
		root.AddCommand(&cobra.Command{
			Use:                old,
			Hidden:             true,
			DisableFlagParsing: true,
			Args:               cobra.ArbitraryArgs,
			RunE: func(*cobra.Command, []string) error {
				return hint(usagef("lethe %s is gone", old), "use %s", now)
			},
		})
	}
	p.byUse(root)
	setOnce(root)
	return root
}

// moved says where commands of earlier versions went.
var moved = map[string]string{
	"bench":  "go run ./lab bench, in Lethe's source",
	"eval":   "go run ./lab eval, in Lethe's source",
	"fsck":   "lethe check, and --repair to mend",
	"replay": "go run ./lab replay, in Lethe's source",
	"verify": "lethe check NAME, with --against FILE or --checkpoint",
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

// byUse has a command and those below it take the arguments that their Use lines name: NAME has to be there, [NAME]
// may be left out, and TEXT... may be several. Of the first one, names of identities and rooms are completed.
func (p *program) byUse(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		p.byUse(c)
	}
	if cmd.Args != nil {
		return
	}
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
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		switch {
		case len(list) < least:
			return hint(usagef("%s needs more arguments", cmd.CommandPath()), "usage: %s", cmd.UseLine())
		case len(list) > most:
			return hint(usagef("%s takes fewer arguments", cmd.CommandPath()), "usage: %s", cmd.UseLine())
		}
		return nil
	}
	if cmd.ValidArgsFunction != nil || len(words) == 0 {
		return
	}
	switch strings.Trim(words[0], "[]") {
	case "NAME":
		cmd.ValidArgsFunction = firstOnly(p.offers(p.identities))
	case "ROOM":
		cmd.ValidArgsFunction = firstOnly(p.offers(p.rooms))
	}
}

// option adds a flag that is empty by default, and completes its values with what may be given.
func option(cmd *cobra.Command, into any, name, usage string, with ...completion) {
	flags := cmd.Flags()
	switch v := into.(type) {
	case *bool:
		flags.BoolVar(v, name, false, usage)
	case *string:
		flags.StringVar(v, name, "", usage)
	case *[]string:
		flags.StringArrayVar(v, name, nil, usage)
	}
	for _, f := range with {
		_ = cmd.RegisterFlagCompletionFunc(name, f) // fails for a flag that is not there
	}
}

// once is a flag that may be given once: of two values, one would be ignored. A number or a duration is not negative.
type once struct {
	pflag.Value
	set bool
}

var errTwice, errNegative = errors.New("given twice"), errors.New("negative")

func (o *once) Set(s string) error {
	if o.set {
		return errTwice
	}
	if o.Type() != "string" && strings.HasPrefix(s, "-") {
		return errNegative
	}
	o.set = true
	return o.Value.Set(s)
}

// setOnce makes the flags of a command and of those below it refuse a second value, unless they are lists.
func setOnce(cmd *cobra.Command) {
	many := []string{"bool", "count", "stringArray", "stringSlice"}
	wrap := func(f *pflag.Flag) {
		if f.DefValue == "0s" {
			f.DefValue = "" // the help would show it as a default
		}
		_, done := f.Value.(*once)
		if !done && !slices.Contains(many, f.Value.Type()) {
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
	"int": "a whole number", "duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.Is(err, errTwice) && errors.As(err, &value):
		return usagef("--%s is given twice", value.GetFlag().Name)
	case errors.Is(err, errNegative) && errors.As(err, &value):
		return usagef("--%s is %s; it cannot be negative", value.GetFlag().Name, value.GetValue())
	case errors.As(err, &value):
		f := value.GetFlag()
		return usagef("--%s is %q; it is %s", f.Name, value.GetValue(), wants[f.Value.Type()])
	case errors.As(err, &missing):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return hint(usageError(err), "did you mean: --%s", near)
		}
	}
	return hint(usageError(err), "%s --help lists its flags", cmd.CommandPath())
}
