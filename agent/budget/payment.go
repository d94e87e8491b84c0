package budget

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"lethe/agent/llm"
	"lethe/life/event"
)

// Rates say what calls of the model cost.
type Rates struct {
	Known    llm.Known
	Strict   bool // a limit is set: no call counts as less than Lethe's own count of its text
	Began    time.Time
	Zone     *time.Location
	Counted  Counted
	Estimate llm.Estimator
}

// Counted is the newest request that has an answer. What the next one begins with alike costs no more.
type Counted struct {
	llm.Request // or one that begins with it
	weight      int
	tokens      int // as the provider counted, or as Lethe does where that is more
}

// Count notes a request that has an answer, with its tokens as the provider counted them.
func Count(q llm.Request, weight, told int) Counted {
	return Counted{q, weight, max(told, plain(weight))}
}

// cost is what calls have used, with what they cost by another count.
func (r Rates) cost(model string, told, counts llm.Usage) event.Tokens {
	if r.Strict { // who tells of nothing that its cache took in may bill it
		counts.Written = cmp.Or(counts.Written, counts.Input)
	}
	usd, _ := r.Known.Cost(model, counts, time.Now())
	if first, _ := r.Known.Cost(model, counts, r.Began); r.Strict {
		usd = max(usd, first) // whichever tariff the provider takes
	}
	t := event.Tokens{
		In:     int64(told.Input),
		Cached: int64(told.Cached),
		Out:    int64(told.Output),
		USD:    Ceil(usd).Dollars(),
	}
	if t.USD > 0 {
		t.Day = DateOf(time.Now(), r.Zone)
	}
	return t
}

// plain is what Lethe counts by itself; no provider's count makes it less.
func plain(weight int) int { return llm.Estimator{}.Tokens(weight) }

// Answered is what a reply has cost.
func (r Rates) Answered(q llm.Request, reply llm.Reply) event.Tokens {
	counts := reply.Usage
	if r.Strict {
		counts = counts.AtLeast(plain(q.Weight()), plain(reply.Weight()))
	}
	return r.cost(q.Model, reply.Usage, counts)
}

// Billed is the waste that may have been billed: where a limit is set, with what was sent and not answered.
func (r Rates) Billed(w llm.Waste) llm.Waste {
	if r.Strict {
		w.Calls, w.Uncounted, w.Unanswered = w.Calls+w.Unanswered, w.Uncounted+w.Unanswered, 0
	}
	return w
}

// Wasted is what attempts without a reply have cost. Where a limit is set, one that ended before its
// usage was told counts as the worst.
func (r Rates) Wasted(q llm.Request, w llm.Waste) event.Tokens {
	told, counts := w.Usage, w.Usage
	told.Input += w.Uncounted * r.Estimate.Tokens(q.Weight())
	told.Output += r.Estimate.Tokens(w.Streamed)
	if !r.Strict {
		return r.cost(q.Model, told, told)
	}
	t := r.cost(q.Model, told, counts.AtLeast((w.Calls-w.Uncounted)*plain(q.Weight()), 0))
	worst, _ := r.worst(q)
	t.USD = (Of(t.USD) + USD(w.Uncounted)*worst).Dollars()
	return t
}

// worst is the most that one attempt may cost.
func (r Rates) worst(q llm.Request) (usd USD, known bool) {
	shared := min(q.Shared(r.Counted.Request), r.Counted.weight)
	worst, known := r.Known.Worst(q.Model, llm.Most(q.Weight(), shared, r.Counted.tokens), q.MaxTokens, r.Began)
	return Ceil(worst), known
}

// Payment is the money for a turn's call and its repetitions, or for the calls of one compaction.
// A nil one is for nothing.
type Payment struct {
	*Wallet
	Rates
	day  string // that pays; set by the first hold
	lost int    // the hold for what no reply tells of, in the end as much as that has cost
}

// Pay begins a payment; nil where no limit is set.
func (p *Wallet) Pay(r Rates) *Payment {
	if !r.Strict {
		return nil
	}
	return &Payment{Wallet: p, Rates: r}
}

// Note notes on a line which hold it settles, 0 for that of what no reply tells of, and the day that pays.
func (p *Payment) Note(t event.Tokens, hold int) event.Tokens {
	if p != nil && t.USD > 0 {
		t.Day, t.Hold = p.day, cmp.Or(hold, p.lost)
	}
	return t
}

// Attempts are those at one request: a hold for the one under way.
type Attempts struct {
	*Payment
	q      llm.Request
	Open   int   // the hold
	booked USD   // of what has come to nothing
	err    error // why the last one did not begin
}

// Attempts begins the attempts at a request, which ask before each.
func (p *Payment) Attempts(q *llm.Request) *Attempts {
	t := &Attempts{Payment: p, q: *q}
	if p != nil {
		q.Pay = t.Begin
	}
	return t
}

var (
	ErrNewDay   = errors.New("the day that pays for it is over; it is asked again")
	ErrUnpriced = errors.New("the model has no price")
)

// Begin puts aside what the next attempt may cost.
func (t *Attempts) Begin(w llm.Waste) (err error) {
	defer func() { t.err = err }()
	worst, known := t.worst(t.q)
	if !known {
		if t.limits.AllowUnpriced {
			return nil
		}
		return fmt.Errorf("%w: %s", ErrUnpriced, t.q.Model)
	}
	wasted := Of(t.Wasted(t.q, t.Billed(w)).USD)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.locked(func() error {
		if err := t.agree(); err != nil {
			return err
		}
		t.settle(wasted, false)
		if err := t.agree(); err != nil {
			return err
		}
		book := t.book(DateOf(time.Now(), t.Zone))
		if err := t.ledger.Tidy(t.own.Self, book); err != nil {
			return err
		}
		if t.day = cmp.Or(t.day, book.Day); t.day != book.Day {
			return ErrNewDay
		}
		t.own.Spending = t.own.On(book.Day)
		if short := Check(book.Lines(t.own.Self), worst); short != nil {
			return short
		}
		next := t.own
		next.Hold(t.last+1, worst, t.day)
		if err := t.ledger.Put(next); err != nil {
			return err
		}
		t.own, t.last, t.Open = next, t.last+1, t.last+1
		return nil
	})
}

// settle puts what has come to nothing, so much in all, to what is lost, and releases the hold of the attempt,
// unless a reply pays it.
func (t *Attempts) settle(lost USD, reply bool) {
	if more := lost - t.booked; more > 0 {
		if t.lost == 0 {
			t.last++
			t.lost = t.last
		}
		t.own.Hold(t.lost, more, t.day)
	}
	t.booked = lost
	if t.Open > 0 && !reply {
		t.own.Release(t.Open)
		t.Open = 0
	}
}

// End settles the attempts: all of them together have lost so much. With reply, one of
// them has brought what a line pays; where no line does after all, they end once more.
func (t *Attempts) End(lost event.Tokens, reply bool) error {
	if t.Payment == nil || t.err != nil && t.Open == 0 {
		return t.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(Of(lost.USD), reply)
	return errors.Join(t.err, t.tell())
}

// Settle has the ledger say what lines have said of money, and drops the holds that they have paid.
func (p *Wallet) Settle(says Spending) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own.Says(says)
	return p.tell()
}
