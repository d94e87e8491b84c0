package budget

import (
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life/event"
)

// Beside opens the wallet of calls about an identity that no life tells of. They have an account of their own, as a
// child has, so they count for the limits of the identity and of the home.
func Beside(h home.Home, store *blobs.Store, id home.Identity, limits Limits) *Wallet {
	p := &Wallet{home: h, store: store, limits: limits, ledger: NewLedger(h.Dir)}
	p.own = Account{Self: id.Self + " beside", Name: id.Name + " beside its life", Parent: id.Self}
	if h.Shared != nil {
		p.ledger.Remote = h.Shared.Ledger()
	}
	p.limited.Store(limits.Any())
	return p
}

// Spend counts the most that a call may cost, if that keeps all limits; 0 where nobody knows. It is durable before the
// call begins, and a kill leaves it counted. With more it has no say, and counts what the newest such call has cost
// beyond its most, usually less than nothing.
func (p *Wallet) Spend(usd USD, more bool, zone *time.Location) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locked(func() error {
		if _, known := p.ledger.Accounts[p.own.Parent]; !known { // it has not run for a month
			if err := p.makeLedger(); err != nil {
				return err
			}
		}
		day, book := p.own.Date, p.book(DateOf(time.Now(), zone))
		if !more {
			day = book.Day
			lines := book.Lines(p.own.Parent)
			if usd == 0 && len(lines) > 0 && !p.limits.AllowUnpriced {
				return ErrUnpriced
			}
			if short := Check(lines, usd); short != nil {
				return short
			}
		}
		p.own.Spending = p.ledger.Accounts[p.own.Self].Spending
		p.own.add(event.Tokens{USD: usd.Dollars(), Day: day})
		return p.ledger.Put(p.own)
	})
}
