package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/share/hosts"
	"lethe/bridge/report"
)

// program is what every command shares: the streams, the global flags, and the
// home once it is open.
type program struct {
	in       io.Reader
	lines    *bufio.Reader // of in
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
	shared   *hosts.Shared // nil: no other host shares the home

	outlets []*outlet // of a program that stays
}

func (p *program) execute(ctx context.Context, args []string) int {
	p.json, p.lines = wantsJSON(args), bufio.NewReader(p.in)
	cmd := p.command()
	cmd.Version = version(debug.ReadBuildInfo())
	cmd.SetVersionTemplate("lethe {{.Version}}\n")
	cmd.Args, cmd.PersistentPreRunE = quotedQuestion, p.prepare
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(flagError)
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	flags := cmd.PersistentFlags()
	flags.StringVar(&p.homeDir, "home", "", "`DIR` with all state (default $LETHE_HOME, or ~/.lethe)")
	flags.BoolVar(&p.json, "json", p.json, "print data and errors as JSON")
	flags.BoolVar(&p.verbose, "verbose", false, "log more of what goes on")
	_ = cmd.MarkPersistentFlagDirname("home")
	cmd.SetArgs(args)
	cmd.SetIn(p.in)
	cmd.SetOut(p.out)
	cmd.SetErr(p.err)
	err := cmd.ExecuteContext(ctx)
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

// prepare opens the home for a command, and reads what it says of how identities run.
func (p *program) prepare(cmd *cobra.Command, _ []string) error {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	group, _, _ := strings.Cut(name, " ")
	homeless := []string{"demo", "completion", "rehearse", "help", "doctor", "models", "restore"} // they need no home
	if cmd.Hidden || slices.Contains(homeless, group) {                                           // hidden ones complete words
		return nil
	}
	p.noteFlags(cmd)
	if c := (call{flags: cmd.Flags()}); c.flags.Lookup("soul") != nil {
		p.runs = runFlags{name: c.text("name"), soul: c.text("soul"), fresh: c.is("new"), Options: host.Options{
			Offline: c.is("offline"), Preset: c.text("preset"), BaseURL: c.text("base-url"), Model: c.text("model"),
			Limit: c.number("context-limit"), Workspace: c.text("workspace"), Rooms: c.list("room"),
		}}
		if err := checkRooms(p.runs.Rooms...); err != nil {
			return err
		}
	}
	repair, _ := cmd.Flags().GetBool("repair")
	p.asIs = name == "check" && !repair
	makes := []string{"", "init", "run", "serve", "chat", "say", "ask", "acp", "mcp", "mcp add", "mcp import", "import"} // a home; the others only look
	err := p.open(slices.Contains(makes, name))
	if p.shared != nil {
		p.shared.Until(cmd.Context())
	}
	return err
}

// mainCommand is lethe alone, or with a question.
func (p *program) mainCommand(c call) error {
	if len(c.args) == 0 {
		return p.converse(c)
	}
	text, err := p.question(c.args)
	if err != nil {
		return err
	}
	return p.ask(c, text)
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
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]{}!#~") {
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
	what := cmd.CommandPath() + " --help lists the commands"
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

// wants says what a flag of a type takes.
var wants = map[string]string{
	"int": "a whole number", "duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
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
