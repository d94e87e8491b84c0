package agent

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/budget"
)

// purse is what an identity spends from. It is safe for concurrent use.
type purse struct {
	home    Home
	store   *blobs.Store
	limits  budget.Limits
	limited bool // by any limit; otherwise it only writes what it has spent, and that where there is a ledger

	mu     sync.Mutex
	ledger *budget.Ledger
	own    budget.Account // what the ledger is to say
	last   int            // the number of the newest hold
	lines  []budget.Line  // of the limits, as they were seen last
}

// openPurse returns nil where the model is for nothing.
func (a *Agent) openPurse() (*purse, error) {
	if a.cfg.Offline {
		return nil, nil
	}
	p := &purse{
		home: a.cfg.Home, store: a.store, limits: a.cfg.Budget, limited: a.cfg.Budget.Any(),
		ledger: budget.NewLedger(a.cfg.Home.Dir), own: newAccount(a.id, a.store),
	}
	for _, self := range append(above(a.store, a.id.Self), a.id.Self) {
		child, err := a.cfg.Home.identity(self, "").Child()
		if err != nil {
			return nil, err
		}
		p.limited = p.limited || child != nil && child.USD > 0
	}
	return p, p.open(a.state.Spending)
}

// open takes over the holds of the process before, which lines have not paid.
func (p *purse) open(says budget.Spending) error {
	unlock, err := p.ledger.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.read(); err != nil {
		return p.unlessNone(err)
	}
	was, known := p.ledger.Accounts[p.own.Self]
	p.own.Spending, p.own.Holds = was.Spending, was.Holds
	p.own.Says(says)
	for _, h := range p.own.Holds {
		p.last = max(p.last, h.N)
	}
	p.last = max(p.last, slices.Max(append(says.Settled, 0)))
	if !known && p.own.Parent != "" && says.Spent.Life > 0 { // its family is back after a month
		if err := makeLedger(p.home, p.store, p.ledger); err != nil {
			return err
		}
	}
	return p.agree()
}

// read reads the ledger. Where there is none, and a limit, it makes it.
func (p *purse) read() error {
	err := p.ledger.Read()
	if errors.Is(err, fs.ErrNotExist) && p.limited {
		err = makeLedger(p.home, p.store, p.ledger)
	}
	return err
}

// unlessNone passes over that there is no ledger, where nothing is limited.
func (p *purse) unlessNone(err error) error {
	if errors.Is(err, fs.ErrNotExist) && !p.limited {
		return nil
	}
	return err
}

// agree has the ledger, as it was read, say what the purse does; others may have made it anew.
func (p *purse) agree() error {
	if a, known := p.ledger.Accounts[p.own.Self]; known && a.Same(p.own) {
		p.own = a
		return nil
	}
	return p.ledger.Put(p.own)
}

// tell is agree with the ledger as it is now.
func (p *purse) tell() error {
	if !p.limited && p.ledger.Missing() {
		return nil
	}
	unlock, err := p.ledger.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.read(); err != nil {
		return p.unlessNone(err)
	}
	return p.agree()
}

// book is that of the ledger, as it was read.
func (p *purse) book(today string) budget.Book {
	return budget.NewBook(p.limits, today, p.ledger.Accounts)
}

// ReadBook returns what all identities of a home have spent: what the ledger says, and of those that it does not name what
// their lives say.
func ReadBook(home Home, store *blobs.Store, limits budget.Limits, now time.Time, zone *time.Location) (b budget.Book, err error) {
	l := budget.NewLedger(home.Dir)
	unlock, err := l.Lock()
	if err != nil {
		return b, err
	}
	err = l.Read()
	unlock()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = addLives(home, store, l)
	}
	return budget.NewBook(limits, budget.DateOf(now, zone), l.Accounts), err
}

// addLives adds what the lives of a home say to what a ledger does, in memory. A damaged life counts for nobody: what it has
// spent is not known.
func addLives(home Home, store *blobs.Store, l *budget.Ledger) error {
	ids, err := home.List()
	for _, id := range ids {
		if _, known := l.Accounts[id.Self]; known {
			continue
		}
		s, err := Fold(id, store)
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
			continue
		}
		a := newAccount(id, store)
		if err == nil {
			a.Holds, err = budget.ReadHolds(id.Dir)
		}
		if err != nil {
			return err
		}
		a.Says(s.Spending)
		l.Accounts[id.Self] = a
	}
	return err
}

// newAccount is one of an identity that has spent nothing.
func newAccount(id Identity, store *blobs.Store) budget.Account {
	a := budget.Account{Self: id.Self, Name: id.Name}
	if up := above(store, id.Self); len(up) > 0 {
		a.Parent = up[0]
	}
	if child, err := id.Child(); child != nil && err == nil {
		a.Limit = budget.Of(child.USD)
	}
	return a
}

// makeLedger has the ledger say of all identities of a home what it does, and of others what their lives say.
func makeLedger(home Home, store *blobs.Store, l *budget.Ledger) error {
	err := addLives(home, store, l)
	all := slices.Collect(maps.Values(l.Accounts))
	if err == nil {
		err = l.Replace(all)
	}
	for _, a := range all {
		if err == nil {
			_ = os.Remove(budget.HoldsFile(home.identity(a.Self, "").Dir)) // most have none; again it would be paid
		}
	}
	return err
}
