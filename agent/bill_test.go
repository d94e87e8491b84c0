package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// billed compares what the server has billed with what the life has written down.
func (w *world) billed(id home.Identity) {
	w.Helper()
	server, own := w.model.Usage(), w.fold(id).Usage
	equal(w, "tokens in", own.Input, int64(server.Input))
	equal(w, "tokens from the cache", own.Cached, int64(server.Cached))
	equal(w, "tokens out", own.Output, int64(server.Output))
}

// Whatever the provider has billed is in LIFE, once, also where no reply came of it.
func TestAllThatWasBilledIsRecorded(t *testing.T) {
	t.Parallel()
	const long = "so much to say and to say and to say"
	for name, c := range map[string]struct {
		step  rehearsal.Step
		calls string // that came to nothing, event by event
	}{
		"cut off once":     {rehearsal.Step{Answer: cut(long)}, "1"},
		"given up":         {rehearsal.Step{Times: 2, Answer: cut(long)}, "1 1"},
		"silence":          {rehearsal.Step{Times: 2, Answer: text("")}, "2"},
		"blank once":       {rehearsal.Step{Answer: text(" ")}, "1"},
		"no [DONE]":        {rehearsal.Step{Fault: rehearsal.NoDone, Answer: text(long)}, ""},
		"nothing was lost": {rehearsal.Step{Times: 2, Status: 503}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.step.Contains = "talk"
			if a := c.step.Answer; a != nil && a.Finish == "length" {
				c.step.Contains, c.step.Task = "", "none"
			}
			w := newWorld(t, c.step)
			w.use(llm.Config{MaxRetries: 2})
			id, r := w.ada()
			w.say("dev", "ann", "talk")
			w.eventually("all is said", func() bool { return w.model.Pending() == 0 })
			r.finish()
			var spent []string
			for _, e := range w.events(id, "spent") {
				spent = append(spent, e.Get("calls"))
			}
			equalSlices(t, "calls that came to nothing", spent, strings.Fields(c.calls))
			w.billed(id)
		})
	}
}

// Of a call that ended before the provider told what it cost, an estimate is
// recorded, and marked as one.
func TestWhatWasNotToldIsEstimated(t *testing.T) {
	t.Parallel()
	half := rehearsal.Step{Contains: "talk", Fault: rehearsal.Stall, Answer: text(strings.Repeat("half an answer ", 40))}
	broken := half
	broken.Fault, broken.Times = rehearsal.Truncate, 2
	for name, step := range map[string]rehearsal.Step{"stopped": half, "broken off, twice": broken} {
		w := newWorld(t, step)
		w.use(llm.Config{MaxRetries: 2})
		w.conf.quiet = 200 * time.Millisecond
		id, r := w.ada()
		r.ask("hello")
		before, known := w.model.Usage(), w.fold(id).Usage
		w.say("dev", "ann", "talk")
		if step.Fault == rehearsal.Stall {
			w.shows(id, "half of it has come", func(s status.Status) bool { return !s.SilentSince.IsZero() && status.ReadLive(id.Dir).Text != "" })
			w.say("dev", "ann", "/stop")
		}
		w.answered("dev", 2)
		if step.Fault == rehearsal.Truncate { // which was paid for: it rests for a minute, or until somebody writes
			w.ask("dev", "well?")
		}
		r.finish()
		spent := w.events(id, "spent")
		if len(spent) != 1 || spent[0].Get("estimated") != "yes" {
			t.Fatalf("%s: spent: %v", name, spent)
		}
		after, own := w.model.Usage(), w.fold(id).Usage
		billed, counted := float64(after.Input-before.Input), float64(own.Input-known.Input)
		if counted < 0.8*billed || counted > 1.2*billed {
			t.Errorf("%s: %v tokens in were counted of %v", name, counted, billed)
		}
		// It ends in the middle, and the server counts the whole answer.
		if cost, _ := event.As[event.Spent](spent[0]); cost.Out < int64(after.Output-before.Output)/4 ||
			cost.Out > int64(after.Output-before.Output) {
			t.Errorf("%s: %d tokens out were counted, the whole answers had %d", name, cost.Out, after.Output-before.Output)
		}
	}
}

// dense is a model whose provider counts each character of base64 as a token, and of prose each fourth. It holds what
// an answer costs against what was put aside for it.
type dense struct {
	Model
	*world
	id    home.Identity
	mu    sync.Mutex
	calls int
	hold  budget.USD // for the newest call
	asked llm.Request
	tight float64 // the largest share of a hold that a call has cost
}

