package wallet

import (
	"cmp"

	"lethe/life/event"
)

// Bill is what calls of a model have cost that no reply of the log tells of.
type Bill struct {
	Calls     int
	Tokens    event.Tokens
	Estimated bool // in part, since the provider did not tell
}

// Add counts a cost.
func (b *Bill) Add(t event.Tokens) { b.Tokens = Sum(b.Tokens, t) }

func Sum(a, b event.Tokens) event.Tokens {
	a.In, a.Cached, a.Out, a.USD = a.In+b.In, a.Cached+b.Cached, a.Out+b.Out, a.USD+b.USD
	a.Day = cmp.Or(a.Day, b.Day)
	return a
}

// Event is the bill for the log.
func (b Bill) Event(on string) event.Spent {
	return event.Spent{On: on, Calls: b.Calls, Tokens: b.Tokens, Estimated: b.Estimated}
}
