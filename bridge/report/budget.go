package report

import (
	"time"

	"lethe/agent/budget"
)

// Budget holds the spending of an identity, and its limits.
type Budget struct {
	Name     string        `json:"name"`
	Self     string        `json:"self"`
	Lines    []budget.Line `json:"spans"`           // with its descendants
	Children budget.Sums   `json:"descendants_usd"` // their part of it
	Applies  []budget.Line `json:"limits,omitzero"` // its own, its ancestors', and the home's
}

// Budgets has the budgets of all identities.
type Budgets struct {
	Day        string      `json:"day"` // the local day, 2026-11-20
	Identities []Budget    `json:"identities"`
	Home       budget.Line `json:"home"`
}

// Budgets reads what all identities have spent until now, those of other hosts by copies of their lives.
func (h Home) Budgets(copies ...budget.Lives) (Budgets, error) {
	book, err := budget.ReadBook(h.Home, h.Store, h.Limits, time.Now(), h.Clock(), copies...)
	if err != nil {
		return Budgets{}, err
	}
	all := Budgets{book.Day, []Budget{}, book.Home()}
	for _, a := range book.Accounts {
		all.Identities = append(all.Identities, budgetOf(book, a.Self))
	}
	return all, nil
}

// Of is the budget of one identity.
func (b Budgets) Of(self string) Budget {
	for _, one := range b.Identities {
		if one.Self == self {
			return one
		}
	}
	return Budget{Self: self}
}

func budgetOf(book budget.Book, self string) Budget {
	one := Budget{Self: self, Applies: book.Lines(self)}
	for _, l := range book.Own(self) {
		one.Name, one.Lines = l.Who, append(one.Lines, l)
	}
	for _, a := range book.Family(self) {
		if a.Self != self {
			one.Children = one.Children.Plus(a.Sums())
		}
	}
	return one
}
