package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"lethe"
	"lethe/agent/home"
	"lethe/agent/summariser"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

// Forgetting says how an identity forgets. Zero values take the defaults.
type Forgetting struct {
	Target     *float64 // share of the eligible part that is left; default 0.3
	Parallel   int      // summaries made at once; default 4
	Mechanical bool     // never ask a model
	Model      string   // another, cheaper model for summaries
}

// jobTime bounds a job; after it, what is missing is made mechanically.
const jobTime = 10 * time.Minute

// forgetting is what an identity knows of its compactions.
type forgetting struct {
	job        *summariser.Job  // under way, or nil
	requested  bool             // by the agent
	wish       string           // of a person, for the next plan alone
	keptChunks []compactor.Fade // that earlier swaps left live
	after      int              // tokens of the request after the last swap
	backoff    compactor.Backoff
}

// Why a compaction begins.
const (
	full     = "full"   // the request is near its limit
	byPerson = "person" // somebody asked for it
	limit    = "limit"  // the request would be too large
)

// compactIfDue swaps in summaries that are ready, makes room at once when the
// limit is reached, and begins a job when it is near. It is called between units
// and never waits for a model.
func (a *Agent) compactIfDue(ctx context.Context) error {
	if a.stopReason(ctx) != "" { // a job that a stop cut short is not used
		return nil
	}
	if job := a.forgetting.job; job != nil {
		select {
		case <-job.Done:
			if err := a.finish(job); err != nil {
				return err
			}
		default:
		}
	}
	tokens, w := a.thinker.contextTokens(), a.thinker.window()
	wish, keep := home.Compaction(a.wishes)
	switch {
	case tokens > w.Limit && a.state.Owed().Answer:
		return a.makeRoom()
	case a.forgetting.job != nil:
		return nil
	case wish != "":
		if err := a.beginWished(ctx, keep); err != nil {
			return err
		}
		a.showResting() // before the wish goes: whoever left it looks for one or the other
		return a.obeyed(wish)
	case a.forgetting.requested:
		a.forgetting.requested = false
		return a.beginJob(ctx, "agent")
	case len(a.state.Forgets) > 0:
		return a.beginJob(ctx, byPerson, a.state.Forgets...)
	case w.Due(tokens, a.forgetting.after) && a.state.Paused == "":
		return a.beginJob(ctx, full)
	}
	return nil
}

// plan decides what is eligible of a share of the live entries, or only of ranges, with the
// instructions as they stand.
func (a *Agent) plan(share float64, only ...event.Entries) (compactor.Job, bool, error) {
	segment, err := a.instructions("SEGMENT.md", lethe.Segment)
	summarise, serr := a.instructions("SUMMARISE.md", lethe.Summarise)
	if err = cmp.Or(err, serr); err != nil {
		return compactor.Job{}, false, err
	}
	job, ok := compactor.Plan(a.state, compactor.Input{
		Settings: a.settings(), Meter: a.thinker.estimate.Tokens, Tail: a.thinker.tail(), Share: share, Only: only,
		Segment: segment, Summarise: summarise, Kept: a.forgetting.keptChunks, Wish: a.forgetting.wish,
	})
	a.forgetting.wish = ""
	return job, ok, nil
}

// instructions reads one of the two texts that the agent may rewrite. A broken one
// gives way to the built-in text, and the agent is told once.
func (a *Agent) instructions(name, builtin string) (string, error) {
	custom, err := a.log.ReadOwn(name)
	if err != nil {
		return "", err
	}
	text, note := compactor.Instructions(string(custom), builtin)
	if note == "" {
		return text, nil
	}
	return text, a.tell("instructions", mind.Text{Name: "unusable " + name, Body: custom}, "self/"+name+" is not usable",
		"self/"+name+" cannot be used: "+note+". The built-in text is used until you mend it.")
}

// beginJob starts a job beside the turns, about the older part of the context or only
// about ranges, all of which are to fade. With no model to ask, it is done at once.
func (a *Agent) beginJob(ctx context.Context, why string, only ...event.Entries) error {
	job, ok, err := a.plan(compactor.Older, only...)
	if err != nil {
		return err
	}
	if !ok {
		a.forgetting.after = a.thinker.contextTokens()
		return a.forgot(len(only))
	}
	if a.cfg.Forgetting.Mechanical || a.forgetting.backoff.Waits(time.Now()) && why != byPerson {
		return a.swap(job.Mechanical(), a.settings(), why, len(only))
	}
	if !a.thinker.canRecord() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	a.forgetting.job = summariser.Start(ctx, job, a.thinker.summariser(cancel), a.cfg.Log, why, len(only))
	return nil
}

// beginWished begins the job that a person asks for, with what that person says about it.
func (a *Agent) beginWished(ctx context.Context, keep string) error {
	if a.forgetting.wish = compactor.Wish(secret.Text(keep)); keep != "" {
		if err := a.commit(noted("compact", "a person's wish", a.forgetting.wish)); err != nil {
			return err
		}
	}
	return a.beginJob(ctx, byPerson)
}

