package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			infos, err := p.agents()
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(infos)
			}
			if len(infos) == 0 {
				return p.noIdentities()
			}
			t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			if tree {
				printTree(t, infos)
				return t.Flush()
			}
			fmt.Fprintln(t, "NAME\tSELF\tSTATE\tMODEL\tROOMS\tTURNS\tLIFE\tTOKENS IN/CACHED/OUT\tUSD")
			for _, i := range infos {
				fmt.Fprintf(t, "%s\t%.16s\t%s\t%s\t%s\t%d\t%s\t%d/%d/%d\t%s\n", i.Name, i.Self, i.State, dash(i.Model), dash(strings.Join(i.Rooms, ",")), i.Turns, fmt.Sprintf("%d KiB", (i.LifeBytes+1023)>>10), i.Input, i.Cached, i.Output, llm.Dollars(i.Model, i.USD))
			}
			if err := t.Flush(); err != nil {
				return err
			}
			for _, i := range infos {
				if i.Error != "" {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, oneLine(i.Error))
				}
				if !i.SilentSince.IsZero() {
					fmt.Fprintf(p.out, "%s: nothing has come from the model for %s\n", i.Name, time.Since(i.SilentSince).Truncate(time.Second))
				}
				if text := brief(i); text != "" {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, text)
				}
				for _, j := range i.Jobs {
					fmt.Fprintf(p.out, "%s: job %d runs for %s: %s\n", i.Name, j.ID, tools.Span(time.Since(j.Began)), oneLine(j.Command))
				}
				for _, q := range i.Questions {
					fmt.Fprintf(p.out, "%s asks %s in %s: %s\n", i.Name, q.ID, q.Room, oneLine(q.Text))
				}
				for _, t := range i.Trouble {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, oneLine(t))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "show who works for whom, in which room, and how far")
	return cmd
}

// printTree shows each child below its parent. infos have them in that order.
func printTree(w io.Writer, infos []report.Agent) {
	fmt.Fprintln(w, "NAME\tSTATE\tROOM\tUSD\tRESULT")
	depth := map[string]int{}
	for _, i := range infos {
		room, state, result := strings.Join(i.Rooms, ","), i.State, ""
		if i.Work != nil {
			room, state, result = i.Work.Room, i.Work.State, i.Work.Result
			depth[i.Name] = depth[i.Parent] + 1
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", depth[i.Name]), i.Name, state, dash(room), llm.Dollars(i.Model, i.USD), dash(result))
	}
}

func (p *program) noIdentities() error {
	_, err := fmt.Fprintln(p.out, "no identities yet; boot one with:", p.lethe(""))
	return err
}

// agents are the identities of the home; there may be no home yet.
func (p *program) agents() ([]report.Agent, error) {
	if all, err := p.home.List(); err != nil || len(all) == 0 {
		return []report.Agent{}, err
	}
	h, err := p.reports()
	if err != nil {
		return nil, err
	}
	return h.Agents()
}

// reports is what there is to see of the home.
func (p *program) reports() (report.Home, error) {
	store, err := p.store()
	s := p.settings
	return report.Home{Home: p.home, Store: store, Limits: s.Budget.Limits(), Zone: s.Zone(), People: s.Deciders(), ContextLimit: s.Context.Limit}, err
}

// brief says in a line what an identity does besides what has lines of its own.
func brief(a report.Agent) string {
	if a.PID == 0 {
		return ""
	}
	a.Questions, a.Jobs = nil, nil
	return oneLine(strings.Join(a.Brief(time.Now()), ", "))
}

func dash(s string) string { return cmp.Or(s, "-") }
