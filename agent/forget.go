package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lethe"
	"lethe/agent/home"
	"lethe/agent/part"
	"lethe/agent/summariser"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

// Forgetting sets how far and with which model an identity forgets. Zero values take the defaults.
type Forgetting struct {
	Target     *float64 // share of the eligible part that is left; default 0.3
	Parallel   int      // summaries made at once; default 4
	Mechanical bool     // never ask a model
	Model      string   // another, cheaper model for summaries
}

// jobTime bounds a job; after it, missing summaries are made mechanically.
const jobTime = 10 * time.Minute

// forgetter keeps requests within their limit: it compacts what is old, beside the turns or at once.
type forgetter struct {
	*part.View
	cfg     *Config
	thinker *thinker

	job        *summariser.Job  // under way, or nil
	requested  bool             // by the agent
	wish       string           // of a person, for the next plan alone
	keptChunks []compactor.Fade // that earlier swaps left live
	answers    summariser.Answers
	after      int // tokens of the request after the last swap
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
func (f *forgetter) compactIfDue(ctx context.Context) error {
	if f.StopReason(ctx) != "" { // a job that a stop cut short is not used
		return nil
	}
	if job := f.job; job != nil {
		select {
		case <-job.Done:
			if err := f.finish(job); err != nil {
				return err
			}
		default:
		}
	}
	tokens, window := f.thinker.contextTokens(), f.thinker.window()
	wish, keep := home.Compaction(f.Wishes)
	switch {
	case tokens > window.Limit && f.State.Owed().Answer:
		return f.makeRoom()
	case f.job != nil:
		return nil
	case wish != "":
		if err := f.beginWished(ctx, keep); err != nil {
			return err
		}
		f.ShowResting() // before the wish goes: whoever left it looks for one or the other
		return f.Obeyed(wish)
	case f.requested:
		f.requested = false
		return f.beginJob(ctx, "agent")
	case len(f.State.Forgets) > 0:
		return f.beginJob(ctx, byPerson, f.State.Forgets...)
	case window.Due(tokens, f.after) && f.State.Paused == "":
		return f.beginJob(ctx, full)
	}
	return nil
}

// plan decides what is eligible of a share of the live entries, or only of ranges, with the
// instructions as they stand.
func (f *forgetter) plan(share float64, only ...event.Entries) (compactor.Job, bool, error) {
	segment, err := f.instructions("SEGMENT.md", lethe.Segment)
	if err != nil {
		return compactor.Job{}, false, err
	}
	summarise, err := f.instructions("SUMMARISE.md", lethe.Summarise)
	if err != nil {
		return compactor.Job{}, false, err
	}
	job, ok := compactor.Plan(f.State, compactor.Input{
		Settings: f.settings(), Meter: f.thinker.estimate.Tokens, Tail: f.thinker.tail(), Share: share, Only: only,
		Segment: segment, Summarise: summarise, Kept: f.keptChunks, Wish: f.wish,
		People: f.people(), Earlier: f.answers.Of(f.ID.Dir, f.State.Live), Answered: f.answers.Add,
	})
	f.wish = ""
	return job, ok, nil
}

// people returns whose words may be pinned; see Config.Listed.
func (f *forgetter) people() func(name string) bool {
	names := f.cfg.People
	if names == nil {
		return nil
	}
	if f.cfg.Listed != nil {
		names = slices.Concat(names, f.cfg.Listed())
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

// instructions reads one of the two texts that the agent may rewrite. A broken one
// gives way to the built-in text, and the agent is told once.
func (f *forgetter) instructions(name, builtin string) (string, error) {
	custom, err := f.ReadOwn(name)
	if err != nil {
		return "", err
	}
	text, note := compactor.Instructions(string(custom), builtin)
	if note == "" {
		return text, nil
	}
	return text, f.Tell("instructions", mind.Text{Name: "unusable " + name, Body: custom}, "self/"+name+" is not usable",
		"self/"+name+" cannot be used: "+note+". The built-in text is used until you mend it.")
}

// beginJob starts a job beside the turns, about the older part of the context or only
// about ranges: then all of these are to fade. With no model to ask, it is done at once.
func (f *forgetter) beginJob(ctx context.Context, why string, only ...event.Entries) error {
	job, ok, err := f.plan(compactor.Older, only...)
	if err != nil {
		return err
	}
	if !ok {
		f.after = f.thinker.contextTokens()
		return f.forgot(len(only))
	}
	backsOff := f.backoff.Waits(time.Now()) && why != byPerson
	if f.cfg.Forgetting.Mechanical || backsOff {
		return f.swap(job.Mechanical(), f.settings(), why, len(only))
	}
	if !f.thinker.canRecord() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	f.job = summariser.Start(ctx, job, f.thinker.summariser(cancel), f.Log, why, len(only))
	return nil
}

// beginWished begins the job that a person asks for. keep has the person's words about it, or "".
func (f *forgetter) beginWished(ctx context.Context, keep string) error {
	f.wish = compactor.Wish(shape.Text(keep))
	if keep != "" {
		if err := f.Commit(part.Noted("compact", "a person's wish", f.wish)); err != nil {
			return err
		}
	}
	return f.beginJob(ctx, byPerson)
}

// finish swaps in the answers of a job that has ended.
func (f *forgetter) finish(job *summariser.Job) error {
	f.job = nil
	if err := f.thinker.pay(job.Model, "compaction"); err != nil || job.Cancelled {
		return err
	}
	switch {
	case job.Failure != nil:
		if err := f.backOff(job.Failure); err != nil {
			return err
		}
	case job.Bill().Calls > 0:
		f.backoff.Succeeded()
	}
	return f.swap(job.Fades, f.settings(), job.Why, job.Asked)
}

// backOff leaves the summariser alone for a while, and says so once.
func (f *forgetter) backOff(err error) error {
	pause, first := f.backoff.Failed(time.Now())
	f.Log.Warn("the summariser fails; what is missing is made mechanically", "error", err, "not_asked_for", pause)
	if !first {
		return nil
	}
	return f.Happen(event.Error{What: "compactor", Text: err.Error()})
}

// outpaced gives up the job under way because the limit is reached.
func (f *forgetter) outpaced() error {
	job := f.job
	if job == nil {
		return nil
	}
	if err := f.dropJob(); err != nil {
		return err
	}
	f.keep(job.Fades)
	f.Log.Warn("the limit was reached before the summaries were in; compacting mechanically")
	if !f.backoff.Outpaced() {
		return nil
	}
	return f.backOff(errors.New("the limit was reached before the summaries were in, more than once"))
}

// summarised is closed when the job under way has ended; nil without a job.
func (f *forgetter) summarised() <-chan struct{} {
	if f.job == nil {
		return nil
	}
	return f.job.Done
}

// stop ends the job under way.
func (f *forgetter) stop() {
	if f.job != nil {
		f.job.End()
	}
}

// keep keeps the summaries of a job until their chunks fade.
func (f *forgetter) keep(fades []compactor.Fade) {
	f.keptChunks = append(compactor.Summarised(fades), f.keptChunks...)
}

// dropJob ends the job under way and records its cost. Its answers are
// discarded.
func (f *forgetter) dropJob() error {
	job := f.job
	if job == nil {
		return nil
	}
	job.End()
	f.job = nil
	return f.thinker.pay(job.Model, "compaction")
}

// swap puts faded chunks in the place of entries: originals and summaries first,
// then all fades and the new epoch in one append. It settles the oldest asked of
// State.Forgets: if that is not 0, everything fades that can.
func (f *forgetter) swap(fades []compactor.Fade, set compactor.Settings, why string, asked int) error {
	if asked > 0 {
		set.Target = 0
	}
	parent := f.State.LastBlob
	put := func(m blobs.Meta, text []byte) (mind.Ref, error) {
		m.Parent = parent
		ref, err := f.Put(m, text)
		if err == nil {
			parent = ref.Hash
		}
		return ref, err
	}
	before := f.thinker.contextTokens()
	out, err := compactor.Swap(f.State, fades, set, f.thinker.estimate.Tokens, put, home.BodiesOf(f.Store))
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	f.keptChunks = out.Kept
	if len(out.Lines) == 0 {
		f.after = before
		return f.forgot(asked)
	}
	var fadings []part.Record
	for _, l := range out.Lines {
		fadings = append(fadings, part.Record{Event: l.Fade, Stored: []mind.Ref{l.Original, l.Replacement}})
	}
	next := f.State.Forget(out.Context, parent).Forgot(asked)
	if err := f.thinker.refresh(next); err != nil {
		return err
	}
	was := f.State.Become(next)
	if why != limit && f.thinker.contextTokens() >= before { // the summaries are no smaller than their originals
		f.State.Become(was)
		f.after = before
		f.keep(fades)
		return f.forgot(asked)
	}
	if out.Note != "" { // no crash parts it from the epoch
		fadings = append(fadings, part.Noted("forgotten", out.Note, out.Note))
	}
	if err := f.thinker.epoch(why, fadings...); err != nil {
		return err
	}
	f.after = f.thinker.contextTokens()
	f.Log.Info("compacted", "why", why, "chunks", out.Faded, "tokens_before", before, "tokens_after", f.after)
	return nil
}

// forgot records that nothing came of the oldest n of State.Forgets.
func (f *forgetter) forgot(n int) error {
	if n == 0 {
		return nil
	}
	f.State.Become(f.State.Forgot(n))
	return f.thinker.epoch(byPerson)
}

// goneBack notes that the context is now as it was at an earlier moment.
func (f *forgetter) goneBack() error {
	f.thinker.indexIfFaded()
	f.after, f.keptChunks = f.thinker.contextTokens(), nil
	return f.dropJob()
}
