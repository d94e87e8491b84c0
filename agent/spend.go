package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lethe"
	"lethe/budget"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
)

// Money: what a call may cost is put aside before it begins, where a limit is set, and
// what it has cost is in LIFE before that is released. Package budget says what fits.

// payLost counts what was put aside for calls that were cut short with the process: what
// they have cost is not known.
func (a *Agent) payLost() error {
	if a.purse == nil || len(a.purse.own.Holds) == 0 {
		return nil
	}
	var lost []record
	for _, h := range a.purse.own.Holds {
		lost = append(lost, record{event: event.Spent{On: "lost", Calls: 1, Estimated: true, Tokens: event.Tokens{USD: h.USD.Dollars(), Day: h.Day, Hold: h.N}}})
	}
	return inOrder(func() error { return a.commit(lost...) }, a.release)
}

// rates say what calls of the model cost.
type rates struct {
	prices   llm.Prices
	strict   bool // a limit is set: no call counts as less than Lethe's own count of its text
	began    time.Time
	zone     *time.Location
	counted  counted
	estimate llm.Estimator
}

// counted is the newest request that has an answer. What the next one begins with alike costs no more.
type counted struct {
	llm.Request // or one that begins with it
	weight      int
	tokens      int // as the provider counted, or as Lethe does where that is more
}

// recount finds what the run before has left of that, if no epoch has begun since.
func (a *Agent) recount() error {
	if a.purse == nil || !a.purse.limited || a.tail() != "" {
		return nil
	}
	answered, epoch := false, ""
	err := a.log.Back(0, func(e life.Event, _ int64) bool {
		answered = answered || e.Kind == "reply" && e.Get("in") != "0"
		if answered && e.Kind == life.Epoch {
			epoch = e.Arg(0)
		}
		return epoch == ""
	})
	if epoch == strconv.Itoa(a.state.Epoch) {
		u := a.state.Usage
		a.counted = counted{a.request(), int(u.LastWeight), max(int(u.LastInput), plain(int(u.LastWeight)))}
	}
	return err
}

func (a *Agent) rates() rates {
	return rates{a.cfg.Prices, a.purse != nil && a.purse.limited, time.Now(), a.cfg.Zone, a.counted, a.estimate}
}

// cost is what calls have used, with what they cost by another count.
func (r rates) cost(model string, told, counts llm.Usage) event.Tokens {
	usd, _ := r.prices.Cost(model, counts, time.Now())
	if first, _ := r.prices.Cost(model, counts, r.began); r.strict {
		usd = max(usd, first) // whichever tariff the provider takes
	}
	t := event.Tokens{In: int64(told.Input), Cached: int64(told.Cached), Out: int64(told.Output), USD: budget.Ceil(usd).Dollars()}
	if t.USD > 0 {
		t.Day = budget.DateOf(time.Now(), r.zone)
	}
	return t
}

// plain is what Lethe counts by itself; no provider's count makes it less.
func plain(weight int) int { return llm.Estimator{}.Tokens(weight) }

// answered is what a reply has cost.
func (r rates) answered(q llm.Request, reply llm.Reply) event.Tokens {
	counts := reply.Usage
	if r.strict {
		counts = counts.AtLeast(plain(q.Weight()), plain(reply.Weight()))
	}
	return r.cost(q.Model, reply.Usage, counts)
}

// billed is the waste that may have been billed: where a limit is set, with what was sent and not answered.
func (r rates) billed(w llm.Waste) llm.Waste {
	if r.strict {
		w.Calls, w.Untold, w.Unheard = w.Calls+w.Unheard, w.Untold+w.Unheard, 0
	}
	return w
}

// wasted is what attempts without a reply have cost. Where a limit is set, one that ended before its
// usage was told counts as the worst.
func (r rates) wasted(q llm.Request, w llm.Waste) event.Tokens {
	told, counts := w.Usage, w.Usage
	told.Input += w.Untold * r.estimate.Tokens(q.Weight())
	told.Output += r.estimate.Tokens(w.Streamed)
	if !r.strict {
		return r.cost(q.Model, told, told)
	}
	t := r.cost(q.Model, told, counts.AtLeast((w.Calls-w.Untold)*plain(q.Weight()), 0))
	worst, _ := r.worst(q)
	t.USD = (budget.Of(t.USD) + budget.USD(w.Untold)*worst).Dollars()
	return t
}

// worst is the most that one attempt may cost.
func (r rates) worst(q llm.Request) (usd budget.USD, known bool) {
	shared := min(q.Shared(r.counted.Request), r.counted.weight)
	worst, known := r.prices.Worst(q.Model, llm.Most(q.Weight(), shared, r.counted.tokens), q.MaxTokens, r.began)
	return budget.Ceil(worst), known
}

// payment is the money for a turn's call and its repetitions, or for the calls of one compaction.
// A nil one is for nothing.
type payment struct {
	*purse
	rates
	day  string // that pays; set by the first hold
	lost int    // the hold for what no reply tells of, in the end as much as that has cost
}

// payment begins one. What it needs of the state is copied.
func (a *Agent) payment(r rates) *payment {
	if !r.strict {
		return nil
	}
	return &payment{purse: a.purse, rates: r}
}

// settles notes on a line which hold it settles, 0 for that of what no reply tells of, and the day that pays.
func (p *payment) settles(t event.Tokens, hold int) event.Tokens {
	if p != nil && t.USD > 0 {
		t.Day, t.Hold = p.day, cmp.Or(hold, p.lost)
	}
	return t
}

