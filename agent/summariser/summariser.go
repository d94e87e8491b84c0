// Package summariser asks a model to summarise what an identity forgets while the identity's turns go on. It works on copies
// and sees nothing of the state of the identity.
package summariser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/life/event"
)

// Model is a compactor.Model that asks on an identity's account.
type Model struct {
	Complete func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)
	Frozen   llm.Request // the life's own, of the moment when the Model was made
	Cheaper  string      // the model for requests apart from the life's own; "" for the same model
	Rates    budget.Rates
	Pay      *budget.Payment
	Writable func() error // an error: what an answer costs could not be written down
	Cancel   context.CancelFunc

	mu   sync.Mutex
	bill event.Spent
}

// Bill counts the requests and their cost, once all have ended.
func (a *Model) Bill() event.Spent { return a.bill }

// Ask asks once. A fork goes out with the tools and parameters of the life, byte for byte, so that nearly all of it
// comes from the provider's cache.
func (a *Model) Ask(ctx context.Context, ask compactor.Ask) (string, error) {
	if err := a.Writable(); err != nil {
		a.Cancel()
		return "", err
	}
	r := a.Frozen
	if !ask.Fork {
		r.Tools, r.Model = nil, cmp.Or(a.Cheaper, r.Model)
	}
	r.Messages, r.Prefix = ask.Messages, llm.Prefix{}
	call := a.Pay.Attempts(&r)
	reply, err := a.Complete(ctx, r, nil)
	waste := a.Rates.Billed(reply.Waste)
	cost := a.Rates.Wasted(r, waste)
	if err == nil {
		cost.Add(a.Rates.Answered(r, reply))
	}
	unpaid := call.End(cost, false)
	a.count(cost, unpaid == nil, waste.Uncounted > 0)
	switch {
	case unpaid != nil:
		return "", unpaid
	case llm.KindOf(err) == llm.Garbage:
		return "", fmt.Errorf("%w: %w", compactor.ErrGarbage, err)
	case err != nil:
		return "", err
	case len(reply.Calls) > 0 || reply.Finish == "length":
		return "", fmt.Errorf("%w: it ended with %s", compactor.ErrGarbage, reply.Finish)
	}
	return secret.Text(reply.Text), nil
}

// count puts a call on the bill.
func (a *Model) count(cost event.Tokens, began, estimated bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if began || cost.USD > 0 {
		a.bill.Calls++
	}
	a.bill.Estimated = a.bill.Estimated || estimated
	a.bill.Add(cost)
}

// Job is a compaction under way.
type Job struct {
	*Model
	Why   string
	Asked int // how many of State.Forgets it is about; 0 for the older part of the context

	Done      chan struct{} // closed when the fields below are set
	Fades     []compactor.Fade
	Failure   error // why the model is not worth asking soon again
	Cancelled bool  // what it made is not what it would have been
}

// Start begins a job. It ends soon after ctx; End waits for it.
func Start(ctx context.Context, plan compactor.Job, model *Model, log *slog.Logger, why string, asked int) *Job {
	j := &Job{Model: model, Why: why, Asked: asked, Done: make(chan struct{})}
	go func() {
		defer close(j.Done)
		defer model.Cancel()
		defer func() {
			if p := recover(); p != nil {
				log.Error("panic", "value", p, "stack", string(debug.Stack()))
				j.Failure = fmt.Errorf("panic: %v", p)
			}
		}()
		j.Fades, j.Failure = plan.Run(ctx, model)
		j.Cancelled = errors.Is(ctx.Err(), context.Canceled)
	}()
	return j
}

// End cancels the job and waits for its goroutine, which ends at once: a cancelled call of the model does.
func (j *Job) End() {
	j.Cancel()
	<-j.Done
}
