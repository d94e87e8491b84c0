package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/life/event"
	"lethe/spend"
	"lethe/spend/wallet"
)

// What people are told of money, and /budget.

// warn tells people once, in rooms, of each limit of the identity and of the home that is nearly spent.
func (a *Agent) warn(rooms []string) error {
	if !a.wallet.Limited() {
		return nil
	}
	for _, l := range a.wallet.Lines(spend.DateOf(time.Now(), a.cfg.Zone)) {
		name := l.Warning()
		if l.Limit == 0 || l.Spent*100 < l.Limit*spend.WarnAt || slices.Contains(a.log.Spending.Warned, name) {
			continue
		}
		e := event.Error{
			What:   "budget",
			Text:   name,
			Notice: a.notice(fmt.Sprintf("%d %% of a limit: %s.", l.Spent*100/l.Limit, l), rooms...),
		}
		if err := a.happen(e); err != nil {
			return err
		}
	}
	return nil
}

// runBudget runs /budget: it says what is left, or raises a limit when somebody asks who may.
func (a *Agent) runBudget(e *event.Command, arg string) (say string) {
	book, err := wallet.ReadBook(a.cfg.Home, a.store, a.cfg.Budget, time.Now(), a.cfg.Zone)
	if err != nil {
		return fmt.Sprintf("I cannot tell: %v.", err)
	}
	lines := wallet.OwnLines(book, a.id.Self)
	if arg != "" {
		by, span, err := spend.ParseRaise(arg)
		switch {
		case err != nil:
			return fmt.Sprintf("I cannot read that; %v.", err)
		case !slices.Contains(a.cfg.People, e.By):
			return fmt.Sprintf("Only %s may raise a budget.", strings.Join(a.cfg.People, ", "))
		}
		if !slices.ContainsFunc(lines, func(l spend.Line) bool { return l.Of == span && l.Limit > 0 }) {
			return "No such limit is set, so there is nothing to raise. " + a.runBudget(e, "")
		}
		e.Raise, e.Of, e.Day = by.Dollars(), span, book.Day
		return fmt.Sprintf(
			"I may spend %s USD more %s.",
			by,
			map[string]string{spend.Day: "today", spend.Month: "this month", spend.Life: "in all"}[span],
		)
	}
	var parts []string
	for _, l := range lines {
		parts = append(parts, l.Left())
	}
	return "Spent: " + strings.Join(parts, "; ") + "."
}

// shownBudget is the limits as screens show them, those of its ancestors left out.
func (a *Agent) shownBudget() (out []spend.Line) {
	for _, l := range a.wallet.Seen() {
		if l.Limit > 0 && (l.Who == a.id.Name || l.Who == "") {
			out = append(out, l)
		}
	}
	return out
}
