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
func Fold(carried json.RawMessage, lines []life.Event, usd float64) (s Spending, err error) {
	if len(carried) > 0 {
		err = json.Unmarshal(carried, &s)
	}
	for _, line := range lines {
		s.Line(line)
	}
	s.Spent.Life = max(s.Spent.Life, Of(usd))
	return s, err
}

// Encode renders the spending for an epoch to carry; nil if nothing was spent.
func (s Spending) Encode() json.RawMessage {
	text, _ := json.Marshal(s) // plain fields: cannot fail
	if string(text) == "{}" {
		return nil
	}
	return text
}

// Line folds a line.
func (s *Spending) Line(line life.Event) {
	if e, err := event.Parse(line); err == nil {
		s.Apply(e)
	}
}

// Apply folds an event.
func (s *Spending) Apply(e event.Event) {
	switch e := e.(type) {
	case event.Reply:
		s.add(e.Tokens)
	case event.Spent:
		s.add(e.Tokens)
	case event.Command:
		if e.Raise > 0 && e.Of != "turn" { // older programs had a limit of a turn
			*s = s.On(e.Day)
			*s.Raised.at(e.Of) += Of(e.Raise)
		}
	case event.Error:
		if e.What == "budget" {
			s.Warned = newest(append(slices.Clone(s.Warned), e.Text), maxWarned)
		}
	}
}

func (s *Spending) add(t event.Tokens) {
	*s = s.On(t.Day)
	usd := Of(t.USD)
	s.Spent.Life += usd
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

// On returns the spending as it stands on a day. A day on which the clock has not been begins with nothing spent.
func (s Spending) On(day string) Spending {
	ahead := s.Date > after(day)
	begun := day <= s.Date && !ahead
	if day == "" || begun {
		return s
	}
	was := Other{Date: s.Date, Day: s.Spent.Day}
	if ahead {
		was.As = day
	}
	skipped := day > after(s.Date)
	leapt := s.Date != "" && (ahead || skipped)
	s.Date, s.Spent.Day, s.Raised.Day = day, 0, 0
	if month(was.Date) != month(day) {
		was.Month, s.Spent.Month, s.Raised.Month = s.Spent.Month, 0, 0
	}
	var others []Other
	for _, o := range s.Others {
		if month(o.Date) == month(day) {
			s.Spent.Month, o.Month = s.Spent.Month+o.Month, 0
		}
		if o.Date == day {
			s.Spent.Day = o.Day
		} else {
			others = append(others, o)
		}
	}
	if leapt {
		others = append(others, was)
	}
	s.Others = newest(others, maxOthers)
	return s
}

// Sums returns the money that counts for Date, for its month and for the whole life.
func (s Spending) Sums() Sums {
	sums := s.Spent
	for _, o := range s.Others {
		if o.As == s.Date {
			sums.Day += o.Day
		}
		if month(o.As) == month(s.Date) {
			sums.Month += o.Month
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
func (l Line) Warning() string {
	day := l.Day
	if l.Of == Month {
		day = month(day)
	}
	return fmt.Sprintf("%d %% of %s USD are spent: %s of %s", WarnAt, l.Limit, l.Key(), day)
}
