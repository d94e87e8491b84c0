package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/internal/picture"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
)

// caller runs calls: it asks hooks and people, records the intent, runs the tool, and records the result.
type caller struct {
	*view
	outbox    *outbox
	thinker   *thinker
	forgetter *forgetter

	reach         *lookup.View // what tools see of the identity
	hooks         hook.Set
	hookedThrough int                    // the newest entry that hooks of turns have seen
	hooked        map[string]hook.Answer // what hooks said of calls, by their ids

	intent intent // of the call that is next
	share  int    // weighted characters that its result may show
}

// maxCalls is how many calls of one reply are run.
const maxCalls = 64

// act runs the calls of the newest reply, in order. The result of one and the
// intent of the next go into the log together.
func (c *caller) act(ctx context.Context) error {
	pending := c.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	left, most := c.thinker.batchChars(), min(len(pending), maxCalls)
	for i, p := range pending[:most] {
		if !p.Call.Started {
			continue // people are asked first
		}
		if i > 0 {
			c.readWishes()
		}
		if i > 0 && c.stopReason(ctx) != "" {
			return nil // the others are settled as not started
		}
		c.share = min(left, left/(most-i)) // what was shown beyond a share is taken from the others
		withdrawn := c.intent.withdraws
		o, err := c.runTool(ctx, c.intent, p.ID(), c.asHooked(p), c.state.TurnRoom())
		if err != nil {
			return err
		}
		show, weight := c.showing(o.Result)
		left -= weight
		result := event.Result{Status: o.state, Opened: o.Opened, Withdrawn: withdrawn, Job: o.Job, File: o.file}
		if show < len(o.Body) {
			result.Show, result.Places = show, show > 0
		}
		if o.Picture != nil && c.share >= message.WeightPicture {
			left -= message.WeightPicture
			result.Images = picture.Named(o.Opened, o.Picture)
		}
		records := []record{c.result(p, result, o.Body, o.kept...)}
		if !o.stopped {
			if err := c.beforeCalls(ctx, pending[i+1:most]); err != nil {
				return err
			}
			intents := c.intents(pending[i+1:most], false)
			records = append(records, intents...)
		}
		if err := c.commit(records...); err != nil {
			return err
		}
		if o.stopped {
			return c.log.Settle("stopped before this call's turn came.")
		}
	}
	tooMany := fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls)
	return inOrder(func() error { return c.log.Settle(tooMany) }, c.warnRepeats)
}

// warnRepeats tells a model that goes round in circles.
func (c *caller) warnRepeats() error {
	if c.state.Repeats < 3 {
		return nil
	}
	text := "That was the third identical call in a row with an identical result. Try something else, or say what keeps you."
	return c.commit(noted("repeat", "identical calls", text))
}

// argsOf are the arguments of a call as the model meant them, put back from their escaped form.
func argsOf(c *mind.Call) json.RawMessage { return json.RawMessage(blobs.Unescape(c.Args)) }

// outcome is what became of a call.
type outcome struct {
	tools.Result
	state   string
	file    event.File // that it has written
	kept    []body     // what a hook replaced
	stopped bool       // it was cut short by /stop or the end of the daemon, unless it goes on as a job
}

func outcomeOf(said string, err error) (o outcome) {
	if o.state = mind.OK; err != nil {
		o.state, said = mind.Failed, err.Error()
	}
	o.Body = []byte(said)
	return o
}

// runTool runs one tool.
func (c *caller) runTool(ctx context.Context, in intent, id string, call *mind.Call, room string) (o outcome, err error) {
	c.show(status.Acting, call.Tool)
	o.state = mind.OK
	run, beside := in.effect.(tools.Run)
	if in.err != nil || !beside {
		// What its intent has fixed happens, even if a stop is asked for meanwhile. Where that cannot be
		// recorded, neither can its result, which ends the run.
		return outcomeOf(c.perform(id, in)), nil
	}
	with := tools.Call{
		ID: id, Name: call.Tool, Life: c.id.Self, JobRoom: room, Job: c.state.LastJob + 1, Output: c.screen.Output(id),
		Most: max(minPage, min(compactor.MaxResult, c.share)),
	}
	if c.state.Task != nil { // what it keeps of its output, it keeps in its parent's workspace
		with.ID = c.id.Name + "." + id
	}
	defer c.screen.Begin(status.Live{})
	c.reach.Know(c.known())
	err = c.during(ctx, func(ctx context.Context) {
		o.Result = run.Do(ctx, with)
		o.stopped = ctx.Err() != nil
	})
	if o.Touched != "" {
		if text, err := c.log.ReadOwn(o.Touched); err == nil {
			o.file = mind.Text{Name: o.Touched, Body: text}.Version()
		}
	}
	switch {
	case o.Job > 0:
	case o.stopped:
		o.state, o.file = mind.Interrupted, c.log.Wrote(call)
		const why = "interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s"
		o.Body = fmt.Appendf(nil, why, o.Body)
	case o.Err:
		o.state = mind.Failed
	}
	if err == nil && !o.stopped {
		err = c.afterCall(ctx, in, call.Tool, argsOf(call), &o)
	}
	if err == nil {
		err = c.keepFiles(&o.Result)
	}
	return o, err
}

