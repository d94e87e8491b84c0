package main

import (
	"fmt"

	"lethe/report"
)

func (p *program) budgetCommand(c call) error {
	all, err := p.look.Budgets()
	if err == nil && len(c.args) > 0 {
		id, err := p.find(c.arg(0))
		b := all.Of(id.Self)
		return p.show(b, err, func() { p.printBudget(b, all.Day) })
	}
	return p.show(all, err, func() {
		for _, b := range all.Identities {
			p.printBudget(b, all.Day)
		}
		fmt.Fprintln(p.out, all.Home.Left())
	})
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
