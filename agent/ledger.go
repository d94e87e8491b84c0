package agent

import (
	"errors"
	"io"
	"time"

	"lethe/blobs"
	"lethe/budget"
	"lethe/life"
	"lethe/life/event"
)

// Ledger reads what the identities of a home have spent, from their lives and holds. It
// remembers how far it has read.
type Ledger struct {
	home  Home
	store *blobs.Store
	known map[string]*account // by Self
}

// account is what a Ledger knows of one identity.
type account struct {
	Identity
	parent string     // Self of its parent, or ""
	limit  budget.USD // of its life, as its parent has set it
	budget.Spending
	at life.Mark // how far its LIFE is read
}

// NewLedger returns a ledger that has read nothing yet.
func NewLedger(home Home, store *blobs.Store) *Ledger {
	return &Ledger{home, store, map[string]*account{}}
}

// Read returns the book of the day on which now is, or of a later one that somebody has
// counted for already. While nobody adds holds, what it says was
// spent or held is never less than what is.
func (l *Ledger) Read(limits budget.Limits, now time.Time, zone *time.Location) (book budget.Book, err error) {
	all, err := l.home.List()
	if err != nil {
		return book, err
	}
	book.Limits, book.Day = limits, budget.DateOf(now, zone)
	var open [][]budget.Hold
	for _, id := range all {
		a := l.known[id.Self]
		if a == nil {
			a = &account{Identity: id}
			if up := above(l.store, id.Self); len(up) > 0 {
				a.parent = up[0]
			}
			if child, err := id.Child(); child != nil && err == nil {
				a.limit = budget.Of(child.USD)
			}
		}
		holds, err := budget.ReadHolds(id.Dir) // before its LIFE, which may pay one meanwhile
		if err == nil {
			err = l.readLife(a)
		}
		err = notFoundOrCorrupt(err)
		switch damaged := errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound); {
		case err != nil && !damaged:
			return book, err
		case damaged && l.known[id.Self] == nil:
			continue // it does not run, and nobody knows what it has spent
		}
		l.known[id.Self] = a
		unpaid := holds.Unpaid(a.Settled)
		book.Day = max(book.Day, a.Date)
		for _, h := range unpaid {
			book.Day = max(book.Day, h.Day)
		}
		open = append(open, unpaid)
		book.Accounts = append(book.Accounts, budget.Account{Self: a.Self, Name: a.Name, Parent: a.parent, Limit: a.limit, Spending: a.Spending})
	}
	for i := range book.Accounts {
		a := &book.Accounts[i]
		a.Spending, a.Held = a.On(book.Day), budget.SumHolds(open[i], book.Day)
	}
	return book, nil
}

// readLife reads on in the life of an identity: at first from its newest epoch, whose
// snapshot says what came before.
func (l *Ledger) readLife(a *account) error {
	if a.at.Offset > 0 {
		r, err := life.ReadFrom(a.LIFE(), a.at)
		if err == nil {
			defer r.Close()
			for {
				e, _, err := r.Next()
				if err != nil {
					a.at = r.At
					if err == io.EOF {
						err = nil
					}
					return err
				}
				a.apply(e)
			}
		}
		if !errors.Is(err, life.ErrOtherLog) {
			return err
		}
	}
	log, err := View(a.Identity, l.store)
	if err != nil {
		return err
	}
	defer log.Close()
	events, err := log.SinceEpoch()
	if err != nil {
		return err
	}
	a.Spending, a.at = budget.Spending{}, log.End()
	for i, e := range events {
		if i == 0 && e.Kind == life.Epoch {
			snapshot, err := load(e, l.store)
			if err == nil && len(snapshot) == 1 {
				a.Spending, err = budget.Snapshot(snapshot[0].Data)
			}
			if err != nil {
				return err
			}
		}
		a.apply(e)
	}
	return nil
}

// apply folds what an event says of money. No other says any.
func (a *account) apply(line life.Event) {
	switch line.Kind {
	case "reply", "spent", "command", "error":
		if e, err := event.Parse(line); err == nil {
			a.Spending.Apply(e)
		}
	}
}
