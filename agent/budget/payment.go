package budget

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"lethe/agent/llm"
	"lethe/life/event"
)

// Rates are the prices of calls of the model.
type Rates struct {
	Known    llm.Known
	Strict   bool // a limit is set: each call counts at least as much as Lethe counts in its text
	Began    time.Time
	Zone     *time.Location
	Counted  Counted
	Estimate llm.Estimator
}

// Counted is the newest request that has an answer. The beginning that the next request shares with it costs at most
// the same.
type Counted struct {
	llm.Request // or a longer one
	weight      int
	tokens      int // as the provider counted them, or as Lethe does if that is more
}

// Count returns a request that has an answer, with the provider's count of its tokens.
func Count(request llm.Request, weight, told int) Counted {
	return Counted{request, weight, max(told, plain(weight))}
}

// cost returns the tokens that the provider told, with the price of others, if these count.
func (rates Rates) cost(model string, told, counts llm.Usage) event.Tokens {
	if rates.Strict { // a provider may bill what its cache takes in without telling
		counts.Written = cmp.Or(counts.Written, counts.Input)
	}
	usd, _ := rates.Known.Cost(model, counts, time.Now())
	if first, _ := rates.Known.Cost(model, counts, rates.Began); rates.Strict {
		usd = max(usd, first) // whichever tariff the provider takes
	}
	tokens := event.Tokens{
		In:     int64(told.Input),
		Cached: int64(told.Cached),
		Out:    int64(told.Output),
		USD:    Ceil(usd).Dollars(),
	}
	if tokens.USD > 0 {
		tokens.Day = DateOf(time.Now(), rates.Zone)
	}
	return tokens
}

// plain returns the tokens that Lethe counts by itself, whatever a provider has counted.
func plain(weight int) int { return llm.Estimator{}.Tokens(weight) }

// Answered returns the cost of a reply.
func (rates Rates) Answered(request llm.Request, reply llm.Reply) event.Tokens {
	counts := reply.Usage
	if rates.Strict {
		counts = counts.AtLeast(plain(request.Weight()), plain(reply.Weight()))
	}
	return rates.cost(request.Model, reply.Usage, counts)
}

// Billed returns the waste that may have been billed. If a limit is set, calls without an answer are in it.
func (rates Rates) Billed(waste llm.Waste) llm.Waste {
	if rates.Strict {
		waste.Calls += waste.Unanswered
		waste.Uncounted += waste.Unanswered
		waste.Unanswered = 0
	}
	return waste
}

// Wasted returns the cost of attempts without a reply. If a limit is set, an attempt that ended before the
// provider told its usage counts as the worst.
func (rates Rates) Wasted(request llm.Request, waste llm.Waste) event.Tokens {
	told, counts := waste.Usage, waste.Usage
	told.Input += waste.Uncounted * rates.Estimate.Tokens(request.Weight())
	told.Output += rates.Estimate.Tokens(waste.Streamed)
	if !rates.Strict {
		return rates.cost(request.Model, told, told)
	}
	tokens := rates.cost(request.Model, told, counts.AtLeast((waste.Calls-waste.Uncounted)*plain(request.Weight()), 0))
	worst, _ := rates.worst(request)
	tokens.USD = (Of(tokens.USD) + USD(waste.Uncounted)*worst).Dollars()
	return tokens
}

// worst returns the most that one attempt may cost.
func (rates Rates) worst(request llm.Request) (usd USD, known bool) {
	shared := min(request.Shared(rates.Counted.Request), rates.Counted.weight)
	most := llm.Most(request.Weight(), shared, rates.Counted.tokens)
	worst, known := rates.Known.Worst(request.Model, most, request.MaxTokens, rates.Began)
	return Ceil(worst), known
}

// Payment is the money for a turn's call and its repetitions, or for the calls of one compaction.
// A nil Payment lets each call begin.
type Payment struct {
	*Wallet
	Rates
	day  string // the day that pays; set by the first hold
	lost int    // the number of the hold for calls that no reply tells of; 0: there are no such calls
}

// Pay begins a payment; nil if no limit is set.
func (p *Wallet) Pay(rates Rates) *Payment {
	if !rates.Strict {
		return nil
	}
	return &Payment{Wallet: p, Rates: rates}
}

// Note adds to tokens the hold it settles (0: the one for calls without a reply) and the day it counts for.
func (p *Payment) Note(tokens event.Tokens, hold int) event.Tokens {
	if p != nil && tokens.USD > 0 {
		tokens.Day, tokens.Hold = p.day, cmp.Or(hold, p.lost)
	}
	return tokens
}

// Attempts are the attempts at one request. There is a hold for the one under way.
type Attempts struct {
	*Payment
	q      llm.Request
	Open   int   // the number of that hold; 0: there is no attempt under way
	booked USD   // held for attempts that came to nothing
	err    error // the last attempt did not begin because of it
}

// Attempts begins the attempts at a request, whose Pay asks before each.
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

// Begin puts aside the most that the next attempt may cost, after some was wasted.
func (t *Attempts) Begin(waste llm.Waste) (err error) {
	defer func() { t.err = err }()
	worst, known := t.worst(t.q)
	if !known {
		if t.Limits().AllowUnpriced {
			return nil
		}
		return fmt.Errorf("%w: %s", ErrUnpriced, t.q.Model)
	}
	wasted := Of(t.Wasted(t.q, t.Billed(waste)).USD)
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

// settle holds the money that was lost, so much in all, and releases the hold of the attempt unless a reply pays it.
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

// End settles the attempts, which have lost so much together. With reply one attempt has
// brought a reply, and the line of that will pay; if no line does after all, End is called once more.
func (t *Attempts) End(lost event.Tokens, reply bool) error {
	neverBegan := t.err != nil && t.Open == 0
	if t.Payment == nil || neverBegan {
		return t.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(Of(lost.USD), reply)
	return errors.Join(t.err, t.tell())
}

// Settle writes the spending that lines tell into the ledger, and releases the holds that they have paid.
func (p *Wallet) Settle(says Spending) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own.Says(says)
	return p.tell()
}
