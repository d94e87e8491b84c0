package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/report"
)

func (p *program) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "budget [NAME]",
		Short: "Print what identities have spent, and what is left of their limits",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			h, err := p.reports()
			if err != nil {
				return err
			}
			all, err := h.Budgets()
			if err != nil || len(list) == 0 {
				return cmp.Or(err, p.printBudgets(all))
			}
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			return p.printBudget(all.Of(id.Self), all.Day)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
}

func (p *program) printBudget(info report.Budget, day string) error {
	if p.json {
		return p.printJSON(info)
	}
	fmt.Fprintf(p.out, "%s on %s\n", info.Name, day)
	for _, l := range info.Lines {
		fmt.Fprintf(p.out, "  %s\n", l.Left())
	}
	if c := info.Children; c.Life > 0 {
		fmt.Fprintf(p.out, "  of that its children: today %s, this month %s, in all %s\n", c.Day, c.Month, c.Life)
	}
	for _, l := range info.Applies {
		if l.Who != info.Name {
			fmt.Fprintf(p.out, "  also applies: %s\n", l)
		}
	}
	return nil
}

// printBudgets prints all identities of a home.
func (p *program) printBudgets(all report.Budgets) error {
	if p.json {
		return p.printJSON(all)
	}
	for _, info := range all.Identities {
		if err := p.printBudget(info, all.Day); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.out, "%s\n", all.Home.Left())
	return err
}
