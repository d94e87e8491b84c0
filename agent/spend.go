package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"lethe"
	"lethe/budget"
	"lethe/life/event"
	"lethe/llm"
)

// Money: what a call may cost is put aside before it begins, where a limit is set, and
// what it has cost is in LIFE before that is released. Package budget says what fits.

// purse is what an identity with a limit spends from. It is safe for concurrent use.
type purse struct {
	id     Identity
	limits budget.Limits

	mu     sync.Mutex
	ledger *Ledger
	holds  budget.Holds  // as the file has them
	lines  []budget.Line // of the limits, as they were seen last
}

// openPurse returns nil where nothing is limited, or the model is for nothing.
func (a *Agent) openPurse() (*purse, error) {
	if a.cfg.Offline {
		return nil, nil
	}
	limited := a.cfg.Budget.Any()
	for _, self := range append(above(a.store, a.id.Self), a.id.Self) {
		child, err := a.cfg.Home.identity(self, "").Child()
		if err != nil {
			return nil, err
		}
		limited = limited || child != nil && child.USD > 0
	}
	if !limited {
		return nil, nil
	}
	holds, err := budget.ReadHolds(a.id.Dir)
	holds.Last = slices.Max(slices.Concat(a.state.Spending.Settled, []int{holds.Last}))
	return &purse{id: a.id, limits: a.cfg.Budget, ledger: NewLedger(a.cfg.Home, a.store), holds: holds}, err
}

// payLost counts what was put aside for calls that were cut short with the process: what
// they have cost is not known.
func (a *Agent) payLost() error {
	holds, err := budget.ReadHolds(a.id.Dir)
	if err != nil || len(holds.Open) == 0 {
		return err
	}
	var lost []record
	for _, h := range holds.Unpaid(a.state.Spending.Settled) {
		lost = append(lost, record{event: event.Spent{On: "lost", Calls: 1, Estimated: true, Tokens: event.Tokens{USD: h.USD.Dollars(), Day: h.Day, Hold: h.N}}})
	}
	if len(lost) > 0 {
		if err := a.commit(lost...); err != nil {
			return err
		}
	}
	holds.Open = nil
	if a.purse != nil {
		a.purse.holds.Open = nil
	}
	return holds.Write(a.id.Dir)
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

// counted is the newest request of a run that has an answer. What the next one begins with alike costs no more.
type counted struct {
	llm.Request
	tokens int // as the provider counted, or as Lethe does where that is more
}

func (a *Agent) rates() rates {
	return rates{a.cfg.Prices, a.purse != nil, time.Now(), a.cfg.Zone, a.counted, a.estimate}
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
	worst, known := r.prices.Worst(q.Model, llm.Most(q.Weight(), q.Shared(r.counted.Request), r.counted.tokens), q.MaxTokens, r.began)
	return budget.Ceil(worst), known
}

// payment is the money for a turn's call and its repetitions, or for the calls of one compaction.
// A nil one is for nothing.
type payment struct {
	*purse
	rates
	turn *budget.Spending // of the turn under way; nil for a compaction
	day  string           // that pays; set by the first hold
	lost int              // the hold for what no reply tells of, in the end as much as that has cost
}

// payment begins one. What it needs of the state is copied.
func (a *Agent) payment(r rates, turn bool) *payment {
	if a.purse == nil {
		return nil
	}
	p := &payment{purse: a.purse, rates: r}
	if s := a.state.Spending; turn {
		p.turn = &s
	}
	return p
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
	agents, err := os.Open(t.ledger.home.Agents())
	if err != nil {
		return err
	}
	defer agents.Close()
	if err := syscall.Flock(int(agents.Fd()), syscall.LOCK_EX); err != nil { // of all that spend, until agents is closed
		return fmt.Errorf("lock %s: %w", agents.Name(), err)
	}
	book, err := t.ledger.Read(t.limits, time.Now(), t.zone)
	if err != nil {
		return err
	}
	t.day = cmp.Or(t.day, book.Day)
	if err := t.settle(wasted-t.booked, false); err != nil {
		return err
	}
	t.booked = wasted
	if t.day != book.Day {
		return errNewDay
	}
	t.lines = t.own(book)
	if short := budget.Check(t.lines, worst); short != nil {
		return short
	}
	next := t.holds
	t.open = next.Set(0, worst, t.day)
	return t.put(next)
}

// own returns the limits, with the identity's own holds as they are now.
func (t *attempts) own(book budget.Book) []budget.Line {
	if t.turn == nil {
		book.Limits.Turn = 0
	}
	for i := range book.Accounts {
		if a := &book.Accounts[i]; a.Self == t.id.Self {
			a.Held = budget.SumHolds(t.holds.Unpaid(a.Settled), book.Day)
			if t.turn != nil {
				a.Spent.Turn, a.Raised.Turn, a.Held.Turn = t.turn.Spent.Turn, t.turn.Raised.Turn, t.holds.Amount(t.lost)
			}
		}
	}
	return book.Lines(t.id.Self)
}

// settle puts what has come to nothing to what is lost, and releases the hold of the attempt,
// unless a reply pays it.
func (t *attempts) settle(lost budget.USD, reply bool) error {
	next := t.holds
	if lost > 0 {
		t.lost = next.Set(t.lost, next.Amount(t.lost)+lost, t.day)
	}
	if t.open > 0 && !reply {
		t.open = next.Set(t.open, 0, t.day)
	} else if lost <= 0 {
		return nil
	}
	return t.put(next)
}

// end settles the attempts: all of them together have lost so much. With reply, one of
// them has brought what a line pays.
func (t *attempts) end(lost event.Tokens, reply bool) error {
	if t.payment == nil || t.err != nil && t.open == 0 {
		return t.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.err, t.settle(budget.Of(lost.USD)-t.booked, reply))
}

// fail says that the reply, too, has come to nothing.
func (t *attempts) fail(cost event.Tokens) error {
	if t.payment == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settle(budget.Of(cost.USD), false)
}

func (p *purse) put(next budget.Holds) error {
	if err := next.Write(p.id.Dir); err != nil {
		return err
	}
	p.holds = next
	return nil
}

// release drops the holds that lines have paid.
func (a *Agent) release() error {
	p := a.purse
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.holds
	next.Open = next.Unpaid(a.state.Spending.Settled)
	if len(next.Open) == len(p.holds.Open) {
		return nil
	}
	return p.put(next)
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
	case short.Of == budget.Turn:
		return true, a.giveUp("budget", fmt.Sprintf("The turn was ended: %s. Say where you stand when you are spoken to.", short),
			fmt.Sprintf("I stopped: %s. Say something to let me go on, after /budget +1 turn if one call needs more.", short))
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
	return true, a.pause("the budget is spent: "+short.Error(), fmt.Sprintf("I pause: %s. %s", short, how), until)
}

// goOn ends a pause when the time has come for which a budget was spent.
func (a *Agent) goOn() error {
	if until := a.state.Until; until.IsZero() || time.Now().Before(until) {
		return nil
	}
	return a.commit(record{event: event.Resumed{Version: lethe.Version, Why: "budget"}})
}
