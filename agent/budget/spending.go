package budget

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"lethe/life"
	"lethe/life/event"
)

// Spending is the money that the lines of a life tell. It is a fold over them: each line
// names the local day that it counts for.
type Spending struct {
	Date    string   `json:"date,omitempty"` // the newest line's day: 2026-11-22
	Spent   Sums     `json:"spent,omitzero"`
	Raised  Sums     `json:"raised,omitzero"`   // what people have added to the limits
	Others  []Other  `json:"others,omitempty"`  // days of before, or after, a leap of the clock
	Settled []int    `json:"settled,omitempty"` // the newest holds that lines have paid
	Warned  []string `json:"warned,omitempty"`  // the newest warnings
}

// Other is the money of another day than Date. The clock has leapt from one day to the other, and may leap back. Money
// of a day to come counts for the day on which the clock was put right, too; otherwise it would count for no day.
type Other struct {
	Date  string `json:"date"`
	As    string `json:"as,omitempty"` // the day on which the clock was found to have been ahead
	Day   USD    `json:"day,omitzero"`
	Month USD    `json:"month,omitzero"` // if its month is another than Spending.Date's
}

// Bounds of the lists. Holds are open at the same time by the dozen at most.
const (
	maxOthers  = 3
	maxSettled = 64
	maxWarned  = 8
)

// Fold returns the spending of a life: what its newest epoch carries and the lines since. usd is the cost of the whole
// life, for epochs of older programs, which carry nothing.
func Fold(carried json.RawMessage, lines []life.Event, usd float64) (spending Spending, err error) {
	if len(carried) > 0 {
		err = json.Unmarshal(carried, &spending)
	}
	for _, line := range lines {
		spending.Line(line)
	}
	spending.Spent.Life = max(spending.Spent.Life, Of(usd))
	return spending, err
}

// Encode renders the spending for an epoch to carry; nil if nothing was spent.
func (spending Spending) Encode() json.RawMessage {
	text, _ := json.Marshal(spending) // plain fields: cannot fail
	if string(text) == "{}" {
		return nil
	}
	return text
}

// Line folds a line.
func (spending *Spending) Line(line life.Event) {
	if e, err := event.Parse(line); err == nil {
		spending.Apply(e)
	}
}

// Apply folds an event.
func (spending *Spending) Apply(e event.Event) {
	switch e := e.(type) {
	case event.Reply:
		spending.add(e.Tokens)
	case event.Spent:
		spending.add(e.Tokens)
	case event.Command:
		if e.Raise > 0 && e.Of != "turn" { // older programs had a limit of a turn
			*spending = spending.On(e.Day)
			*spending.Raised.at(e.Of) += Of(e.Raise)
		}
	case event.Error:
		if e.What == "budget" {
			spending.Warned = newest(append(slices.Clone(spending.Warned), e.Text), maxWarned)
		}
	}
}

func (spending *Spending) add(tokens event.Tokens) {
	*spending = spending.On(tokens.Day)
	usd := Of(tokens.USD)
	spending.Spent.Life += usd
	if tokens.Day == spending.Date { // a line of an earlier day counts for that day
		spending.Spent.Day += usd
	}
	if month(tokens.Day) == month(spending.Date) {
		spending.Spent.Month += usd
	}
	if tokens.Hold > 0 {
		spending.Settled = newest(append(slices.Clone(spending.Settled), tokens.Hold), maxSettled)
	}
}

// On returns the spending as it stands on a day. A day on which the clock has not been begins with nothing spent.
func (spending Spending) On(day string) Spending {
	ahead := spending.Date > after(day)
	begun := day <= spending.Date && !ahead
	if day == "" || begun {
		return spending
	}
	was := Other{Date: spending.Date, Day: spending.Spent.Day}
	if ahead {
		was.As = day
	}
	skipped := day > after(spending.Date)
	leapt := spending.Date != "" && (ahead || skipped)
	spending.Date, spending.Spent.Day, spending.Raised.Day = day, 0, 0
	if month(was.Date) != month(day) {
		was.Month, spending.Spent.Month, spending.Raised.Month = spending.Spent.Month, 0, 0
	}
	var others []Other
	for _, other := range spending.Others {
		if month(other.Date) == month(day) {
			spending.Spent.Month, other.Month = spending.Spent.Month+other.Month, 0
		}
		if other.Date == day {
			spending.Spent.Day = other.Day
		} else {
			others = append(others, other)
		}
	}
	if leapt {
		others = append(others, was)
	}
	spending.Others = newest(others, maxOthers)
	return spending
}

// Sums returns the money that counts for Date, for its month and for the whole life.
func (spending Spending) Sums() Sums {
	sums := spending.Spent
	for _, other := range spending.Others {
		if other.As == spending.Date {
			sums.Day += other.Day
		}
		if month(other.As) == month(spending.Date) {
			sums.Month += other.Month
		}
	}
	return sums
}

func month(day string) string { return day[:min(7, len(day))] }

// after returns the next day.
func after(day string) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

func newest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// WarnAt is the share of a limit, in percent, at which people are warned.
const WarnAt = 80

// Warning returns the text in LIFE that records a warning of a limit. It is the same throughout its span
// of time.
func (line Line) Warning() string {
	day := line.Day
	if line.Of == Month {
		day = month(day)
	}
	return fmt.Sprintf("%d %% of %s USD are spent: %s of %s", WarnAt, line.Limit, line.Key(), day)
}
