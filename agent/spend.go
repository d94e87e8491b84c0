package agent

import (
	"fmt"
	"strings"
	"time"

	"lethe"
	"lethe/agent/budget"
	"lethe/life/event"
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
	return a.paid(lost...)
}

func (a *Agent) rates() budget.Rates {
	return budget.Rates{
		Known: a.cfg.Known, Strict: a.wallet.Limited(), Began: time.Now(), Zone: a.cfg.Zone,
		Counted: a.counted, Estimate: a.estimate,
	}
}

// release settles the wallet by the log.
func (a *Agent) release() error { return a.wallet.Settle(a.log.Spending) }

// unpaid deals with a call that was not begun for want of money. It is false for any other
// error.
func (a *Agent) unpaid(err error) (bool, error) {
	u, ok := budget.Why(err, a.state.Stable.Params.Model, a.id.Name, a.cfg.Zone)
	switch {
	case u.Waits != "":
		a.outage.money = u.Waits
		a.outage.again(time.Second, time.Minute)
	case u.Pause != "":
		return true, a.pause(u.Pause, u.Say, u.Until)
	}
	return ok, nil
}

// goOn ends a pause when the time has come for which a budget was spent; so far ahead as no limit's is, it was told
// by a clock that was wrong.
func (a *Agent) goOn() error {
	now, months := time.Now(), 0
	if strings.Contains(a.state.Paused, budget.Line{Of: budget.Month}.Key()) {
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
	for _, l := range a.wallet.Near(a.cfg.Zone, a.log.Spending.Warned) {
		e := event.Error{
			What:   "budget",
			Text:   l.Warning(),
			Notice: a.notice(fmt.Sprintf("%d %% of a limit: %s.", l.Spent*100/l.Limit, l), rooms...),
		}
		if err := a.happen(e); err != nil {
			return err
		}
	}
	return nil
}
