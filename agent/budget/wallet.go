package budget

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
)

// Wallet pays for the calls of one identity. Before a call begins it puts the most aside that the call may cost, and it
// releases that once LIFE tells the cost. It is safe for concurrent use.
type Wallet struct {
	home    home.Home
	store   *blobs.Store
	given   bool        // its parent, or its role or that of an ancestor, has limited it
	limited atomic.Bool // by any limit; without one it only writes its spending, and only if there is a ledger

	mu     sync.Mutex
	limits Limits // of the home
	ledger *Ledger
	own    Account // as the ledger is to have it
	last   int     // the number of the newest hold
}

// Open opens the wallet of an identity. says is the spending that its LIFE tells.
func Open(
	h home.Home,
	store *blobs.Store,
	id home.Identity,
	limits Limits,
	says Spending,
) (*Wallet, error) {
	p := &Wallet{home: h, store: store, limits: limits, ledger: NewLedger(h.Dir), own: newAccount(id, store)}
	if h.Shared != nil {
		p.ledger.Remote = h.Shared.Ledger()
	}
	for _, self := range append(home.Ancestry(store, id.Self), id.Self) {
		child, err := h.Identity(self, "").Child()
		hired, unread := h.Identity(self, "").Hired()
		if err := errors.Join(err, unread); err != nil {
			return nil, err
		}
		isHired := hired != nil && hired.With.Day+hired.With.Month > 0
		isChild := child != nil && child.USD > 0
		p.given = p.given || isHired || isChild
	}
	p.limited.Store(p.given || limits.Any())
	return p, p.open(limits, says)
}

// open shares the limits of config.toml, and takes over the holds of the process before that no line has paid.
func (p *Wallet) open(limits Limits, says Spending) error {
	return p.locked(func() error {
		if err := p.shareLimits(limits); err != nil {
			return err
		}
		was, known := p.ledger.Accounts[p.own.Self]
		p.own.Spending, p.own.Holds = was.Spending, was.Holds
		p.own.Says(says)
		p.last = slices.Max(append(says.Settled, 0))
		for _, hold := range p.own.Holds {
			p.last = max(p.last, hold.N)
		}
		hasSpent := p.own.Parent != "" && says.Spent.Life > 0
		if !known && hasSpent { // its family is back after a month
			if err := p.makeLedger(); err != nil {
				return err
			}
		}
		return p.agree()
	})
}

// locked reads the ledger and runs f while nobody else has it; again if another host has changed it meanwhile. If there
// is no ledger it makes one, or returns if nothing is limited.
func (p *Wallet) locked(f func() error) error {
	if p.ledger.Remote == nil && p.isFree() {
		return nil
	}
	unlock, err := p.ledger.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	for again := true; again; again = errors.Is(err, ErrChanged) {
		err = p.ledger.Read()
		p.follow()
		if errors.Is(err, fs.ErrNotExist) {
			if !p.limited.Load() {
				return nil
			}
			err = p.makeLedger()
		}
		if err == nil {
			err = f()
		}
	}
	return err
}

// isFree reports whether there is neither a limit nor a ledger.
func (p *Wallet) isFree() bool { return !p.limited.Load() && p.ledger.Missing() }

// follow takes over the limits that the hosts of the home share.
func (p *Wallet) follow() {
	if p.ledger.Remote != nil && p.ledger.Limits != nil {
		p.limits = *p.ledger.Limits
		p.limited.Store(p.given || p.limits.Any())
	}
}

// Refresh asks whether another host has set a limit, unless this host knows of one.
func (p *Wallet) Refresh() error {
	isAlone := p == nil || p.ledger.Remote == nil
	if isAlone || p.limited.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locked(func() error { return nil })
}

// agree writes the wallet's account into the ledger unless the ledger, as it was read, already holds the same.
func (p *Wallet) agree() error {
	if account, known := p.ledger.Accounts[p.own.Self]; known && account.Same(p.own) {
		p.own = account
		return nil
	}
	return p.ledger.Put(p.own)
}

// tell reads the ledger anew and then agrees.
func (p *Wallet) tell() error {
	if p.isFree() {
		return nil
	}
	return p.locked(p.agree)
}

// Limits returns the limits of the home.
func (p *Wallet) Limits() Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// Limited reports whether any limit is set. A nil wallet has no limit.
func (p *Wallet) Limited() bool { return p != nil && p.limited.Load() }

