package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lethe"
	"lethe/agent/llm/rehearsal"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/mind"
	"lethe/mind/message"
)

// window divides the limit, as package agent does.
func (r *run) window() compactor.Window {
	stable := r.id.state.Stable
	system := mind.Message{Role: "system", Content: message.Text(stable.System)}
	return compactor.Window{
		Limit:  r.opts.Limit,
		Fixed:  r.estimate.Tokens(weightOf(stable, system)),
		Answer: r.opts.MaxTokens,
	}
}

// compactIfDue does what an agent does before a request: it puts answers that
// have arrived into force, begins a compaction when the request is near its limit,
// and compacts at once when it would exceed the limit.
func (r *run) compactIfDue() (started bool, err error) {
	if r.pending != nil && r.report.Main.Requests >= r.due {
		if err := r.swap(r.pending.fades, r.settings(), "compaction"); err != nil {
			return false, err
		}
		r.pending = nil
	}
	size, w := r.next(), r.window()
	switch {
	case size > w.Limit:
		if r.pending != nil {
			fades := compactor.Summarised(r.pending.fades) // they come one after the other, and an agent keeps those that are in
			late := len(fades) * (r.due - r.report.Main.Requests) / (r.opts.Delay + 1)
			r.keptChunks, r.pending = slices.Concat(fades[late:], r.keptChunks), nil
			r.report.Discarded++
		}
		fits, err := w.MakeRoom(r.settings(), r.next, r.compactNow)
		if !fits {
			r.report.Delayed++ // everything has faded that can: an agent would pause
		}
		return false, err
	case r.pending == nil && w.Due(size, r.after):
		job, ok := r.plan(compactor.Older)
		if !ok {
			r.after = size
			return false, nil
		}
		if r.opts.Compactor == Mechanical {
			return false, r.swap(job.Mechanical(), r.settings(), mechanical)
		}
		r.pending, r.due = &pending{job: job}, r.report.Main.Requests+1+r.opts.Delay
		return true, nil
	}
	return false, nil
}

// pending is a compaction whose answers arrive some requests later.
type pending struct {
	job   compactor.Job
	fades []compactor.Fade
}

// compactNow compacts without a model.
func (r *run) compactNow(set compactor.Settings, share float64) error {
	var fades []compactor.Fade
	if job, ok := r.plan(share); ok {
		fades = job.Mechanical()
	}
	return r.swap(fades, set, mechanical)
}

// next is the size of the next request with its answer, in estimated tokens.
func (r *run) next() int {
	return r.estimate.Tokens(weightOf(r.id.state.Stable, r.id.state.Messages("")...)) + r.opts.MaxTokens
}

func (r *run) settings() compactor.Settings {
	s := r.window().Settings()
	s.Target = r.opts.Target
	s.Parallel = 1 // nobody waits here, and the ledger goes by the order of the calls
	return s
}

func (r *run) plan(share float64) (compactor.Job, bool) {
	return compactor.Plan(r.id.state, compactor.Input{
		Settings: r.settings(), Meter: r.estimate.Tokens, Share: share,
		Segment: lethe.Segment, Summarise: lethe.Summarise, Kept: r.keptChunks,
	})
}

// mechanical is why a compaction without a model happens.
const mechanical = "mechanical"

// swap puts fades into force, and begins an epoch with them.
func (r *run) swap(fades []compactor.Fade, set compactor.Settings, why string) error {
	d := r.id
	out, err := compactor.Swap(d.state, fades, set, r.estimate.Tokens,
		func(m blobs.Meta, body []byte) (mind.Ref, error) { return d.put(m.Gist, body), nil }, d.store.read)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	r.keptChunks = out.Kept
	r.report.Unused -= out.Used
	if len(out.Lines) > 0 {
		d.state = d.state.Forget(out.Context, d.last)
		d.at = d.at.Add(time.Duration(len(out.Lines)) * tick)
		r.report.Compactions++
		if why == mechanical {
			r.report.Mechanical++
		}
		if err := r.renew(why); err != nil {
			return err
		}
	}
	r.after = r.next()
	return nil
}

// Ask answers a task of the compactor as the offline model does, and accounts for it.
func (r *run) Ask(_ context.Context, a compactor.Ask) (string, error) {
	var messages []rehearsal.Message
	for _, m := range a.Messages {
		messages = append(messages, Wire(m))
	}
	answer, ok := rehearsal.Task(messages, SummaryRatio)
	if !ok {
		return "", fmt.Errorf("%w: the request asks for no task", compactor.ErrGarbage)
	}
	if a.Task == compactor.Summarise {
		r.report.Summaries++
		r.report.Unused++
	}
	r.ledger.count(&r.report.Compaction, newPrompt(r.id.state.Stable, a.Messages), answer)
	return answer.Text, nil
}
