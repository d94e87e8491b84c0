// Package budget decides whether a call of a model may begin, so that what identities
// spend never passes a limit. A Wallet pays for the calls of one identity.
//
//	unlock, err := ledger.Lock()                       // of a home; nobody else begins a call meanwhile
//	err = ledger.Read()                                // what is new of it
//	short := budget.Check(budget.NewBook(limits, day, ledger.Accounts).Lines(self), worst) // may it begin?
//	own.Hold(n, worst, day)                            // then so much is put aside
//	err = ledger.Put(own)                             // durable before the call
//
// A call's hold is durable before the call, and what it has cost is in LIFE before the
// hold is released. So the sum of both is never less than what was spent, whatever is
// killed when, and Check keeps that sum within each limit.
//
// Everything here but the Ledger and the Wallet is pure. Amounts are whole millionths of a dollar,
// as LIFE writes them, so that sums are exact.
package budget

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// USD is an amount of money in millionths of a dollar.
type USD int64

// Of is the amount that LIFE writes as so many dollars.
func Of(dollars float64) USD { return USD(math.Round(dollars * 1e6)) }

// Ceil is the smallest amount that is no less than so many dollars, but for what floating point adds.
func Ceil(dollars float64) USD { return USD(math.Ceil(dollars*1e6 - 1e-6 - dollars*1e-9)) }

// Dollars is the amount as LIFE writes it.
func (u USD) Dollars() float64 { return float64(u) / 1e6 }

// String renders the amount for people: 2.00, or 0.0312 where cents say too little.
func (u USD) String() string {
	if u%10_000 == 0 || u >= 100*1e6 {
		return fmt.Sprintf("%.2f", u.Dollars())
	}
	return fmt.Sprintf("%.4f", u.Dollars())
}

// MarshalJSON writes dollars.
func (u USD) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, u.Dollars(), 'f', -1, 64), nil
}

// UnmarshalJSON reads dollars.
func (u *USD) UnmarshalJSON(data []byte) error {
	dollars, err := strconv.ParseFloat(string(data), 64)
	*u = Of(dollars)
	return err
}

// Sums are amounts for each span of time that a limit is set for.
type Sums struct {
	Day   USD `json:"day,omitzero"`   // the local day
	Month USD `json:"month,omitzero"` // the month of that day
	Life  USD `json:"life,omitzero"`
}

// Plus adds amounts to amounts.
func (s Sums) Plus(t Sums) Sums { return Sums{s.Day + t.Day, s.Month + t.Month, s.Life + t.Life} }

func (s *Sums) at(span string) *USD {
	switch span {
	case Day, HomeDay:
		return &s.Day
	case Month:
		return &s.Month
	}
	return &s.Life
}

// Spans of time, and HomeDay, which is the day of all identities together.
const (
	Day     = "day"
	Month   = "month"
	Life    = "life"
	HomeDay = "home"
)

// Spoken is how people call the spans of time.
var Spoken = map[string]string{Day: "today", Month: "this month", Life: "in all", HomeDay: "all identities today"}

// Limits are what may be spent; 0 is no limit.
type Limits struct {
	Sums              // of each identity with all its descendants
	Spawn         USD // Life of an identity that has a parent, at most
	HomeDay       USD // the day of all identities together
	AllowUnpriced bool
}

// Any reports whether there is a limit at all.
func (l Limits) Any() bool { return l.Sums != Sums{} || l.Spawn > 0 || l.HomeDay > 0 }

// Book is what all identities of a home have spent.
type Book struct {
	Limits
	Day      string // that counts as today
	Accounts []Account
}

// Line is one limit, and how much of it is gone.
type Line struct {
	Of    string `json:"of"`                 // Day, Month, Life or HomeDay
	Who   string `json:"who,omitempty"`      // whose limit it is; none of HomeDay
	Limit USD    `json:"limit_usd,omitzero"` // 0 is none
	Spent USD    `json:"spent_usd"`
	Held  USD    `json:"held_usd"` // by calls that are under way
	Day   string `json:"-"`        // that counts as today
}

// Left says how much is spent, and how much is left of the limit.
func (l Line) Left() string {
	text := fmt.Sprintf("%s %s USD", Spoken[l.Of], l.Spent)
	if l.Limit > 0 {
		text += fmt.Sprintf(" of %s, left %s", l.Limit, max(0, l.Limit-l.Spent-l.Held))
	}
	if l.Held > 0 {
		text += fmt.Sprintf(", put aside %s", l.Held)
	}
	return text
}

// Lines returns the limits that a call of an identity has to keep: its own, those of
// its ancestors, and that of the home.
func (b Book) Lines(self string) (lines []Line) {
	for who := self; who != ""; {
		i := slices.IndexFunc(b.Accounts, func(a Account) bool { return a.Self == who })
		if i < 0 || len(lines) > 4*len(b.Accounts) {
			break
		}
		for _, l := range b.Own(who) {
			if l.Limit > 0 {
				lines = append(lines, l)
			}
		}
		who = b.Accounts[i].Parent
	}
	if b.HomeDay > 0 {
		lines = append(lines, b.Home())
	}
	return lines
}

