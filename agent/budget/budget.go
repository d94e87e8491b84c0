// Package budget decides whether a call of a model may begin, so that what identities
// spend never passes a limit. A Wallet pays for the calls of one identity.
//
//	unlock, err := ledger.Lock()                       // of a home; nobody else begins a call meanwhile
//	err = ledger.Read()                                // what is new of it
//	short := budget.Check(budget.NewBook(limits, day, ledger.Accounts).Lines(self), worst) // may it begin?
//	own.Hold(n, worst, day)                            // then so much is put aside
//	err = ledger.Put(own)                             // durable before the call
//
// A hold is durable before its call begins, and the cost of the call is in LIFE before the
// hold is released. So a kill at any moment leaves the sum of both at least as large as the
// money spent, and Check keeps that sum within each limit.
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

// Of returns the amount that LIFE writes as so many dollars.
func Of(dollars float64) USD { return USD(math.Round(dollars * 1e6)) }

// Ceil rounds dollars up to an amount. It ignores the error of floating point.
func Ceil(dollars float64) USD { return USD(math.Ceil(dollars*1e6 - 1e-6 - dollars*1e-9)) }

// Dollars returns the amount as LIFE writes it.
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

// Sums are amounts by the spans of time that limits may have.
type Sums struct {
	Day   USD `json:"day,omitzero"`   // the local day
	Month USD `json:"month,omitzero"` // the month of that day
	Life  USD `json:"life,omitzero"`
}

// Plus returns the sum for each span of time.
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

// Spoken has people's words for the spans of time.
var Spoken = map[string]string{Day: "today", Month: "this month", Life: "in all", HomeDay: "all identities today"}

// Limits bound what identities spend; 0 means no limit.
type Limits struct {
	Sums               // of each identity with all its descendants
	Spawn         USD  `json:"spawn,omitzero"`    // the whole life of an identity that has a parent
	HomeDay       USD  `json:"home_day,omitzero"` // the day of all identities together
	AllowUnpriced bool `json:"allow_unpriced,omitempty"`
}

// Any reports whether there is a limit at all.
func (l Limits) Any() bool { return l != Limits{AllowUnpriced: l.AllowUnpriced} }

// Book holds the accounts of a home as they stand on a day.
type Book struct {
	Limits
	Day      string // it counts as today
	Accounts []Account
}

// Line is the money that counts for one limit.
type Line struct {
	Of    string `json:"of"`                 // Day, Month, Life or HomeDay
	Who   string `json:"who,omitempty"`      // the name of the identity that the limit binds; "" for HomeDay
	Limit USD    `json:"limit_usd,omitzero"` // 0: no limit
	Spent USD    `json:"spent_usd"`
	Held  USD    `json:"held_usd"` // by calls under way
	Day   string `json:"-"`        // it counts as today
}

// Left tells people how much is spent and how much is left.
func (line Line) Left() string {
	text := fmt.Sprintf("%s %s USD", Spoken[line.Of], line.Spent)
	if line.Limit > 0 {
		text += fmt.Sprintf(" of %s, left %s", line.Limit, max(0, line.Limit-line.Spent-line.Held))
	}
	if line.Held > 0 {
		text += fmt.Sprintf(", put aside %s", line.Held)
	}
	return text
}

// Lines returns the limits that a call of an identity has to keep: its own, its
// ancestors' and the home's.
func (book Book) Lines(self string) (lines []Line) {
	for who := self; who != ""; {
		i := slices.IndexFunc(book.Accounts, func(account Account) bool { return account.Self == who })
		if i < 0 || len(lines) > 4*len(book.Accounts) {
			break
		}
		for _, line := range book.Own(who) {
			if line.Limit > 0 {
				lines = append(lines, line)
			}
		}
		who = book.Accounts[i].Parent
	}
	if book.HomeDay > 0 {
		lines = append(lines, book.Home())
	}
	return lines
}

// Home returns the day of all identities together.
func (book Book) Home() Line { return book.line(HomeDay, "", book.HomeDay, book.Accounts) }

