package agent

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/budget"
	"lethe/life"
	"lethe/life/event"
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
	was, known := p.ledger.Account(p.own.Self)
	p.own.Spending, p.own.Holds = was.Spending, was.Holds
	p.own.Says(says)
	for _, h := range p.own.Holds {
		p.last = max(p.last, h.N)
	}
	p.last = max(p.last, slices.Max(append(says.Settled, 0)))
	if !known && p.own.Parent != "" && says.Spent.Life > 0 { // its family is back after a month
		if err := p.adopt(); err != nil {
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

// adopt has the ledger say what the identity's children have spent.
func (p *purse) adopt() error {
	all, err := accounts(p.home, p.store, p.ledger)
	for _, a := range all {
		if _, known := p.ledger.Account(a.Self); err == nil && !known && a.Parent == p.own.Self {
			err = p.ledger.Put(a, false)
		}
	}
	return err
}

// agree has the ledger, as it was read, say what the purse does; others may have made it anew.
func (p *purse) agree() error {
	if a, known := p.ledger.Account(p.own.Self); known && a.Same(p.own) {
		p.own = a
		return nil
	}
	return p.ledger.Put(p.own, false)
}

// tell is agree with the ledger as it is now.
func (p *purse) tell() error {
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
	return budget.NewBook(p.limits, today, p.ledger.Accounts())
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	all, err := accounts(home, store, l)
	return budget.NewBook(limits, budget.DateOf(now, zone), all), err
}

// accounts are those of all identities, by name, and of any others that the ledger has. A damaged life that it does not name
// counts for nobody: what it has spent is not known.
func accounts(home Home, store *blobs.Store, l *budget.Ledger) (all []budget.Account, err error) {
	ids, err := home.List()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		a, known := l.Account(id.Self)
		if !known {
			a, err = accountOf(id, store)
		}
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for _, a := range l.Accounts() {
		if !slices.ContainsFunc(ids, func(id Identity) bool { return id.Self == a.Self }) {
			all = append(all, a)
		}
	}
	return all, nil
}

// accountOf is what the life of an identity says, with the holds that an older program has left.
func accountOf(id Identity, store *blobs.Store) (a budget.Account, err error) {
	a = newAccount(id, store)
	s, err := spendingOf(id, store)
	if err != nil {
		return a, notFoundOrCorrupt(err)
	}
	a.Holds, err = budget.ReadHolds(id.Dir)
	a.Says(s)
	return a, err
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

// spendingOf reads what a life says of money, from its newest epoch on, whose snapshot says what came before.
func spendingOf(id Identity, store *blobs.Store) (s budget.Spending, err error) {
	log, err := View(id, store)
	if err != nil {
		return s, err
	}
	defer log.Close()
	events, err := log.SinceEpoch()
	if err != nil {
		return s, err
	}
	if len(events) > 0 && events[0].Kind == life.Epoch {
		snapshot, err := load(events[0], store)
		if err == nil && len(snapshot) == 1 {
			s, err = budget.Snapshot(snapshot[0].Data)
		}
		if err != nil {
			return s, err
		}
	}
	for _, line := range events {
		if e, err := event.Parse(line); err == nil {
			s.Apply(e)
		}
	}
	return s, nil
}

// makeLedger makes the ledger of a home that has none, from its lives.
func makeLedger(home Home, store *blobs.Store, l *budget.Ledger) error {
	all, err := accounts(home, store, l)
	if err == nil {
		err = l.Replace(all)
	}
	for _, a := range all {
		if rerr := os.Remove(budget.HoldsFile(home.identity(a.Self, a.Name).Dir)); !errors.Is(rerr, fs.ErrNotExist) {
			err = cmp.Or(err, rerr)
		}
	}
	return err
}
