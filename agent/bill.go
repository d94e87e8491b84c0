package agent

import (
	"strconv"
	"time"

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
func (b bill) spent(on string) draft {
	d := happen("spent", nil, "on", on, "calls", strconv.Itoa(b.calls),
		"in", strconv.Itoa(b.usage.Input), "cached", strconv.Itoa(b.usage.Cached), "out", strconv.Itoa(b.usage.Output),
		"usd", strconv.FormatFloat(b.usd, 'f', 6, 64))
	if b.estimated {
		d = d.field("estimated", "yes")
	}
	return d
}
