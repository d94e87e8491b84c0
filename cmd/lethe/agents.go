package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/llm"
	"lethe/report"
	"lethe/tools"
)

func (p *program) agentsCommand() *cobra.Command {
	tree := false
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List identities with their state, size, tokens and cost",
		RunE: func(*cobra.Command, []string) error {
			all, err := p.look.Agents()
			if err != nil {
				return err
			}
			if tree {
				return p.printTree(all)
			}
			return p.printAgents(all)
		},
	}
	option(cmd, &tree, "tree", "show who works for whom, in which room, and how far")
	return cmd
}

func (p *program) printAgents(all []report.Agent) error {
	head := "NAME\tSELF\tSTATE\tMODEL\tROOMS\tTURNS\tLIFE\tTOKENS IN/CACHED/OUT\tUSD"
	err := list(p, all, p.noIdentities(), head, func(a report.Agent) []any {
		size := fmt.Sprintf("%d KiB", (a.LifeBytes+1023)>>10)
		tokens := fmt.Sprintf("%d/%d/%d", a.Input, a.Cached, a.Output)
		return []any{a.Name, a.Self[:16], a.State, a.Model, a.Rooms, a.Turns, size, tokens, llm.Dollars(a.Model, a.USD)}
	})
	if p.json {
		return err
	}
	for _, a := range all {
		for _, line := range details(a) {
			fmt.Fprintf(p.out, "%s%s\n", a.Name, oneLine(line))
		}
	}
	return err
}

// details are the lines below the table that begin with the name of an identity.
func details(a report.Agent) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if a.Error != "" {
		say(": %s", a.Error)
	}
	if !a.SilentSince.IsZero() {
		say(": nothing has come from the model for %s", time.Since(a.SilentSince).Truncate(time.Second))
	}
	rest := a.Beside // questions and jobs have lines of their own
	rest.Questions, rest.Jobs = nil, nil
	if brief := rest.Brief(time.Now()); a.PID > 0 && len(brief) > 0 {
		say(": %s", strings.Join(brief, ", "))
	}
	for _, j := range a.Jobs {
		say(": job %d runs for %s: %s", j.ID, tools.Span(time.Since(j.Began)), j.Command)
	}
	for _, q := range a.Questions {
		say(" asks %s in %s: %s", q.ID, q.Room, q.Text)
	}
	for _, t := range a.Trouble {
		say(": %s", t)
	}
	return lines
}

// printTree shows each child below its parent. all has them in that order.
func (p *program) printTree(all []report.Agent) error {
	depth := map[string]int{}
	return list(p, all, p.noIdentities(), "NAME\tSTATE\tROOM\tUSD\tRESULT", func(a report.Agent) []any {
		room, state, result := strings.Join(a.Rooms, ","), a.State, ""
		if a.Work != nil {
			room, state, result = a.Work.Room, a.Work.State, a.Work.Result
			depth[a.Name] = depth[a.Parent] + 1
		}
		return []any{strings.Repeat("  ", depth[a.Name]) + a.Name, state, room, llm.Dollars(a.Model, a.USD), result}
	})
}

func (p *program) noIdentities() string { return "no identities yet; boot one with: " + p.lethe("") }
