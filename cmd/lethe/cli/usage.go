package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/config"
	"lethe/cmd/lethe/exit"
)

// ExactArgs, MinimumArgs, MaximumArgs and RangeArgs count arguments as cobra's do, and refuse them in words of lethe.

// ExactArgs accepts n arguments.
func ExactArgs(n int) cobra.PositionalArgs { return RangeArgs(n, n) }

// MinimumArgs accepts n arguments or more.
func MinimumArgs(n int) cobra.PositionalArgs { return RangeArgs(n, math.MaxInt) }

// MaximumArgs accepts up to n arguments.
func MaximumArgs(n int) cobra.PositionalArgs { return RangeArgs(0, n) }

// RangeArgs accepts between least and most arguments.
func RangeArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		wrong := ""
		switch {
		case len(args) < least:
			wrong = "needs more"
		case len(args) > most:
			wrong = "takes fewer"
		default:
			return nil
		}
		return exit.Hint(exit.Usagef("%s %s arguments", cmd.CommandPath(), wrong), "usage: %s", cmd.UseLine())
	}
}

// QuotedQuestion accepts one argument with white space, or no argument: a single word is a mistyped command.
func QuotedQuestion(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return noCommand(cmd, args)
	}
	question := strings.TrimSpace(args[0])
	switch {
	case question == "":
		return exit.Usagef("the question is empty")
	case strings.ContainsFunc(question, unicode.IsSpace):
		return nil
	}
	return noCommand(cmd, args)
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
	return exit.Hint(exit.Usagef("unknown command %q", words[0]), "%s", advice)
}

// wanted describes the values of a flag by its type.
var wanted = map[string]string{
	"int": "a whole number", "duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// FlagError tells in plain words why a flag is refused.
func FlagError(cmd *cobra.Command, err error) error {
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := value.GetFlag()
		return exit.Usagef("--%s is %q; it is %s", flag.Name, value.GetValue(), wanted[flag.Value.Type()])
	}
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return exit.Hint(exit.With(exit.Usage, err), "did you mean: --%s", near)
		}
	}
	return exit.Hint(exit.With(exit.Usage, err), "%s --help lists its flags", cmd.CommandPath())
}