func (d *dense) Complete(ctx context.Context, q llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	var hold budget.USD
	pay := q.Pay
	q.Pay = func(waste llm.Waste) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		err := pay(waste)
		if open := d.holds(d.id); err == nil && len(open) > 0 {
			hold = open[len(open)-1].USD
		}
		return err
	}
	reply, err := d.Model.Complete(ctx, q, on)
	if err != nil {
		return reply, err
	}
	reply.Usage.Input = denseTokens(q)
	usd, _ := llm.Known{q.Model: paid}.Cost(q.Model, reply.Usage, time.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.hold, d.asked = d.calls+1, hold, q
	d.tight = max(d.tight, budget.Ceil(usd).Dollars()/hold.Dollars())
	if cost := budget.Ceil(usd); cost > hold {
		d.Errorf("a call of %d messages cost %s, and %s were put aside", len(q.Messages), cost, hold)
	}
	return reply, err
}

func denseTokens(q llm.Request) (n int) {
	n = len(q.Tools) / 4
	for _, m := range q.Messages {
		texts := []string{m.Content.String(), m.Reasoning}
		for _, c := range m.Calls {
			texts = append(texts, c.Name, c.Arguments)
		}
		for _, word := range strings.Fields(strings.Join(texts, " ")) {
			if n += len(word)/4 + 1; len(word) > 60 {
				n += len(word) - len(word)/4
			}
		}
	}
	return n
}

// What is put aside for a call is never less than what it costs, also of text of which nearly each character is a token,
// after an epoch has taken the place of all that was counted, in the middle of a turn, and with another model.
func TestHoldsCoverDenseText(t *testing.T) {
	slow(t)
	var script []rehearsal.Step
	for i := range 2 {
		for k := range 17 {
			command := fmt.Sprintf(`{"command":"yes the harbour is calm on day %d | head -3000"}`, 10*i+k)
			script = append(script, rehearsal.Step{Task: "none", Answer: calls("BASH", command)})
		}
		var eight []string
		for k := range 8 {
			command := fmt.Sprintf("head -c 40000 /dev/urandom | base64 -w0 # %d", 10*i+k)
			eight = append(eight, "BASH", `{"command":"`+command+`"}`)
		}
		script = append(script, rehearsal.Step{Task: "none", Answer: calls(eight...)})
	}
	w := forgetful(t, 60_000, script...)
	w.gauge.limit = 0
	frugal(&w.conf, budget.Limits{HomeDay: budget.Of(1000)})
	w.conf.Params.MaxTokens, w.conf.Forgetting.Target = 256, new(float64)
	id := w.boot("ada", "dev")
	model := &dense{Model: w.gauge, world: w, id: id}
	w.conf.Model = model
	r := w.run(id)
	r.ask("dense work, please")
	r.ask("some prose about the harbour")
	r.finish()
	if epochs := len(w.events(id, "epoch")); model.calls < 40 || epochs < 4 {
		t.Errorf("%d calls and %d epochs are not enough", model.calls, epochs)
	}
	if model.tight < 0.3 {
		t.Errorf("no call cost more than %.2f of what was put aside", model.tight)
	}
	t.Logf("%d calls, %d epochs; a call cost up to %.2f of its hold", model.calls, len(w.events(id, "epoch")), model.tight)
}

// writes is a model whose provider bills what its cache takes in, and thinking; it may tell the former.
type writes struct {
	Model
	known llm.Known
	tells bool
	mu    sync.Mutex
	usd   float64 // billed
}

func (m *writes) Complete(ctx context.Context, q llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	reply, err := m.Model.Complete(ctx, q, on)
	u := reply.Usage
	u.Written = u.Input - u.Cached
	usd, _ := m.known.Cost(q.Model, u, time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usd += usd
	if m.tells {
		reply.Usage = u
	}
	return reply, err
}

// No limit is passed where the provider bills cache writes at a price of their own, whether or not it tells of them.
func TestWrittenIsPaid(t *testing.T) {
	t.Parallel()
	for _, tells := range []bool{true, false} {
		w := newWorld(t)
		limit := budget.Of(1)
		frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: limit}})
		dear := paid
		dear.Write = 50
		w.conf.Known = llm.Known{"rehearsal-paid": dear}
		model := &writes{Model: w.conf.Model, known: w.conf.Known, tells: tells}
		w.conf.Model = model
		id, r := w.ada()
		for range 30 {
			if w.fold(id).Paused == "" {
				r.ask("think about the harbour")
			}
		}
		r.finish()
		spent := w.spending(id).Spent.Life
		if billed := budget.Ceil(model.usd); w.fold(id).Paused == "" || billed > limit || spent < billed || spent > limit {
			t.Errorf("tells %v: %s were billed, %s are in LIFE, of %s", tells, billed, spent, limit)
		}
	}
}
