package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lethe/report"
)

func (p *program) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "budget [NAME]",
		Short: "Print what identities have spent, and what is left of their limits",
		RunE: func(_ *cobra.Command, list []string) error {
			all, err := p.look.Budgets()
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return p.show(all, func() {
					for _, b := range all.Identities {
						p.printBudget(b, all.Day)
					}
					fmt.Fprintln(p.out, all.Home.Left())
				})
			}
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			b := all.Of(id.Self)
			return p.show(b, func() { p.printBudget(b, all.Day) })
		},
	}
}

func (p *program) printBudget(b report.Budget, day string) {
	fmt.Fprintf(p.out, "%s on %s\n", b.Name, day)
	for _, l := range b.Lines {
		fmt.Fprintf(p.out, "  %s\n", l.Left())
	}
	if c := b.Children; c.Life > 0 {
		fmt.Fprintf(p.out, "  of that its children: today %s, this month %s, in all %s\n", c.Day, c.Month, c.Life)
	}
	for _, l := range b.Applies {
		if l.Who != b.Name {
			fmt.Fprintf(p.out, "  also applies: %s\n", l)
		}
	}
}