// line sums up accounts for one limit of a span of time.
func (book Book) line(span, who string, limit USD, of []Account) Line {
	line := Line{Of: span, Who: who, Limit: limit, Day: book.Day}
	for _, account := range of {
		spent, held := account.Sums(), account.held(book.Day)
		line.Spent, line.Held = line.Spent+*spent.at(span), line.Held+*held.at(span)
	}
	return line
}

// Own returns a line for each span of time. It counts an identity with its descendants
// against the identity's limit.
func (book Book) Own(self string) (lines []Line) {
	family := book.Family(self)
	if len(family) == 0 {
		return nil
	}
	own := family[0]
	for _, span := range []string{Day, Month, Life} {
		limit, ofRole := *book.Sums.at(span), *own.Role.at(span)
		if ofRole > 0 {
			limit = min(cmp.Or(limit, ofRole), ofRole)
		}
		if span == Life {
			limit = own.Limit
			if own.Parent != "" && book.Spawn > 0 {
				limit = min(cmp.Or(own.Limit, book.Spawn), book.Spawn)
			}
		}
		if limit > 0 {
			limit += *own.Raised.at(span)
		}
		lines = append(lines, book.line(span, own.Name, limit, family))
	}
	return lines
}

// Family returns the account of an identity, then its descendants' accounts.
func (book Book) Family(self string) (out []Account) {
	for _, account := range book.Accounts {
		if account.Self == self {
			out = append(out, account)
		}
	}
	for i := 0; i < len(out) && len(out) <= len(book.Accounts); i++ {
		for _, a := range book.Accounts {
			if a.Parent == out[i].Self {
				out = append(out, a)
			}
		}
	}
	return out
}

// Short is the error of a call that a limit leaves too little for.
type Short struct {
	Line
	Worst USD  // the most that the call may cost
	Waits bool // the call may fit when others, now under way, have ended
}

func (s *Short) Error() string {
	left := "nothing is"
	if usd := s.Limit - s.Spent - s.Held; usd > 0 {
		left = usd.String() + " are"
	}
	return fmt.Sprintf("the next call may cost up to %s USD, and %s left: %s", s.Worst, left, s.Line)
}

// String returns the part of the limit that is spent.
func (line Line) String() string {
	who := "have"
	if line.Who != "" {
		who = line.Who + " has"
	}
	return fmt.Sprintf("%s %s spent %s of %s USD (budget.%s)", Spoken[line.Of], who, line.Spent, line.Limit, line.Key())
}

// Key returns the name of the setting.
func (line Line) Key() string {
	switch line.Of {
	case HomeDay:
		return "home_day_usd"
	case Life:
		return "spawn_usd"
	}
	return line.Of + "_usd"
}

// Check returns nil if a call that costs at most worst keeps all limits. Otherwise it returns
// the first limit that is spent, or else the first that is held. A held one may have room later.
func Check(lines []Line, worst USD) *Short {
	var short *Short
	for _, line := range lines {
		switch {
		case line.Spent+worst > line.Limit:
			return &Short{Line: line, Worst: worst}
		case line.Spent+line.Held+worst > line.Limit && short == nil:
			short = &Short{Line: line, Worst: worst, Waits: true}
		}
	}
	return short
}

// DateOf returns the local day of a moment, as LIFE names it.
func DateOf(at time.Time, zone *time.Location) string { return at.In(zone).Format(time.DateOnly) }

// Renews returns the moment at which the span of the limit ends; zero for a whole life.
func (line Line) Renews(zone *time.Location) time.Time {
	day, err := time.Parse(time.DateOnly, line.Day)
	y, m, d := day.Date()
	if err != nil {
		return time.Time{}
	}
	switch line.Of {
	case Day, HomeDay:
		return midnight(y, m, d+1, zone)
	case Month:
		return midnight(y, m+1, 1, zone)
	}
	return time.Time{}
}

// midnight returns the first moment of a day. It is not 00:00 where clocks change at that time.
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
	readable := err == nil && !strings.ContainsAny(digits, "xXpP_eE")
	inBounds := dollars >= 0.01 && dollars <= 1e6
	switch {
	case !plus, span == "", !readable, !inBounds:
		return 0, "", errors.New("say for example: /budget +2 today (or month, life), with 0.01 to 1000000 dollars")
	}
	return Of(dollars), span, nil
}
