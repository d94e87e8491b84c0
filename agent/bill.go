package agent

import (
	"time"

	"lethe/life/event"
	"lethe/llm"
)

// bill is what calls of a model have cost that no reply of the log tells of.
type bill struct {
	calls     int
	usage     llm.Usage
	usd       float64
	estimated bool // in part, since the provider did not tell
}

// add counts what a provider told.
func (b *bill) add(model string, u llm.Usage) {
	usd, _ := llm.Cost(model, u, time.Now())
	b.usage.Input += u.Input
	b.usage.Cached += u.Cached
	b.usage.Output += u.Output
	b.usd += usd
}

// waste counts what the attempts at r have cost that brought no reply.
func (b *bill) waste(r llm.Request, w llm.Waste, e llm.Estimator) {
	b.add(r.Model, w.Usage)
	if w.Untold > 0 {
		b.add(r.Model, llm.Usage{Input: w.Untold * e.Tokens(r.Weight()), Output: e.Tokens(w.Streamed)})
		b.estimated = true
	}
}

// spent is the bill for the log.
func (b bill) spent(on string) record {
	return record{event: event.Spent{On: on, Calls: b.calls, Tokens: tokens(b.usage, b.usd), Estimated: b.estimated}}
}

func tokens(u llm.Usage, usd float64) event.Tokens {
	return event.Tokens{In: int64(u.Input), Cached: int64(u.Cached), Out: int64(u.Output), USD: usd}
}
