package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newAgentsCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:        "agents",
		SuggestFor: []string{"status", "stat", "ps", "list", "ls"},
		Short:      "List identities with their state, size, tokens and cost",
		Long: `A child stands below the identity that it works for. Below the table is what each waits for,
and the results of children.`,
		RunE: app.WithHome(func(ctx context.Context, _ []string) error {
			return runAgents(ctx, app)
		}),
	}
}

func runAgents(ctx context.Context, app *cli.App) error {
	app.Refresh(ctx)
	all, err := app.Look.Agents()
	if err != nil {
		return err
	}
	return app.Show(all, func(out io.Writer) { writeAgents(out, app, all) })
}

func writeAgents(out io.Writer, app *cli.App, all []report.Agent) {
	if len(all) == 0 {
		fmt.Fprintf(out, "no identities yet; boot one with: %s\n", app.Lethe(""))
		return
	}
	rows := console.NewTable("NAME", "SELF", "STATE", "MODEL", "ROOMS", "TURNS", "LIFE", "CONTEXT",
		"TOKENS IN/CACHED/OUT", "USD", "HIRED AS")
	for _, agent := range all {
		state := agent.State
		if agent.Host != "" {
			state = "at " + agent.Host
		}
		context := "-"
		if agent.ContextLimit != 0 {
			context = fmt.Sprintf("%dk/%dk", agent.Used()/1000, agent.ContextLimit/1000)
		}
		rows.Row(agent.Indent+agent.Name, fmt.Sprintf("%.16s", agent.Self), state, agent.Model, agent.Rooms, agent.Turns,
			fmt.Sprintf("%d KiB", (agent.LifeBytes+1023)>>10), context,
			fmt.Sprintf("%d/%d/%d", agent.InputTokens, agent.CachedTokens, agent.OutputTokens),
			llm.Dollars(agent.Model, agent.CostUSD), agent.Hired)
	}
	rows.Write(out)
	for _, agent := range all {
		writeDoing(out, agent)
	}
}

// writeDoing tells an identity's work, jobs, open questions and troubles, a line each.
func writeDoing(out io.Writer, agent report.Agent) {
	tell := func(format string, args ...any) { fmt.Fprintln(out, agent.Name+fmt.Sprintf(format, args...)) }
	if agent.Error != "" {
		tell(": %s", console.OneLine(agent.Error))
	}
	if !agent.SilentSince.IsZero() {
		tell(": nothing has come from the model for %s", console.Since(agent.SilentSince))
	}
	if work := agent.Work; work != nil {
		result := ""
		if work.Result != "" {
			result = ": " + console.OneLine(work.Result)
		}
		tell(": %s in room %s%s", work.State, work.Room, result)
	}
	if doing := agent.Doing(); agent.PID != 0 && doing != "" {
		tell(": %s", console.OneLine(doing))
	}
	for _, job := range agent.Jobs {
		tell(": job %d runs for %s: %s", job.ID, console.Since(job.Began), console.OneLine(job.Command))
	}
	for _, question := range agent.Questions {
		tell(" asks %s in %s: %s", question.ID, question.Room, console.OneLine(question.Text))
	}
	for _, trouble := range agent.Trouble {
		tell(": %s", console.OneLine(trouble))
	}
}
