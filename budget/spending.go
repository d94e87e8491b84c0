package budget

import (
	"encoding/json"
	"fmt"
	"slices"

	"lethe/life/event"
)

// Spending is what the lines of a life say of money. It is a fold over them: each line
// names the local day that it counts for.
type Spending struct {
	Date    string   `json:"date,omitempty"` // the newest day: 2026-11-22
	Spent   Sums     `json:"spent,omitzero"`
	Raised  Sums     `json:"raised,omitzero"`   // what people have added to the limits
	Settled []int    `json:"settled,omitempty"` // the newest holds that lines have paid
	Warned  []string `json:"warned,omitempty"`  // the newest warnings
}

// Bounds of the lists. Holds are open at the same time by the dozen at most.
const (
	maxSettled = 64
	maxWarned  = 8
)

// Apply folds an event. The end of a turn is told by EndTurn.
func (s *Spending) Apply(e event.Event) {
	switch e := e.(type) {
	case event.Reply:
		s.add(e.Tokens, true)
	case event.Spent:
		s.add(e.Tokens, e.On != "compaction")
	case event.Command:
		if e.Raise > 0 {
			*s = s.On(e.Day)
			*s.Raised.at(e.Of) += Of(e.Raise)
		}
	case event.Error:
		if e.What == "budget" {
			s.Warned = newest(append(slices.Clone(s.Warned), e.Text), maxWarned)
		}
	}
}

func (s *Spending) add(t event.Tokens, turn bool) {
	*s = s.On(t.Day)
	usd := Of(t.USD)
	s.Spent.Life += usd
	if turn {
		s.Spent.Turn += usd
	}
	if t.Day == s.Date { // a line of an earlier day counts for that day
		s.Spent.Day += usd
	}
	if month(t.Day) == month(s.Date) {
		s.Spent.Month += usd
	}
	if t.Hold > 0 {
		s.Settled = newest(append(slices.Clone(s.Settled), t.Hold), maxSettled)
	}
}

// On returns the spending as it stands on a day, which begins with nothing spent.
func (s Spending) On(day string) Spending {
	if day > s.Date {
		if month(day) != month(s.Date) {
			s.Spent.Month, s.Raised.Month = 0, 0
		}
		s.Date, s.Spent.Day, s.Raised.Day = day, 0, 0
	}
	return s
}

// EndTurn begins the next turn.
func (s *Spending) EndTurn() { s.Spent.Turn, s.Raised.Turn = 0, 0 }

func month(day string) string { return day[:min(7, len(day))] }

func newest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// Snapshot reads what an epoch's blob says of money. One of an earlier version says only
// what the whole life has cost.
func Snapshot(epoch []byte) (Spending, error) {
	var s struct {
		Spending Spending
		Usage    struct{ USD USD }
	}
	err := json.Unmarshal(epoch, &s)
	s.Spending.Spent.Life = max(s.Spending.Spent.Life, s.Usage.USD)
	return s.Spending, err
}

// WarnAt is the share of a limit, in percent, at which people are told.
const WarnAt = 80

// Warning is what LIFE says when people are told of a limit: the same once in its span of time.
func (l Line) Warning() string {
	day := l.Day
	if l.Of == Month {
		day = month(day)
	}
	return fmt.Sprintf("%d %% of %s USD are spent: %s of %s", WarnAt, l.Limit, l.Key(), day)
}
