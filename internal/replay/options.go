package replay

import (
	"fmt"
	"slices"
	"strings"

	"lethe/compactor"
	"lethe/mind"
)

// Options say what to replay with. Begin with Default: the zero value is
// refused.
type Options struct {
	Limit     int    `json:"limit"`      // tokens of a whole request with its answer
	MaxTokens int    `json:"max_tokens"` // of an answer; 0: the agent's default for the limit
	Model     string `json:"model"`      // whose prices count, one of DeepSeek's

	Order     string  `json:"order"`     // OrderEpoch, or OrderTail: MEMORY and LIFE last, renewed with each request
	Compactor string  `json:"compactor"` // ByModel or Mechanical
	Target    float64 `json:"target"`    // share of its size that the eligible part is brought to, 0 to 1
	Alone     bool    `json:"alone"`     // the compactor's requests are self-contained instead of forks

	SummaryRatio float64 `json:"summary_ratio"` // length of a summary as a share of its source, over 0 to 1
	Delay        int     `json:"delay"`         // model requests until the answers of a compaction arrive
}

// Orders of a request.
const (
	OrderEpoch = "epoch"
	OrderTail  = mind.OrderTail
)

// What makes the summaries.
const (
	ByModel    = "model"
	Mechanical = "mechanical"
)

// Default returns the options that an agent runs with by default, and summaries
// of 12 % of their source.
func Default() Options {
	const limit = 100_000
	return Options{
		Limit: limit, Model: "deepseek-v4-pro", Order: OrderEpoch, Compactor: ByModel,
		Target: compactor.Default(limit).Target, SummaryRatio: 0.12, Delay: 3,
	}
}

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Why string }

func (e *OptionError) Error() string { return fmt.Sprintf("replay with %s: %s", e.Option, e.Why) }

// check refuses what makes no sense, by name. Whether the limit leaves room for a
// conversation is checked beside the fixed parts of a request.
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
	oneOf("compactor", o.Compactor, ByModel, Mechanical)
	refuse(!(o.Target >= 0 && o.Target <= 1), "target", "%g is not between 0 and 1", o.Target)
	refuse(!(o.SummaryRatio > 0 && o.SummaryRatio <= 1), "summary-ratio", "%g is not over 0 and at most 1", o.SummaryRatio)
	refuse(o.Delay < 0, "delay", "%d requests", o.Delay)
	return err
}
