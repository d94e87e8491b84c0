package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"
	_ "time/tzdata" // schedules know their zones on any machine

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/llm"
	"lethe/report"
)

func (p *program) triggersCommand() *cobra.Command {
	var now string
	cmd := p.about(&cobra.Command{
		Use:   "triggers [NAME]",
		Short: "List what wakes an identity by itself, with the next times and the history",
		Long: `Triggers lists the triggers of an identity: when each fires next, and from LIFE how often it has
fired, how many times were missed while the identity did not run, how many checks of its command found
nothing, how many of its lines were answered with (nothing), and what its turns have cost. It fails when a file is
wrong, and says what. docs/triggers.md tells how to write one.`,
	}, func(_ context.Context, id agent.Identity) error {
		h, err := p.reports()
		if err != nil {
			return err
		}
		all, err := h.Triggers(id)
		if err != nil {
			return err
		}
		if now != "" {
			return p.runTrigger(id, now, all)
		}
		if err := p.printTriggers(id, all); err != nil {
			return err
		}
		return report.Wrong(id, all)
	})
	cmd.Flags().StringVar(&now, "run-now", "", "have `TRIGGER` fire once, now; its schedule stays")
	return cmd
}

func (p *program) printTriggers(id agent.Identity, all []report.Trigger) error {
	if p.json {
		return p.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(p.out, "%s has no triggers; docs/triggers.md tells how to write one, or ask it: %s\n", id.Name, p.lethe(`"every day at nine say good morning"`))
		return nil
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TRIGGER\tWHEN\tROOM\tNEXT\tLAST\tFIRED\tMISSED\tSILENT\tNOTHING\tUSD")
	for _, i := range all {
		usd := "-"
		if i.Model != "" {
			usd = llm.Dollars(i.Model, i.USD)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", chat.Sanitize(i.Name), dash(chat.Sanitize(i.When)), dash(i.Room), p.clock(i.Next), p.clock(i.Last),
			i.Fired, i.Missed, i.Silent, i.Nothing, usd)
	}
	if _, running := agent.Running(id); !running {
		p.note("note", "%s does not run, and nothing fires until it does; start it with: %s", id.Name, p.howToRun(id, ""))
	}
	return t.Flush()
}

// clock is a moment as the clocks here show it.
func (p *program) clock(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(p.settings.Zone()).Format("Mon 2006-01-02 15:04:05")
}

// runTrigger asks the identity to fire a trigger now.
func (p *program) runTrigger(id agent.Identity, name string, all []report.Trigger) error {
	err := report.Fire(id, name, all)
	if errors.Is(err, agent.ErrNotFound) {
		return hint(err, "%s lists them", p.lethe("triggers %s", id.Name))
	}
	if err != nil {
		return err
	}
	if _, running := agent.Running(id); !running {
		p.note("note", "%s does not run: %s fires when it does; start it with: %s", id.Name, name, p.howToRun(id, ""))
		return nil
	}
	p.note("note", "asked %s to fire %s now", id.Name, name)
	return nil
}
