package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/config"
	"lethe/agent/llm"
	"lethe/cmd/lethe/console"
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

// Question accepts one argument that is a question, or no argument. It refuses a single word that may be a mistyped
// command, or begins with a slash.
func Question(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return noCommand(cmd, args)
	}
	question := strings.TrimSpace(args[0])
	oneWord := !strings.ContainsFunc(question, unicode.IsSpace)
	switch {
	case question == "":
		return exit.Usagef("the question is empty")
	case oneWord && strings.HasPrefix(question, "/"):
		return exit.Hint(exit.Usagef("%s is for a chat", question), "write it there, or say it in the room: lethe say ROOM %s",
			console.Quoted(question))
	case !oneWord:
		return nil
	}
	if name, _ := meant(cmd, question); name != "" {
		return noCommand(cmd, args)
	}
	return nil
}

// noCommand refuses a word behind a command that names no command below it.
func noCommand(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	advice := cmd.CommandPath() + " --help lists the commands"
	if name, isNear := meant(cmd, words[0]); isNear {
		advice = fmt.Sprintf("did you mean: %s %s", cmd.CommandPath(), name)
	}
	switch {
	case cmd.HasParent():
	case len(words) > 1:
		advice += "; a question needs quotes"
	default:
		advice += "; to ask the identity: lethe ask " + console.Quoted(words[0])
	}
	return exit.Hint(exit.Usagef("unknown command %q", words[0]), "%s", advice)
}

// meant returns the name of the command below cmd that a word seems to mean, or "": the command that others call so, or
// the nearest within two letters. For "help" it is one letter: "hello" is a question. isNear says that nothing else is as
// near, and in a word of up to four letters only one is wrong.
func meant(cmd *cobra.Command, word string) (name string, isNear bool) {
	least := 3
	for _, below := range cmd.Commands() {
		if slices.Contains(below.SuggestFor, word) {
			return below.Name(), true
		}
		slips := llm.Slips(word, below.Name())
		isHello := slips > 1 && below.Name() == "help"
		resembles := slips < len(word) && !isHello && !config.Opposed(word, below.Name())
		switch {
		case !resembles:
		case slips < least:
			name, least, isNear = below.Name(), slips, slips == 1 || len(word) > 4
		case slips == least:
			isNear = false
		}
	}
	return name, isNear
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
