package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/internal/must"
)

// manual has a chapter for each group of commands, and in it a page for each command: how it is used, a line on what it
// does, a text, examples, and its flags. The last chapter has the flags of all that run identities.
//
//go:embed commands.txt
var manual string

// call is one use of a command.
type call struct {
	context.Context
	args  []string
	flags *pflag.FlagSet
}

// arg returns the n-th argument, "" where there are fewer.
func (c call) arg(n int) string {
	if n >= len(c.args) {
		return ""
	}
	return c.args[n]
}

// The value of a flag, which has to be on the command's page.
func (c call) is(flag string) bool             { return must.Get(c.flags.GetBool(flag)) }
func (c call) text(flag string) string         { return must.Get(c.flags.GetString(flag)) }
func (c call) list(flag string) []string       { return must.Get(c.flags.GetStringArray(flag)) }
func (c call) number(flag string) int          { return must.Get(c.flags.GetInt(flag)) }
func (c call) lasts(flag string) time.Duration { return must.Get(c.flags.GetDuration(flag)) }

// of is a command about the identity that its first argument names, or about the default one.
func (p *program) of(f func(call, home.Identity) error) func(call) error {
	return func(c call) error {
		id, err := p.find(c.arg(0))
		if err != nil {
			return err
		}
		return f(c, id)
	}
}

// actions are what the commands of the manual do.
func (p *program) actions() map[string]func(call) error {
	return map[string]func(call) error{
		"lethe": p.mainCommand, "lethe acp": p.acpCommand, "lethe answer": p.answerCommand, "lethe ask": p.askCommand,
		"lethe chat": p.chatCommand, "lethe demo": p.demoCommand, "lethe mcp": p.mcpCommand, "lethe say": p.sayCommand,

		"lethe agents": p.agentsCommand, "lethe bridges": p.bridgesCommand, "lethe budget": p.budgetCommand,
		"lethe cat": p.catCommand, "lethe check": p.checkCommand, "lethe context": p.of(p.contextCommand),
		"lethe doctor": p.doctorCommand, "lethe jobs": p.of(p.jobsCommand), "lethe life": p.of(p.lifeCommand),
		"lethe model": p.of(p.modelCommand), "lethe models": p.modelsCommand,
		"lethe questions": p.questionsCommand, "lethe recall": p.recallCommand, "lethe rooms": p.roomsCommand,
		"lethe top": p.topCommand, "lethe triggers": p.of(p.triggersCommand),

		"lethe mcp add": p.serverAddCommand, "lethe mcp import": p.serverImportCommand, "lethe mcp list": p.serversCommand,
		"lethe mcp login": p.serverLoginCommand, "lethe mcp remove": p.serverRemoveCommand, "lethe mcp test": p.serverTestCommand,

		"lethe skills": p.skillsCommand, "lethe skills add": p.skillsAddCommand, "lethe skills allow": p.skillsAllowCommand,
		"lethe skills check": p.skillsCheckCommand, "lethe skills list": p.skillsCommand,

		"lethe bridge": p.bridgeCommand, "lethe bridge telegram": p.telegramCommand,
		"lethe bridge telegram allow": p.allowCommand, "lethe bridge telegram revoke": p.revokeCommand,
		"lethe bridge telegram who": p.whoCommand, "lethe clean": p.cleanCommand, "lethe erase": p.eraseCommand,
		"lethe gc": p.gcCommand, "lethe init": p.initCommand, "lethe rm": p.rmCommand, "lethe run": p.runCommand,
		"lethe serve": p.serveCommand, "lethe stop": p.of(p.stopCommand),

		"lethe branch": p.branchCommand, "lethe diff": p.diffCommand, "lethe fork": p.forkCommand,
		"lethe tree": p.of(p.treeCommand), "lethe export": p.exportCommand, "lethe import": p.importCommand,
		"lethe rehearse": p.rehearseCommand,

		"lethe hosts": p.hostsCommand, "lethe hosts drain": p.drainCommand, "lethe restore": p.restoreCommand,
		"lethe take": p.takeCommand,
	}
}