// Home is what all identities together have spent on the day.
func (b Book) Home() Line { return b.line(HomeDay, "", b.HomeDay, b.Accounts) }

// line is a limit of accounts together, of a span of time.
func (b Book) line(span, who string, limit USD, of []Account) Line {
	l := Line{Of: span, Who: who, Limit: limit, Day: b.Day}
	for _, a := range of {
		spent, held := a.Sums(), a.held(b.Day)
		l.Spent, l.Held = l.Spent+*spent.at(span), l.Held+*held.at(span)
	}
	return l
}

// Own returns what an identity and its descendants have spent, of each span of time,
// with its limit, if it has one.
func (b Book) Own(self string) (lines []Line) {
	family := b.Family(self)
	if len(family) == 0 {
		return nil
	}
	own := family[0]
	for _, span := range []string{Day, Month, Life} {
		limit := *b.Sums.at(span)
		if span == Life {
			limit = own.Limit
			if own.Parent != "" && b.Spawn > 0 {
				limit = min(cmp.Or(own.Limit, b.Spawn), b.Spawn)
			}
		}
		if limit > 0 {
			limit += *own.Raised.at(span)
		}
		lines = append(lines, b.line(span, own.Name, limit, family))
	}
	return lines
}

// Family returns the accounts of an identity, which is the first, and of all its descendants.
func (b Book) Family(self string) (out []Account) {
	for _, a := range b.Accounts {
		if a.Self == self {
			out = append(out, a)
		}
	}
	for i := 0; i < len(out) && len(out) <= len(b.Accounts); i++ {
		for _, a := range b.Accounts {
			if a.Parent == out[i].Self {
				out = append(out, a)
			}
		}
	}
	return out
}

// Short says which limit leaves too little for a call.
type Short struct {
	Line
	Worst USD  // what the call may cost
	Waits bool // it may fit when calls that are under way have ended
}

func (s *Short) Error() string {
	left := "nothing is"
	if usd := s.Limit - s.Spent - s.Held; usd > 0 {
		left = usd.String() + " are"
	}
	return fmt.Sprintf("the next call may cost up to %s USD, and %s left: %s", s.Worst, left, s.Line)
}

// String says how much of the limit is gone.
func (l Line) String() string {
	who := "have"
	if l.Who != "" {
		who = l.Who + " has"
	}
	return fmt.Sprintf("%s %s spent %s of %s USD (budget.%s)", Spoken[l.Of], who, l.Spent, l.Limit, l.Key())
}

// Key is the setting of the limit.
func (l Line) Key() string {
	switch l.Of {
	case HomeDay:
		return "home_day_usd"
	case Life:
		return "spawn_usd"
	}
	return l.Of + "_usd"
}

// Check returns nil when a call that costs at most worst keeps all limits; otherwise
// the first that it might pass, rather one that is spent than one that is only held.
func Check(lines []Line, worst USD) *Short {
	var short *Short
	for _, l := range lines {
		switch {
		case l.Spent+worst > l.Limit:
			return &Short{Line: l, Worst: worst}
		case l.Spent+l.Held+worst > l.Limit && short == nil:
			short = &Short{Line: l, Worst: worst, Waits: true}
		}
	}
	return short
}

// DateOf is the local day of a moment, as LIFE names it.
func DateOf(at time.Time, zone *time.Location) string { return at.In(zone).Format(time.DateOnly) }

// Renews is when a limit has room again by itself; zero when it never has.
func (l Line) Renews(zone *time.Location) time.Time {
	day, err := time.Parse(time.DateOnly, l.Day)
	y, m, d := day.Date()
	if err != nil {
		return time.Time{}
	}
	switch l.Of {
	case Day, HomeDay:
		return midnight(y, m, d+1, zone)
	case Month:
		return midnight(y, m+1, 1, zone)
	}
	return time.Time{}
}

// midnight is the first moment of a day, which need not be 00:00 where clocks change then.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	at := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for want := time.Date(y, m, d, 12, 0, 0, 0, zone).Day(); at.Day() != want; {
		at = at.Add(15 * time.Minute)
	}
	return at
}

// ParseRaise reads the argument of /budget: "+2 today".
func ParseRaise(arg string) (by USD, span string, err error) {
	amount, when, _ := strings.Cut(arg, " ")
	span = map[string]string{"today": Day, "month": Month, "life": Life}[strings.TrimSpace(when)]
	digits, plus := strings.CutPrefix(amount, "+")
	dollars, err := strconv.ParseFloat(digits, 64)
	if !plus || span == "" || err != nil || !(dollars >= 0.01 && dollars <= 1e6) ||
		strings.ContainsAny(digits, "xXpP_eE") {
		return 0, "", errors.New("say for example: /budget +2 today (or month, life), with 0.01 to 1000000 dollars")
	}
	return Of(dollars), span, nil
}