// keepFiles stores the files that a call has returned, and names them below its text. The first picture is shown.
func (c *caller) keepFiles(r *tools.Result) error {
	for _, f := range r.Files {
		ref, err := c.log.Put(blobs.Meta{Gist: f.About()}, secret.Bytes(f.Data))
		if err != nil {
			return err
		}
		if r.Picture == nil && len(picture.Named("", f.Data)) > 0 {
			r.Picture, r.Opened = f.Data, ref.Hash.String()
		}
		r.Body = fmt.Appendf(r.Body, "\n[file: hash=%s %s, %d bytes]", ref.Short, f.About(), len(f.Data))
	}
	return nil
}

// showing decides how many runes of a result enter the context, 0 for all, and
// what those weigh.
func (c *caller) showing(r tools.Result) (show, weight int) {
	text := mind.Result(r.Body)
	if !r.Bounded {
		gist := string(r.Body[:min(len(r.Body), 1000)])
		show = mind.Fit(text, gist, compactor.MaxResult, c.share, llm.Weight)
	}
	if show > 0 {
		return show, max(0, min(compactor.MaxResult, c.share))
	}
	return 0, llm.Weight(text)
}

// result records the result of a call.
func (c *caller) result(p mind.Pending, e event.Result, out []byte, kept ...body) record {
	e.ID, e.Tool = p.ID(), p.Call.Tool
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", c.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return journal.Told(e, gist, out, kept...)
}

// finishPending pays what was decided before: posts that are owed, and results of calls
// that were cut short. No call is begun twice.
func (c *caller) finishPending() error {
	if err := c.outbox.postOwed(); err != nil {
		return err
	}
	pending := c.state.Owed().Calls
	if len(pending) == 0 {
		return c.settleRun()
	}
	if p := pending[0]; p.Call.Started {
		o := c.cutShort(p.ID(), p.Call, c.state.Said)
		if err := c.commit(c.result(p, event.Result{Status: o.state, File: o.file}, o.Body)); err != nil {
			return err
		}
	}
	return c.log.Settle("the daemon stopped before this call's turn came. Call again if it is still needed.")
}

// runApproved runs the next call that people have approved, and reports whether there was one.
func (c *caller) runApproved(ctx context.Context) (ran bool, err error) {
	if len(c.state.Approved) == 0 || c.stopReason(ctx) != "" || !c.thinker.canRecord() {
		return false, nil
	}
	q := c.state.Approved[0]
	call, err := c.approved(q)
	if err != nil {
		return false, err
	}
	in := c.intend(q.ID, call, false)
	run := event.Run{ID: q.ID, Tool: call.Tool, Child: in.child, Notice: in.line}
	if err := c.commit(record{Event: run, Texts: in.files}); err != nil {
		return false, err
	}
	c.share = c.thinker.batchChars()
	o, err := c.runTool(ctx, in, q.ID, call, q.Room)
	if err != nil {
		return false, err
	}
	return true, c.runEnd(q, o)
}

// approved reads the call that people have approved, to the byte.
func (c *caller) approved(q mind.Question) (*mind.Call, error) {
	b, err := c.store.Get(q.Ref.Hash)
	if err != nil {
		return nil, home.ReadError(err)
	}
	k, err := mind.DecodeAsk(b.Body)
	return &mind.Call{Tool: k.Tool, Args: blobs.Escape(k.Args)}, err
}

// runEnd records what became of an approved call.
func (c *caller) runEnd(q mind.Question, o outcome) error {
	gist := fmt.Sprintf("approved %s: %s", q.Tool, blobs.Gist(string(o.Body[:min(len(o.Body), 1000)])))
	e := event.Note{Why: "run", Run: q.ID, Status: o.state, File: o.file, Job: o.Job}
	return c.commit(journal.Told(e, gist, o.Body, o.kept...))
}

// settleRun ends an approved call that was running when the daemon died. It is never run twice.
func (c *caller) settleRun() error {
	if len(c.state.Approved) == 0 || !c.state.Approved[0].Began {
		return nil
	}
	q := c.state.Approved[0]
	call, err := c.approved(q)
	if err != nil {
		return err
	}
	return c.runEnd(q, c.cutShort(q.ID, call, c.speaksIn()))
}

// known copies what a call may know.
func (c *caller) known() lookup.Known {
	k := lookup.Known{
		Rooms: c.joined(), Company: c.company(), Granted: maps.Clone(c.state.Grants), Spoken: c.state.Spoken,
		Summaries: map[blobs.Hash]bool{}, Overtaken: maps.Clone(c.state.Overtaken),
		Page: max(minPage, min(c.thinker.estimate.Chars(c.thinker.window().Page()), c.share)),
	}
	if t := c.state.Task; t != nil {
		k.Work = t.Room
	}
	for _, r := range c.state.Faded {
		k.Summaries[r.Original.Hash] = r.Level == mind.Summary
	}
	return k
}
