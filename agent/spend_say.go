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
	p := a.purse
	if p == nil || !p.limited {
		return nil
	}
	p.mu.Lock()
	p.lines = ownLines(p.book(budget.DateOf(time.Now(), a.cfg.Zone)), a.id.Self)
	lines := p.lines
	p.mu.Unlock()
	for _, l := range lines {
		name := l.Warning()
		if l.Limit == 0 || l.Spent*100 < l.Limit*budget.WarnAt || slices.Contains(a.state.Spending.Warned, name) {
			continue
		}
		e := event.Error{ID: a.noticeID(), What: "budget", Text: name, Notice: a.notice(fmt.Sprintf("%d %% of a limit: %s.", l.Spent*100/l.Limit, l), rooms...)}
		if err := a.commit(record{event: e}); err != nil {
			return err
		}
	}
	return nil
}

// ownLines returns what the identity with its descendants has spent, and its limits; and last,
// if it has a limit, the home.
func ownLines(book budget.Book, self string) []budget.Line {
	lines := book.Own(self)
	if book.HomeDay > 0 {
		lines = append(lines, book.Home())
	}
	return lines
}

// runBudget runs /budget: it says what is left, or raises a limit when somebody asks who may.
func (a *Agent) runBudget(e *event.Command, arg string) (say string) {
	book, err := ReadBook(a.cfg.Home, a.store, a.cfg.Budget, time.Now(), a.cfg.Zone)
	if err != nil {
		return fmt.Sprintf("I cannot tell: %v.", err)
	}
	lines := ownLines(book, a.id.Self)
	if arg != "" {
		by, span, err := budget.ParseRaise(arg)
		switch {
		case err != nil:
			return fmt.Sprintf("I cannot read that; %v.", err)
		case !slices.Contains(a.cfg.People, e.By):
			return fmt.Sprintf("Only %s may raise a budget.", strings.Join(a.cfg.People, ", "))
		}
		if !slices.ContainsFunc(lines, func(l budget.Line) bool { return l.Of == span && l.Limit > 0 }) {
			return "No such limit is set, so there is nothing to raise. " + a.runBudget(e, "")
		}
		e.Raise, e.Of, e.Day = by.Dollars(), span, book.Day
		return fmt.Sprintf("I may spend %s USD more %s.", by, map[string]string{budget.Day: "today", budget.Month: "this month", budget.Life: "in all"}[span])
	}
	var parts []string
	for _, l := range lines {
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
