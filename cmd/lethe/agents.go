package main

import (
	"fmt"
	"strings"
	"time"

	"lethe/llm"
	"lethe/report"
	"lethe/tools"
)

// topPace is how often lethe top looks.
const topPace = time.Second

func (p *program) agentsCommand(call) error {
	all, err := p.look.Agents()
	return p.show(all, err, func() { p.printAgents(all) })
}

// topCommand prints the identities until the person leaves.
func (p *program) topCommand(c call) error {
	if p.json || !p.interactive() {
		return p.agentsCommand(c)
	}
	for {
		fmt.Fprint(p.out, "\x1b[H\x1b[J") // to the top of the screen, and clear it
		if err := p.agentsCommand(c); err != nil {
			return err
		}
		select {
		case <-c.Done():
			return nil
		case <-time.After(topPace):
		}
	}
}

// printAgents prints a table, each child below its parent, and below it what there is to say of each. all has them in
// that order.
func (p *program) printAgents(all []report.Agent) {
	depth := map[string]int{}
	head := "NAME\tSELF\tSTATE\tMODEL\tROOMS\tTURNS\tLIFE\tCONTEXT\tTOKENS IN/CACHED/OUT\tUSD"
	list(p, all, nil, p.noIdentities(), head, func(a report.Agent) []any {
		if a.Work != nil {
			depth[a.Name] = depth[a.Parent] + 1
		}
		name := strings.Repeat("  ", depth[a.Name]) + a.Name
		size := fmt.Sprintf("%d KiB", (a.LifeBytes+1023)>>10)
		context := ""
		if a.ContextLimit > 0 {
			context = fmt.Sprintf("%d/%dk", a.ContextTokens/1000, a.ContextLimit/1000)
		}
		tokens := fmt.Sprintf("%d/%d/%d", a.InputTokens, a.CachedTokens, a.OutputTokens)
		usd := llm.Dollars(a.Model, a.CostUSD)
		return []any{name, a.Self[:16], a.State, a.Model, a.Rooms, a.Turns, size, context, tokens, usd}
	})
	for _, a := range all {
		for _, line := range details(a) {
			fmt.Fprintf(p.out, "%s%s\n", a.Name, oneLine(line))
		}
	}
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
	if w := a.Work; w != nil {
		say(": %s", strings.TrimSuffix(fmt.Sprintf("%s in room %s: %s", w.State, w.Room, w.Result), ": "))
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

func (p *program) noIdentities() string { return "no identities yet; boot one with: " + p.lethe("") }
