package agent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"lethe"
	"lethe/agent/adopt/shelf"
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/compactor"
)

const answerTokens = 400 // about, of a summary of what was adopted

// Obey obeys an order about what is adopted. It is for an identity that is open and not running.
func (a *Agent) Obey(ctx context.Context, order home.Wish) error { return a.desk.Obey(ctx, order) }

// asking is the way to ask a model about what was adopted.
func (f *forgetter) asking() shelf.Asking {
	asked, params := f.thinker.summariser(nil), f.State.Stable.Params
	in := compactor.Input{Settings: f.settings(), Meter: f.thinker.estimate.Tokens, Summarise: lethe.Summarise}
	return shelf.Asking{
		Meter: in.Meter, Most: in.Settings.Parallel,
		Price: func(requests, tokens int) (string, budget.USD) {
			model := cmp.Or(f.cfg.Forgetting.Model, params.Model)
			usd, _ := f.cfg.Known.Worst(model, tokens, answerTokens*requests, time.Now())
			return model, budget.Ceil(usd)
		},
		Ask: func(ctx context.Context, texts []string) ([]compactor.Fade, error) {
			ctx, asked.Cancel = context.WithTimeout(ctx, jobTime)
			defer asked.Cancel()
			fades, failure := compactor.Apart(in, params, texts).Run(ctx, asked)
			if ended := ctx.Err(); ended != nil || !slices.ContainsFunc(fades, unasked) {
				failure = ended
			}
			return fades, failure
		},
		Pay: func() error { return f.thinker.pay(asked, "compaction") },
	}
}

// unasked reports whether no answer came about a text.
func unasked(fade compactor.Fade) bool { return fade.Mechanical && !fade.Garbage }