// command makes the commands of the manual.
func (p *program) command() *cobra.Command {
	text, running, _ := strings.Cut(manual, "\n# Running\n")
	text = strings.ReplaceAll(text, "\n+run\n", "\n"+running)
	var root *cobra.Command
	actions := p.actions()
	for _, chapter := range strings.Split("\n"+text, "\n# ")[1:] {
		title, pages, _ := strings.Cut(chapter, "\n")
		for _, page := range strings.Split(pages, "\n## ")[1:] {
			cmd := p.page(page)
			if root == nil {
				root = cmd
			} else {
				parent, rest, _ := root.Find(strings.Fields(cmd.Use))
				cmd.Use = strings.Join(rest, " ")
				if parent == root {
					cmd.GroupID = title
				}
				parent.AddCommand(cmd)
			}
			if !root.ContainsGroup(title) && cmd != root {
				root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
			}
			action := actions[cmd.CommandPath()]
			cmd.RunE = func(cmd *cobra.Command, list []string) error {
				return action(call{cmd.Context(), list, cmd.Flags()})
			}
		}
	}
	for _, name := range []string{"fsck", "verify"} { // as they were called before
		root.AddCommand(&cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return hint(usagef("%s is part of lethe check now", name), "lethe check --help has its flags")
			},
		})
	}
	return root
}

// page makes the command of a page.
func (p *program) page(text string) *cobra.Command {
	text, flags, _ := strings.Cut(text, "\nFlags:\n")
	text, example, _ := strings.Cut(text, "\nExample:\n")
	use, text, _ := strings.Cut(text, "\n")
	short, long, _ := strings.Cut(text, "\n")
	cmd := &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long), Example: strings.TrimRight(example, "\n"),
		Args: byUse,
		ValidArgsFunction: func(cmd *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := strings.Fields(cmd.Use)[1:]
			n := len(list)
			if len(words) > 0 && strings.HasSuffix(words[len(words)-1], "...") {
				n = min(n, len(words)-1)
			}
			if n >= len(words) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.offers(strings.Trim(words[n], "[]."), list)
		},
	}
	for _, line := range strings.Split(strings.TrimSpace(flags), "\n") {
		p.addFlag(cmd, line)
	}
	return cmd
}

// addFlag adds a flag: its name, a comma and one letter, an equals sign and its default, or dots where it may be
// repeated; and how it is used, with the word for its value in back quotes.
func (p *program) addFlag(cmd *cobra.Command, line string) {
	name, usage, _ := strings.Cut(line, " ")
	name, value, _ := strings.Cut(name, "=")
	name, letter, _ := strings.Cut(name, ",")
	name, many := strings.CutSuffix(name, "...")
	if name == "" {
		return
	}
	usage = strings.TrimSpace(usage)
	_, word, _ := strings.Cut(usage, "`")
	word, _, _ = strings.Cut(word, "`")
	switch flags := cmd.Flags(); {
	case many:
		flags.StringArrayP(name, letter, nil, usage)
	case word == "":
		flags.BoolP(name, letter, false, usage)
	case slices.Contains([]string{"N", "NUMBER", "TOKENS"}, word):
		number, _ := strconv.Atoi(value)
		flags.IntP(name, letter, number, usage)
	case word == "DURATION" || word == "DELAY":
		lasts, _ := time.ParseDuration(value)
		flags.DurationP(name, letter, lasts, usage)
	default:
		flags.StringP(name, letter, value, usage)
	}
	offers := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return p.offers(word, nil)
	}
	_ = cmd.RegisterFlagCompletionFunc(name, offers) // fails for a flag that is not there
}

// byUse refuses arguments that the Use line of a command does not name: NAME has to be there, [NAME] may be left out,
// and TEXT... may be several.
func byUse(cmd *cobra.Command, list []string) error {
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
	what := "takes fewer"
	switch {
	case cmd.HasSubCommands():
		return noCommand(cmd, list)
	case len(list) >= least && len(list) <= most:
		return nil
	case len(list) < least:
		what = "needs more"
	}
	return hint(usagef("%s %s arguments", cmd.CommandPath(), what), "usage: %s", cmd.UseLine())
}

// offers completes what may stand for a word of the manual, such as NAME; list has what stands there already.
func (p *program) offers(word string, list []string) (offers []string, how cobra.ShellCompDirective) {
	how = cobra.ShellCompDirectiveNoFileComp
	switch word, _, _ = strings.Cut(word, "|"); word {
	case "FILE":
		how = cobra.ShellCompDirectiveDefault
	case "DIR":
		how = cobra.ShellCompDirectiveFilterDirs
	case "PROVIDER":
		offers = llm.Presets()
	case "BRIDGE":
		offers = companions
	case "TYPE":
		offers = events.Types
	case "KIND":
		offers = report.Kinds
	case "ROOM":
		_ = p.open(false)
		offers = chat.All(p.home.Dir)
	case "NAME":
		_ = p.open(false)
		all, _ := p.home.List()
		for _, id := range all {
			if !slices.Contains(list, id.Name) {
				offers = append(offers, fmt.Sprintf("%s\t%.16s", id.Name, id.Self))
			}
		}
	}
	return offers, how
}
