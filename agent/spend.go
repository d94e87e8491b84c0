package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe"
	"lethe/life/event"
	"lethe/spend"
	"lethe/spend/wallet"
)

// Money: what a call may cost is put aside before it begins, where a limit is set, and
// what it has cost is in LIFE before that is released. Package budget says what fits.

// payLost counts what was put aside for calls that were cut short with the process: what
// they have cost is not known.
func (a *Agent) payLost() error {
	holds := a.wallet.Holds()
	if len(holds) == 0 {
		return nil
	}
	var lost []record
	for _, h := range holds {
		paid := event.Tokens{USD: h.USD.Dollars(), Day: h.Day, Hold: h.N}
		lost = append(lost, record{Event: event.Spent{On: "lost", Calls: 1, Estimated: true, Tokens: paid}})
	}
	return inOrder(func() error { return a.commit(lost...) }, a.release)
}

func (a *Agent) rates() wallet.Rates {
	return wallet.Rates{
		Known: a.cfg.Known, Strict: a.wallet.Limited(), Began: time.Now(), Zone: a.cfg.Zone,
		Counted: a.counted, Estimate: a.estimate,
	}
}

// release settles the wallet by the log.
func (a *Agent) release() error { return a.wallet.Settle(a.log.Spending) }

// unpaid deals with a call that was not begun for want of money. It is false for any other
// error.
func (a *Agent) unpaid(err error) (bool, error) {
	if errors.Is(err, wallet.ErrNewDay) {
		return true, nil
	}
	if errors.Is(err, wallet.ErrUnpriced) {
		model := a.state.Stable.Params.Model
		return true, a.pause(err.Error()+", and a budget is set", fmt.Sprintf(
			"A budget is set, and nobody has told me what the model %s costs. Give its price in config.toml, [prices.%q] with hit, miss and output in USD per million tokens, or set budget.unpriced = \"allow\".",
			model,
			model,
		), time.Time{})
	}
	short, ok := errors.AsType[*spend.Short](err)
	switch {
	case !ok:
		return false, nil
	case short.Waits:
		a.outage.money = short.Error()
		a.outage.again(time.Second, time.Minute)
		return true, nil
	}
	var until time.Time
	if short.Worst <= short.Limit { // no new day makes room for a call that is larger
		until = short.Renews(a.cfg.Zone)
	}
	more := "a larger limit"
	if short.Who == a.id.Name {
		more = "/budget +1 " + map[string]string{spend.Day: "today", spend.Month: "month", spend.Life: "life"}[short.Of]
	}
	how := "I go on after " + more + "."
	if !until.IsZero() {
		how = fmt.Sprintf("I go on by myself on %s, or now after %s.", until.Format("2006-01-02 at 15:04 MST"), more)
	}
	return true, a.pause(short.Error(), fmt.Sprintf("I pause: %s. %s", short, how), until)
}

// goOn ends a pause when the time has come for which a budget was spent; so far ahead as no limit's is, it was told
// by a clock that was wrong.
func (a *Agent) goOn() error {
	now, months := time.Now(), 0
	if strings.Contains(a.state.Paused, spend.Line{Of: spend.Month}.Key()) {
		months = 1
	}
	if until := a.state.Until; until.IsZero() || now.Before(until) && until.Before(now.AddDate(0, months, 2)) {
		return nil
	}
	return a.happen(event.Resumed{Version: lethe.Version, Why: "budget"})
}

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
	if !a.wallet.Limited() {
		return nil
	}
	for _, l := range a.wallet.Lines(spend.DateOf(time.Now(), a.cfg.Zone)) {
		if l.Limit > 0 && (l.Who == a.id.Name || l.Who == "") {
			out = append(out, l)
		}
	}
	return out
}
