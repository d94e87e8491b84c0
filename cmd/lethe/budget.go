package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"lethe/budget"
	"lethe/report"
)

// budgetSettings are the limits of config.toml, in dollars.
type budgetSettings struct {
	Turn     float64 `toml:"turn_usd"`
	Day      float64 `toml:"day_usd"`
	Month    float64 `toml:"month_usd"`
	Spawn    float64 `toml:"spawn_usd"`
	HomeDay  float64 `toml:"home_day_usd"`
	Unpriced string  `toml:"unpriced"`
}

const unpricedAllow = "allow"

func (s budgetSettings) check() (err error) {
	for _, limit := range []struct {
		key string
		usd float64
	}{{"turn_usd", s.Turn}, {"day_usd", s.Day}, {"month_usd", s.Month}, {"spawn_usd", s.Spawn}, {"home_day_usd", s.HomeDay}} {
		if limit.usd != 0 && !(limit.usd >= 0.01 && limit.usd <= 1e6) {
			err = errors.Join(err, fmt.Errorf("budget.%s = %g is not an amount from 0.01 to 1000000 dollars; leave it out to set no limit", limit.key, limit.usd))
		}
	}
	if !slices.Contains([]string{"", "refuse", unpricedAllow}, s.Unpriced) {
		err = errors.Join(err, fmt.Errorf("budget.unpriced = %q is none of refuse, allow", s.Unpriced))
	}
	return err
}

func (s budgetSettings) limits() budget.Limits {
	return budget.Limits{
		Sums:  budget.Sums{Turn: budget.Of(s.Turn), Day: budget.Of(s.Day), Month: budget.Of(s.Month)},
		Spawn: budget.Of(s.Spawn), HomeDay: budget.Of(s.HomeDay), AllowUnpriced: s.Unpriced == unpricedAllow,
	}
}

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
