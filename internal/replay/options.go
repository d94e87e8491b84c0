package replay

import (
	"fmt"
	"slices"
	"strings"

	"lethe/compactor"
)

// The ways to make room. The first two are the compactor's own; the others are
// what else is done, for comparison.
const (
	ByModel    = "model"      // segments and summarises with the model
	Mechanical = "mechanical" // without
	Halve      = "halve"      // the older half becomes one summary, with a ref to it
	Rewrite    = "rewrite"    // everything becomes one summary, and is gone
	Classic    = "classic"    // chunks and summaries of summaries, self-contained calls, tail order
)

// Compactors lists what Options.Compactor can be.
func Compactors() []string { return []string{ByModel, Mechanical, Halve, Rewrite, Classic} }

var defaults = compactor.Default(100_000)

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Why string }

func (e *OptionError) Error() string { return fmt.Sprintf("replay with %s: %s", e.Option, e.Why) }

// maxParallel bounds the goroutines of a compaction.
const maxParallel = 64

// check refuses what makes no sense, by name. The limit's own sense is checked
// beside the fixed parts of a request.
func (o Options) check() error {
	var err error
	refuse := func(bad bool, option, format string, args ...any) {
		if bad && err == nil {
			err = &OptionError{option, fmt.Sprintf(format, args...)}
		}
	}
	oneOf := func(option, value string, allowed ...string) {
		refuse(!slices.Contains(allowed, value), option, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
	refuse(o.Limit <= 0, "limit", "%d tokens", o.Limit)
	refuse(o.MaxTokens < 0 || o.MaxTokens >= max(o.Limit, 1), "max-tokens", "%d of a limit of %d", o.MaxTokens, o.Limit)
	oneOf("order", o.Order, OrderEpoch, OrderTail)
	oneOf("compactor", o.Compactor, Compactors()...)
	oneOf("by", o.By, compactor.Relevance, compactor.Oldest)
	refuse(!(o.Target >= 0 && o.Target <= 1), "target", "%g is not between 0 and 1", o.Target)
	refuse(!(o.SummaryRatio > 0 && o.SummaryRatio <= 1), "summary-ratio", "%g is not over 0 and at most 1", o.SummaryRatio)
	refuse(o.MinChunk < 0, "min-chunk", "%d tokens", o.MinChunk)
	refuse(o.Parallel < 1 || o.Parallel > maxParallel, "parallel", "%d is not between 1 and %d", o.Parallel, maxParallel)
	refuse(o.Delay < 0, "delay", "%d requests", o.Delay)
	return err
}
