package budget

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/life/event"
)

// Unpaid is the way out for a call that may not begin. At most one of Waits and Pause is set; if neither is, the call
// is tried again at once.
type Unpaid struct {
	Waits string    // the reason to wait until calls under way have ended
	Pause string    // the reason to pause
	Say   string    // the same, to people
	Until time.Time // the pause ends by itself; zero: it does not
}

// Why reads the error of a payment of the identity called name, for a model. ok is false for other errors.
func Why(err error, model, name string, zone *time.Location) (u Unpaid, ok bool) {
	if errors.Is(err, ErrNewDay) {
		return u, true
	}
	if errors.Is(err, ErrUnpriced) {
		u.Pause = err.Error() + ", and a budget is set"
		u.Say = fmt.Sprintf("A budget is set, and nobody has told me what the model %s costs. Give its price in config.toml, "+
			"[prices.%q] with hit, miss and output in USD per million tokens, or set budget.unpriced = \"allow\".", model, model)
		return u, true
	}
	short, ok := errors.AsType[*Short](err)
	switch {
	case !ok:
		return u, false
	case short.Waits:
		return Unpaid{Waits: short.Error()}, true
	}
	if short.Worst <= short.Limit { // for a larger call no new day makes room
		u.Until = short.Renews(zone)
	}
	more := "a larger limit"
	if short.Who == name {
		more = "/budget +1 " + map[string]string{Day: "today", Month: "month", Life: "life"}[short.Of]
	}
	how := "I go on after " + more + "."
	if !u.Until.IsZero() {
		how = fmt.Sprintf("I go on by myself on %s, or now after %s.", u.Until.Format("2006-01-02 at 15:04 MST"), more)
	}
	u.Pause, u.Say = short.Error(), fmt.Sprintf("I pause: %s. %s", short, how)
	return u, true
}

// Obey runs /budget for an identity and returns the answer: what is left; or, if e.By is among people, that e raises a
// limit.
func Obey(book Book, self string, people []string, e *event.Command, arg string) (say string) {
	lines := OwnLines(book, self)
	if arg != "" {
		by, span, err := ParseRaise(arg)
		switch {
		case err != nil:
			return fmt.Sprintf("I cannot read that; %v.", err)
		case !slices.Contains(people, e.By):
			return fmt.Sprintf("Only %s may raise a budget.", strings.Join(people, ", "))
		}
		if !slices.ContainsFunc(lines, func(line Line) bool { return line.Of == span && line.Limit > 0 }) {
			return "No such limit is set, so there is nothing to raise. " + Obey(book, self, people, e, "")
		}
		e.Raise, e.Of, e.Day = by.Dollars(), span, book.Day
		return fmt.Sprintf("I may spend %s USD more %s.", by, Spoken[span])
	}
	var parts []string
	for _, l := range lines {
		parts = append(parts, l.Left())
	}
	return "Spent: " + strings.Join(parts, "; ") + "."
}
