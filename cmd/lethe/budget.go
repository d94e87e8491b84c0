package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/budget"
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

// budgetInfo is what an identity has spent.
type budgetInfo struct {
	Name     string        `json:"name"`
	Self     string        `json:"self"`
	Lines    []budget.Line `json:"spans"`           // with its descendants
	Children budget.Sums   `json:"descendants_usd"` // their part of it
	Applies  []budget.Line `json:"limits,omitzero"` // its own, those of its ancestors, and that of the home
}

func (p *program) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "budget [NAME]",
		Short: "Print what identities have spent, and what is left of their limits",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			book, err := p.book()
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return p.printBook(book)
			}
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			return p.printBudget(infoOf(book, id.Self), book.Day)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
}

func (p *program) book() (book budget.Book, err error) {
	store, err := p.store()
	if err != nil {
		return book, err
	}
	return agent.NewLedger(p.home, store).Read(p.settings.Budget.limits(), time.Now(), p.settings.zone())
}

func infoOf(book budget.Book, self string) budgetInfo {
	info := budgetInfo{Self: self, Applies: book.Lines(self)}
	for _, l := range book.Own(self) {
		if l.Of != budget.Turn { // only the identity itself knows
			info.Name, info.Lines = l.Who, append(info.Lines, l)
		}
	}
	for _, a := range book.Family(self) {
		if a.Self != self {
			info.Children.Day, info.Children.Month, info.Children.Life = info.Children.Day+a.Spent.Day, info.Children.Month+a.Spent.Month, info.Children.Life+a.Spent.Life
		}
	}
	return info
}

func (p *program) printBudget(info budgetInfo, day string) error {
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

// printBook prints all identities of a home.
func (p *program) printBook(book budget.Book) error {
	infos := []budgetInfo{}
	for _, a := range book.Accounts {
		infos = append(infos, infoOf(book, a.Self))
	}
	if p.json {
		return p.printJSON(map[string]any{"day": book.Day, "identities": infos, "home": book.Home()})
	}
	for _, info := range infos {
		if err := p.printBudget(info, book.Day); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.out, "%s\n", book.Home().Left())
	return err
}
