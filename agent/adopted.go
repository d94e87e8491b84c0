package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"lethe"
	"lethe/agent/adopt/shelf"
	"lethe/agent/budget"
	"lethe/compactor"
)

const answerTokens = 400 // about, of a summary of what was adopted

// SummariseAdopted has a model write the gists of what was adopted, once confirm has agreed to the price. Answers are
// laid down as they come: a later call goes on behind them. It is for an identity that is open and not running.
func (a *Agent) SummariseAdopted(
	ctx context.Context, confirm func(requests int, model string, tokens int, usd budget.USD) error,
) error {
	laid, err := shelf.Open(a.journal)
	if err != nil {
		return err
	}
	meter := a.thinker.estimate.Tokens
	talks, tokens, err := laid.Untold(meter)
	if err != nil || len(talks) == 0 {
		return err
	}
	model := cmp.Or(a.cfg.Forgetting.Model, a.view.State.Stable.Params.Model)
	usd, _ := a.cfg.Known.Worst(model, tokens, answerTokens*len(talks), time.Now())
	if err := confirm(len(talks), model, tokens, budget.Ceil(usd)); err != nil {
		return err
	}
	in := compactor.Input{Settings: a.forgetter.settings(), Meter: meter, Summarise: lethe.Summarise}
	for some := range slices.Chunk(talks, in.Settings.Parallel) {
		ctx, cancel := context.WithTimeout(ctx, jobTime)
		asked := a.thinker.summariser(cancel)
		fades, failure := compactor.Apart(in, a.view.State.Stable.Params, some).Run(ctx, asked)
		if ended := ctx.Err(); ended != nil || !slices.ContainsFunc(fades, unasked) {
			failure = ended
		}
		cancel()
		if err = errors.Join(failure, laid.Tell(fades), a.thinker.pay(asked, "compaction")); err != nil {
			break
		}
	}
	return errors.Join(err, laid.Close())
}

// unasked reports whether no answer came about a text.
func unasked(fade compactor.Fade) bool { return fade.Mechanical && !fade.Garbage }
