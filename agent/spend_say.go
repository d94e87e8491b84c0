package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/budget"
	"lethe/life/event"
)

// What people are told of money, and /budget.

// warn tells people once, in rooms, of each limit of the identity and of the home that is nearly spent.
func (a *Agent) warn(rooms []string) error {
	if a.purse == nil {
		return nil
	}
	for _, l := range a.money() {
		name := l.Warning()
		if l.Limit == 0 || l.Of == budget.Turn || l.Spent*100 < l.Limit*budget.WarnAt || slices.Contains(a.state.Spending.Warned, name) {
			continue
		}
		e := event.Error{ID: a.noticeID(), What: "budget", Text: name, Notice: a.notice(fmt.Sprintf("%d %% of a limit: %s.", l.Spent*100/l.Limit, l), rooms...)}
		if err := a.commit(record{event: e}); err != nil {
			return err
		}
	}
	return nil
}

// money returns what the identity with its descendants has spent, and its limits; and last,
// if it has a limit, the home.
func (a *Agent) money() []budget.Line {
	ledger := NewLedger(a.cfg.Home, a.store)
	if a.purse != nil {
		a.purse.mu.Lock()
		defer a.purse.mu.Unlock()
		ledger = a.purse.ledger
	}
	book, err := ledger.Read(a.cfg.Budget, time.Now(), a.cfg.Zone)
	if err != nil {
		return nil
	}
	for i := range book.Accounts {
		if own := &book.Accounts[i]; own.Self == a.id.Self {
			own.Spent.Turn, own.Raised.Turn = a.state.Spending.Spent.Turn, a.state.Spending.Raised.Turn
		}
	}
	lines := book.Own(a.id.Self)
	if book.HomeDay > 0 {
		lines = append(lines, book.Home())
	}
	if a.purse != nil {
		a.purse.lines = lines
	}
	return lines
}

// runBudget runs /budget: it says what is left, or raises a limit when somebody asks who may.
func (a *Agent) runBudget(e *event.Command, arg string) (say string) {
	if arg != "" {
		by, span, err := budget.ParseRaise(arg)
		switch {
		case err != nil:
			return fmt.Sprintf("I cannot read that; %v.", err)
		case !slices.Contains(a.cfg.People, e.By):
			return fmt.Sprintf("Only %s may raise a budget.", strings.Join(a.cfg.People, ", "))
		}
		if !slices.ContainsFunc(a.money(), func(l budget.Line) bool { return l.Of == span && l.Limit > 0 }) {
			return "No such limit is set, so there is nothing to raise. " + a.runBudget(e, "")
		}
		e.Raise, e.Of, e.Day = by.Dollars(), span, max(budget.DateOf(time.Now(), a.cfg.Zone), a.state.Spending.Date)
		return fmt.Sprintf("I may spend %s USD more %s.", by, map[string]string{budget.Day: "today", budget.Month: "this month", budget.Turn: "in this turn", budget.Life: "in all"}[span])
	}
	var parts []string
	for _, l := range a.money() {
		parts = append(parts, l.Left())
	}
	return "Spent: " + strings.Join(parts, "; ") + "."
}

// shownBudget is the limits as screens show them, those of its ancestors left out.
func (a *Agent) shownBudget() (out []budget.Line) {
	if a.purse == nil {
		return nil
	}
	a.purse.mu.Lock()
	defer a.purse.mu.Unlock()
	for _, l := range a.purse.lines {
		if l.Limit > 0 && (l.Who == a.id.Name || l.Who == "") {
			out = append(out, l)
		}
	}
	return out
}
