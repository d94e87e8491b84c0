package agent

import (
	"fmt"
	"strings"
	"time"

	"lethe"
	"lethe/agent/budget"
	"lethe/agent/part"
	"lethe/agent/summariser"
	"lethe/life/event"
)

// Money: what a call may cost is put aside before it begins, where a limit is set, and
// its cost is in LIFE before that is released. Package budget decides whether a call fits.

// billLost counts what was put aside for calls that were cut short with the process: what
// they have cost is not known.
func (t *thinker) billLost() error {
	holds := t.wallet.Holds()
	if len(holds) == 0 {
		return nil
	}
	var lost []part.Record
	for _, h := range holds {
		paid := event.Tokens{USD: h.USD.Dollars(), Day: h.Day, Hold: h.N}
		lost = append(lost, part.Record{Event: event.Spent{On: "lost", Calls: 1, Estimated: true, Tokens: paid}})
	}
	return t.paid(lost...)
}

func (t *thinker) rates() budget.Rates {
	if err := t.wallet.Refresh(); err != nil {
		t.Log.Warn("it is not known whether another host has set a limit of money", "error", err)
	}
	return budget.Rates{
		Known: t.cfg.Known, Strict: t.wallet.Limited(), Began: time.Now(), Zone: t.Zone,
		Counted: t.counted, Estimate: t.estimate,
	}
}

// Release settles the wallet by the log.
func (t *thinker) Release() error { return t.wallet.Settle(*t.spending) }

// unpaid deals with a call that was not begun for want of money. It is false for any other
// error.
func (t *thinker) unpaid(err error) (bool, error) {
	lack, ok := budget.Why(err, t.State.Stable.Params.Model, t.ID.Name, t.Zone)
	switch {
	case lack.Waits != "":
		t.outage.money = lack.Waits
		t.outage.again(time.Second, time.Minute)
	case lack.Pause != "":
		return true, t.Pause(lack.Pause, lack.Say, lack.Until)
	}
	return ok, nil
}

// goOn ends a pause when its time has come, and a pause whose time is further ahead than any budget's: a wrong clock
// set that.
func (t *thinker) goOn() error {
	now, months := time.Now(), 0
	if strings.Contains(t.State.Paused, budget.Line{Of: budget.Month}.Key()) {
		months = 1
	}
	until := t.State.Until
	ahead := now.Before(until) && until.Before(now.AddDate(0, months, 2))
	if until.IsZero() || ahead {
		return nil
	}
	return t.Happen(event.Resumed{Version: lethe.Version, Why: "budget"})
}

// What people are told of money, and /budget.

// warn tells people once, in rooms, of each limit of the identity and of the home that is nearly spent.
func (t *thinker) warn(rooms []string) error {
	for _, l := range t.wallet.Near(t.Zone, t.spending.Warned) {
		warning := event.Error{
			What:   "budget",
			Text:   l.Warning(),
			Notice: t.Notice(fmt.Sprintf("%d %% of a limit: %s.", l.Spent*100/l.Limit, l), rooms...),
		}
		if err := t.Happen(warning); err != nil {
			return err
		}
	}
	return nil
}

// paid records the costs of calls, and then releases what was put aside for them.
func (t *thinker) paid(costs ...part.Record) error {
	if err := t.Commit(costs...); err != nil {
		return err
	}
	return t.Release()
}

// pay records the cost of calls of a model beside the turns. on names their purpose.
func (t *thinker) pay(model *summariser.Model, on string) error {
	bill := model.Bill()
	if bill.Calls == 0 {
		return nil
	}
	bill.On, bill.Tokens = on, model.Pay.Note(bill.Tokens, 0)
	return t.paid(part.Record{Event: bill})
}