// Holds returns the holds that no line has paid.
func (p *Wallet) Holds() []Hold {
	if p == nil {
		return nil
	}
	return p.own.Holds
}

// today returns the lines of the identity and of the home; nil if no limit is set.
func (p *Wallet) today(zone *time.Location) []Line {
	if !p.Limited() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return OwnLines(p.book(DateOf(time.Now(), zone)), p.own.Self)
}

// Near returns the limits that are nearly spent, unless people have been warned of them.
func (p *Wallet) Near(zone *time.Location, warned []string) []Line {
	return slices.DeleteFunc(p.today(zone), func(line Line) bool {
		near := line.Limit > 0 && line.Spent*100 >= line.Limit*WarnAt
		return !near || slices.Contains(warned, line.Warning())
	})
}

// Shown returns the limits that screens show for the identity called name: its own and the home's.
func (p *Wallet) Shown(name string, zone *time.Location) []Line {
	return slices.DeleteFunc(p.today(zone), func(line Line) bool {
		shown := line.Who == name || line.Who == ""
		return line.Limit == 0 || !shown
	})
}

// book returns the book of the ledger as it was read.
func (p *Wallet) book(today string) Book {
	return NewBook(p.limits, today, p.ledger.Accounts)
}

// Lives are those of a home, with the store of their texts.
type Lives struct {
	home.Home
	Store *blobs.Store
}

// ReadBook returns the book of a home. Identities that the ledger does not name are counted by their lives, first by
// copies of lives that other hosts have.
func ReadBook(
	h home.Home,
	store *blobs.Store,
	limits Limits,
	now time.Time,
	zone *time.Location,
	copies ...Lives,
) (book Book, err error) {
	l := NewLedger(h.Dir)
	unlock, err := l.Lock()
	if err != nil {
		return book, err
	}
	err = l.Read()
	unlock()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = nil
		for _, lives := range append(copies, Lives{h, store}) {
			if lives.Store != nil {
				err = errors.Join(err, addLives(lives.Home, lives.Store, l))
			}
		}
	}
	if h.Shared != nil && l.Limits != nil {
		limits = *l.Limits
	}
	return NewBook(limits, DateOf(now, zone), l.Accounts), err
}

// addLives adds, in memory, the accounts of lives that a ledger does not name. A damaged life counts for nobody: its
// spending is not known.
func addLives(h home.Home, store *blobs.Store, l *Ledger) error {
	ids, err := h.List()
	for _, id := range ids {
		if _, known := l.Accounts[id.Self]; known {
			continue
		}
		spent, err := SpendingOf(id, store)
		if errors.Is(err, home.ErrCorrupt) || errors.Is(err, home.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		account := newAccount(id, store)
		account.Says(spent)
		l.Accounts[id.Self] = account
	}
	return err
}

// SpendingOf returns the costs that the life of an identity records.
func SpendingOf(id home.Identity, store *blobs.Store) (Spending, error) {
	log, err := home.View(id, store)
	if err != nil {
		return Spending{}, err
	}
	defer log.Close()
	s, lines, err := home.FoldLog(id, log, store)
	if err != nil {
		return Spending{}, err
	}
	return Fold(s.Carried, lines, s.Usage.USD)
}

// newAccount returns the account of an identity that has spent nothing.
func newAccount(id home.Identity, store *blobs.Store) Account {
	account := Account{Self: id.Self, Name: id.Name}
	if up := home.Ancestry(store, id.Self); len(up) > 0 {
		account.Parent = up[0]
	}
	if child, err := id.Child(); child != nil && err == nil {
		account.Limit = Of(child.USD)
	}
	if hired, err := id.Hired(); hired != nil && err == nil {
		account.Role = Sums{Day: Of(hired.With.Day), Month: Of(hired.With.Month)}
	}
	return account
}

// makeLedger writes the ledger anew, with the accounts of lives that it does not name.
func (p *Wallet) makeLedger() error {
	if err := addLives(p.home, p.store, p.ledger); err != nil {
		return err
	}
	return p.ledger.Replace(slices.Collect(maps.Values(p.ledger.Accounts)))
}

// OwnLines returns the lines of the identity with its descendants; and last, if it has a limit, the home's.
func OwnLines(book Book, self string) []Line {
	lines := book.Own(self)
	if book.HomeDay > 0 {
		lines = append(lines, book.Home())
	}
	return lines
}
