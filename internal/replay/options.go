package replay

import (
	"fmt"

	"lethe/compactor"
)

// Options say what to replay with. Begin with Default: the zero value is
// refused.
type Options struct {
	Limit     int    `json:"limit"`      // tokens of a whole request with its answer
	MaxTokens int    `json:"max_tokens"` // of an answer; 0: the agent's default for the limit
	Model     string `json:"model"`      // whose prices count, one of DeepSeek's

	Compactor string  `json:"compactor"` // ByModel or Mechanical
	Target    float64 `json:"target"`    // share of its size that the eligible part is brought to, 0 to 1
	Delay     int     `json:"delay"`     // model requests until the answers of a compaction arrive
}

// What makes the summaries.
const (
	ByModel    = "model"
	Mechanical = "mechanical"
)

// summaryRatio is how long a summary is, as a share of its source.
const summaryRatio = 0.12

// Default returns the options that an agent runs with by default.
func Default() Options {
	const limit = 100_000
	return Options{
		Limit: limit, Model: "deepseek-v4-pro", Compactor: ByModel,
		Target: compactor.Default(limit).Target, Delay: 3,
	}
}

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Why string }

func (e *OptionError) Error() string { return fmt.Sprintf("replay with %s: %s", e.Option, e.Why) }

// check refuses what makes no sense, by name. Whether the limit leaves room for a
// conversation is checked beside the fixed parts of a request.
func (o Options) check() error {
	refuse := func(option, format string, args ...any) error {
		return &OptionError{option, fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Limit <= 0:
		return refuse("limit", "%d tokens", o.Limit)
	case o.MaxTokens < 0 || o.MaxTokens >= o.Limit:
		return refuse("max-tokens", "%d of a limit of %d", o.MaxTokens, o.Limit)
	case o.Compactor != ByModel && o.Compactor != Mechanical:
		return refuse("compactor", "%q is neither %s nor %s", o.Compactor, ByModel, Mechanical)
	case !(o.Target >= 0 && o.Target <= 1):
		return refuse("target", "%g is not between 0 and 1", o.Target)
	case o.Delay < 0:
		return refuse("delay", "%d requests", o.Delay)
	}
	return nil
}