// finish swaps in the answers of a job that has ended.
func (a *Agent) finish(job *summariser.Job) error {
	a.forgetting.job = nil
	if err := a.thinker.pay(job.Model, "compaction"); err != nil || job.Cancelled {
		return err
	}
	switch {
	case job.Failure != nil:
		if err := a.backOff(job.Failure); err != nil {
			return err
		}
	case job.Bill().Calls > 0:
		a.forgetting.backoff.Succeeded()
	}
	return a.swap(job.Fades, a.settings(), job.Why, job.Asked)
}

// backOff leaves the summariser alone for a while, and says so once.
func (a *Agent) backOff(err error) error {
	pause, first := a.forgetting.backoff.Failed(time.Now())
	a.cfg.Log.Warn("the summariser fails; what is missing is made mechanically", "error", err, "not_asked_for", pause)
	if !first {
		return nil
	}
	return a.happen(event.Error{What: "compactor", Text: err.Error()})
}

// outpaced gives up the job under way because the limit is reached.
func (a *Agent) outpaced() error {
	job := a.forgetting.job
	if job == nil {
		return nil
	}
	if err := a.dropJob(); err != nil {
		return err
	}
	a.keep(job.Fades)
	a.cfg.Log.Warn("the limit was reached before the summaries were in; compacting mechanically")
	if !a.forgetting.backoff.Outpaced() {
		return nil
	}
	return a.backOff(errors.New("the limit was reached before the summaries were in, more than once"))
}

// keep keeps the summaries that have come of a job, for when their chunks fade.
func (a *Agent) keep(fades []compactor.Fade) {
	a.forgetting.keptChunks = append(compactor.Summarised(fades), a.forgetting.keptChunks...)
}

// dropJob ends the job under way and records what it has cost. Its answers are
// discarded.
func (a *Agent) dropJob() error {
	job := a.forgetting.job
	if job == nil {
		return nil
	}
	job.End()
	a.forgetting.job = nil
	return a.thinker.pay(job.Model, "compaction")
}

// swap puts faded chunks in the place of entries: originals and summaries first,
// then all fades and the new epoch in one append. asked is how many of State.Forgets that
// deals with; then nothing stays that can fade.
func (a *Agent) swap(fades []compactor.Fade, set compactor.Settings, why string, asked int) error {
	if asked > 0 {
		set.Target = 0
	}
	parent := a.state.LastBlob
	put := func(m blobs.Meta, text []byte) (mind.Ref, error) {
		m.Parent = parent
		ref, err := a.log.Put(m, text)
		if err == nil {
			parent = ref.Hash
		}
		return ref, err
	}
	before := a.thinker.contextTokens()
	out, err := compactor.Swap(a.state, fades, set, a.thinker.estimate.Tokens, put, home.BodiesOf(a.store))
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	a.forgetting.keptChunks = out.Kept
	if len(out.Lines) == 0 {
		a.forgetting.after = before
		return a.forgot(asked)
	}
	var fadings []record
	for _, l := range out.Lines {
		fadings = append(fadings, record{Event: l.Fade, Stored: []mind.Ref{l.Original, l.Replacement}})
	}
	next := a.state.Forget(out.Context, parent).Forgot(asked)
	if err := a.thinker.refresh(next); err != nil {
		return err
	}
	was := *a.state
	*a.state = *next
	if why != limit && a.thinker.contextTokens() >= before { // the summaries are no smaller than what they stand for
		*a.state, a.forgetting.after = was, before
		a.keep(fades)
		return a.forgot(asked)
	}
	if out.Note != "" { // no crash parts it from the epoch
		fadings = append(fadings, noted("forgotten", out.Note, out.Note))
	}
	if err := a.thinker.epoch(why, fadings...); err != nil {
		return err
	}
	a.forgetting.after = a.thinker.contextTokens()
	a.cfg.Log.Info(
		"compacted",
		"why",
		why,
		"chunks",
		out.Faded,
		"tokens_before",
		before,
		"tokens_after",
		a.forgetting.after,
	)
	return nil
}

// forgot records that nothing came of the oldest n of State.Forgets.
func (a *Agent) forgot(n int) error {
	if n == 0 {
		return nil
	}
	*a.state = *a.state.Forgot(n)
	return a.thinker.epoch(byPerson)
}

// Compact has the identity forget now, as far as its settings say, and waits for
// it. It is for an identity that is open and not running. keep is what a person says about it, or "".
func (a *Agent) Compact(ctx context.Context, keep string) error {
	if err := a.settle(); err != nil {
		return err
	}
	if err := a.beginWished(ctx, keep); err != nil {
		return err
	}
	if job := a.forgetting.job; job != nil {
		<-job.Done
		if err := errors.Join(a.finish(job), ctx.Err()); err != nil {
			return err
		}
	}
	return cmp.Or(a.thinker.outage.noSpace, a.writeContext())
}
