package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
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

// call is what one call of a tool needs and leaves.
type call struct {
	intent intent
	hooked map[string]hook.Answer // what hooks said of calls, by their ids
	share  int                    // weighted characters that a tool's result may show
}

// maxCalls is how many calls of one reply are run.
const maxCalls = 64

// act runs the calls of the newest reply, in order. The result of one and the
// intent of the next go into the log together.
func (a *Agent) act(ctx context.Context) error {
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	left, most := a.thinker.batchChars(), min(len(pending), maxCalls)
	for i, p := range pending[:most] {
		if !p.Call.Started {
			continue // people are asked first
		}
		if i > 0 {
			a.readWishes()
		}
		if i > 0 && a.stopReason(ctx) != "" {
			return nil // the others are settled as not started
		}
		a.call.share = min(left, left/(most-i)) // what was shown beyond a share is taken from the others
		withdrawn := a.call.intent.withdraws
		o, err := a.runTool(ctx, a.call.intent, p.ID(), a.asHooked(p), a.state.TurnRoom())
		if err != nil {
			return err
		}
		show, weight := a.showing(o.Result)
		left -= weight
		result := event.Result{Status: o.state, Opened: o.Opened, Withdrawn: withdrawn, Job: o.Job, File: o.file}
		if show < len(o.Body) {
			result.Show, result.Places = show, show > 0
		}
		if o.Picture != nil && a.call.share >= message.WeightPicture {
			left -= message.WeightPicture
			result.Images = picture.Named(o.Opened, o.Picture)
		}
		records := []record{a.result(p, result, o.Body, o.kept...)}
		if !o.stopped {
			if err := a.beforeCalls(ctx, pending[i+1:most]); err != nil {
				return err
			}
			intents := a.intents(pending[i+1:most], false)
			records = append(records, intents...)
		}
		if err := a.commit(records...); err != nil {
			return err
		}
		if o.stopped {
			return a.log.Settle("stopped before this call's turn came.")
		}
	}
	tooMany := fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls)
	return inOrder(func() error { return a.log.Settle(tooMany) }, a.warnRepeats)
}

// warnRepeats tells a model that goes round in circles.
func (a *Agent) warnRepeats() error {
	if a.state.Repeats < 3 {
		return nil
	}
	text := "That was the third identical call in a row with an identical result. Try something else, or say what keeps you."
	return a.commit(noted("repeat", "identical calls", text))
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
func (a *Agent) runTool(ctx context.Context, in intent, id string, c *mind.Call, room string) (o outcome, err error) {
	a.show(status.Acting, c.Tool)
	o.state = mind.OK
	run, beside := in.effect.(tools.Run)
	if in.err != nil || !beside {
		// What its intent has fixed happens, even if a stop is asked for meanwhile. Where that cannot be
		// recorded, neither can its result, which ends the run.
		return outcomeOf(a.perform(id, in)), nil
	}
	call := tools.Call{
		ID: id, Name: c.Tool, Life: a.id.Self, JobRoom: room, Job: a.state.LastJob + 1, Output: a.screen.Output(id),
		Most: max(minPage, min(compactor.MaxResult, a.call.share)),
	}
	if a.state.Task != nil { // what it keeps of its output, it keeps in its parent's workspace
		call.ID = a.id.Name + "." + id
	}
	defer a.screen.Begin(status.Live{})
	a.reach.Know(a.known())
	err = a.during(ctx, func(ctx context.Context) {
		o.Result = run.Do(ctx, call)
		o.stopped = ctx.Err() != nil
	})
	if o.Touched != "" {
		if text, err := a.log.ReadOwn(o.Touched); err == nil {
			o.file = mind.Text{Name: o.Touched, Body: text}.Version()
		}
	}
	switch {
	case o.Job > 0:
	case o.stopped:
		o.state, o.file = mind.Interrupted, a.log.Wrote(c)
		const why = "interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s"
		o.Body = fmt.Appendf(nil, why, o.Body)
	case o.Err:
		o.state = mind.Failed
	}
	if err == nil && !o.stopped {
		err = a.afterCall(ctx, in, c.Tool, argsOf(c), &o)
	}
	if err == nil {
		err = a.keepFiles(&o.Result)
	}
	return o, err
}

// keepFiles stores the files that a call has returned, and names them below its text. The first picture is shown.
func (a *Agent) keepFiles(r *tools.Result) error {
	for _, f := range r.Files {
		ref, err := a.log.Put(blobs.Meta{Gist: f.About()}, secret.Bytes(f.Data))
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
func (a *Agent) showing(r tools.Result) (show, weight int) {
	text := mind.Result(r.Body)
	if !r.Bounded {
		gist := string(r.Body[:min(len(r.Body), 1000)])
		show = mind.Fit(text, gist, compactor.MaxResult, a.call.share, llm.Weight)
	}
	if show > 0 {
		return show, max(0, min(compactor.MaxResult, a.call.share))
	}
	return 0, llm.Weight(text)
}

// result records the result of a call.
func (a *Agent) result(p mind.Pending, e event.Result, out []byte, kept ...body) record {
	e.ID, e.Tool = p.ID(), p.Call.Tool
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", a.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return journal.Told(e, gist, out, kept...)
}