// attempts are those at one request: a hold for the one under way.
type attempts struct {
	*payment
	q      llm.Request
	open   int        // the hold
	booked budget.USD // of what has come to nothing
	err    error      // why the last one did not begin
}

// attempts begins the attempts at a request, which ask before each.
func (p *payment) attempts(q *llm.Request) *attempts {
	t := &attempts{payment: p, q: *q}
	if p != nil {
		q.Pay = t.begin
	}
	return t
}

var (
	errNewDay   = errors.New("the day that pays for it is over; it is asked again")
	errUnpriced = errors.New("the model has no price")
)

// begin puts aside what the next attempt may cost.
func (t *attempts) begin(w llm.Waste) (err error) {
	defer func() { t.err = err }()
	worst, known := t.worst(t.q)
	if !known {
		if t.limits.AllowUnpriced {
			return nil
		}
		return fmt.Errorf("%w: %s", errUnpriced, t.q.Model)
	}
	wasted := budget.Of(t.wasted(t.q, t.billed(w)).USD)
	t.mu.Lock()
	defer t.mu.Unlock()
	unlock, err := t.ledger.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := inOrder(t.read, t.agree); err != nil {
		return err
	}
	today := budget.DateOf(time.Now(), t.zone)
	t.day = cmp.Or(t.day, t.book(today).Day)
	t.settle(wasted-t.booked, false)
	t.booked = wasted
	if err := t.agree(); err != nil {
		return err
	}
	book := t.book(today)
	if err := t.ledger.Tidy(t.own.Self, book); err != nil {
		return err
	}
	if t.day != book.Day {
		return errNewDay
	}
	t.own.Spending = t.own.On(book.Day)
	t.lines = book.Lines(t.own.Self)
	if short := budget.Check(t.lines, worst); short != nil {
		return short
	}
	next := t.own
	next.Set(t.last+1, worst, t.day)
	if err := t.ledger.Put(next); err != nil {
		return err
	}
	t.own, t.last, t.open = next, t.last+1, t.last+1
	return nil
}

// settle puts what has come to nothing to what is lost, and releases the hold of the attempt,
// unless a reply pays it.
func (t *attempts) settle(lost budget.USD, reply bool) {
	if lost > 0 && t.lost == 0 {
		t.last++
		t.lost = t.last
	}
	if lost > 0 {
		t.own.Set(t.lost, t.own.Amount(t.lost)+lost, t.day)
	}
	if t.open > 0 && !reply {
		t.own.Set(t.open, 0, "")
		t.open = 0
	}
}

// end settles the attempts: all of them together have lost so much. With reply, one of
// them has brought what a line pays.
func (t *attempts) end(lost event.Tokens, reply bool) error {
	if t.payment == nil || t.err != nil && t.open == 0 {
		return t.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(budget.Of(lost.USD)-t.booked, reply)
	return errors.Join(t.err, t.tell())
}

// fail says that the reply, too, has come to nothing.
func (t *attempts) fail(cost event.Tokens) error {
	if t.payment == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(budget.Of(cost.USD), false)
	return t.tell()
}

// release has the ledger say what lines have said of money, and drops the holds that they have paid.
func (a *Agent) release() error {
	p := a.purse
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own.Says(a.state.Spending)
	return p.tell()
}

// unpaid deals with a call that was not begun for want of money. It is false for any other
// error.
func (a *Agent) unpaid(err error) (bool, error) {
	if errors.Is(err, errNewDay) {
		return true, nil
	}
	if errors.Is(err, errUnpriced) {
		model := a.state.Stable.Params.Model
		return true, a.pause(err.Error()+", and a budget is set", fmt.Sprintf(
			"A budget is set, and nobody has told me what the model %s costs. Give its price in config.toml, [prices.%q] with hit, miss and output in USD per million tokens, or set budget.unpriced = \"allow\".", model, model), time.Time{})
	}
	short, ok := errors.AsType[*budget.Short](err)
	switch {
	case !ok:
		return false, nil
	case short.Waits:
		if a.outage.since.IsZero() {
			a.outage.since = time.Now()
		}
		a.outage.money = short.Error()
		a.outage.retryAt = time.Now().Add(min(max(time.Since(a.outage.since), time.Second), time.Minute))
		return true, nil
	}
	var until time.Time
	if short.Worst <= short.Limit { // no new day makes room for a call that is larger
		until = short.Renews(a.cfg.Zone)
	}
	more := "a larger limit"
	if short.Who == a.id.Name {
		more = "/budget +1 " + map[string]string{budget.Day: "today", budget.Month: "month", budget.Life: "life"}[short.Of]
	}
	how := "I go on after " + more + "."
	if !until.IsZero() {
		how = fmt.Sprintf("I go on by myself on %s, or now after %s.", until.Format("2006-01-02 at 15:04 MST"), more)
	}
	say := fmt.Sprintf("I pause: %s. %s", short, how)
	if !until.IsZero() && a.state.Told == mind.ToldPause(until) {
		say = "I still pause. " + how
	}
	return true, a.pause(short.Error(), say, until)
}

// goOn ends a pause when the time has come for which a budget was spent; so far ahead as no limit's is, it was told by a
// clock that was wrong.
func (a *Agent) goOn() error {
	now, months := time.Now(), 0
	if strings.Contains(a.state.Paused, budget.Line{Of: budget.Month}.Key()) {
		months = 1
	}
	if until := a.state.Until; until.IsZero() || now.Before(until) && until.Before(now.AddDate(0, months, 2)) {
		return nil
	}
	return a.commit(record{event: event.Resumed{Version: lethe.Version, Why: "budget"}})
}
