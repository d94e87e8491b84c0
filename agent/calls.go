package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/keeper"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/part"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/work"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/internal/picture"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/message"
)

// caller runs calls: it asks hooks and people, records the intent, runs the tool, and records the result.
type caller struct {
	*part.View
	cfg       *Config
	outbox    *part.Outbox
	thinker   *thinker
	forgetter *forgetter

	reach         *lookup.View // shows the identity to tools
	hooks         hook.Set
	hookedThrough int                    // the newest entry that hooks of turns have seen
	hooked        map[string]hook.Answer // answers of hooks to calls, by the ids of those

	seen   *keeper.Seen
	intent intent // of the call that is next
	share  int    // weighted characters that its result may show
}

func newCaller(
	view *part.View, cfg *Config, outbox *part.Outbox, t *thinker, f *forgetter, reach *lookup.View,
) *caller {
	return &caller{
		View: view, cfg: cfg, outbox: outbox, thinker: t, forgetter: f, reach: reach,
		hooks: hook.Set{Dir: filepath.Join(view.Home.Dir, "hooks")}, seen: &keeper.Seen{View: view},
	}
}

// maxCalls bounds the calls of one reply that are run.
const maxCalls = 64

// pendingCall is a call that is to be run: of the newest reply, or approved by people. LIFE has its intent before it
// runs, and its outcome behind the intent.
type pendingCall struct {
	id       string
	call     *mind.Call
	approval *mind.Question // of people; nil for a call of the newest reply
	asked    mind.Ask       // what they were asked
}

// begins is the record of a call's intent.
func (p pendingCall) begins(in intent) part.Record {
	texts := in.files
	if p.approval != nil {
		run := event.Run{ID: p.id, Tool: p.call.Tool, Child: in.child, Change: in.change, Notice: in.line}
		return part.Record{Event: run, Texts: texts}
	}
	if in.replaced != "" {
		gist := "arguments of " + p.id + " as a hook replaced them"
		texts = append([]part.Body{{Gist: gist, Data: []byte(in.replaced)}}, texts...)
	}
	started := event.Call{ID: p.id, Tool: p.call.Tool, Child: in.child, Change: in.change, Posting: in.line.Posting}
	return part.Record{Event: started, Texts: texts}
}

// ends is the record of a call's outcome in a turn.
func (p pendingCall) ends(turn int, ended outcome) part.Record {
	out := shape.Bytes(ended.Body) // before the gist is cut out of it
	gist := blobs.Gist(string(out[:min(len(out), 1000)]))
	if p.approval != nil {
		result := event.Note{Why: "run", Run: p.id, Status: ended.state, File: ended.file, Saw: ended.Saw.File, Job: ended.Job}
		return journal.Told(result, fmt.Sprintf("approved %s: %s", p.call.Tool, gist), out, ended.kept...)
	}
	result := event.Result{
		ID: p.id, Tool: p.call.Tool, Status: ended.state, Opened: ended.Opened, Withdrawn: ended.withdrawn,
		Job: ended.Job, File: ended.file, Saw: ended.Saw.File,
		Show: ended.show, Places: ended.show > 0, Images: ended.images,
	}
	return journal.Told(result, fmt.Sprintf("turn %d %s: %s", turn, p.call.Tool, gist), out, ended.kept...)
}

// ofReply returns the calls of the newest reply that have no result yet.
func (c *caller) ofReply() (calls []pendingCall) {
	for _, p := range c.State.Owed().Calls {
		calls = append(calls, pendingCall{id: p.ID(), call: p.Call})
	}
	return calls
}

// callsOf returns the calls of an answer that are run. entry is the number that the answer gets.
func callsOf(entry int, answer mind.Answer) (calls []pendingCall) {
	for i, c := range answer.Calls[:min(len(answer.Calls), maxCalls)] {
		call := &mind.Call{Tool: c.Tool, Args: c.Args, Original: c.Original}
		calls = append(calls, pendingCall{id: mind.CallID(entry, i+1), call: call})
	}
	return calls
}

// approved returns the call that people have approved with a question, to the byte.
func (c *caller) approved(question mind.Question) (pending pendingCall, err error) {
	b, err := c.Store.Get(question.Ref.Hash)
	if err != nil {
		return pending, home.ReadError(err)
	}
	asked, err := mind.DecodeAsk(b.Body)
	call := &mind.Call{Tool: asked.Tool, Args: blobs.Escape(asked.Args), Started: question.Began, Posts: question.Posts}
	return pendingCall{id: question.ID, call: call, approval: &question, asked: asked}, err
}

// act runs the calls of the newest reply, in order.
func (c *caller) act(ctx context.Context) error {
	calls := c.ofReply()
	if len(calls) == 0 {
		return nil
	}
	whole, err := c.run(ctx, calls[:min(len(calls), maxCalls)])
	if err != nil || !whole {
		return err
	}
	tooMany := fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls)
	if err := c.CancelCalls(tooMany); err != nil {
		return err
	}
	return c.warnRepeats()
}

// runApproved runs the next call that people have approved, and reports whether there was one.
func (c *caller) runApproved(ctx context.Context) (ran bool, err error) {
	if len(c.State.Approved) == 0 || c.StopReason(ctx) != "" || !c.thinker.canRecord() {
		return false, nil
	}
	pending, err := c.approved(c.State.Approved[0])
	if err != nil {
		return false, err
	}
	if pending.asked.Step != "" { // no hook has seen it
		err := c.beforeCalls(ctx, []pendingCall{pending})
		if err != nil || c.hooked[pending.id].Reason == stoppedInHook { // what has stopped it says what becomes of it
			return true, err
		}
		if !work.Begins(c.Home.Dir, c.Tools.Workspace, c.State, pending.asked.Step) {
			ended := outcomeOf("its plan is held, or gone", nil)
			ended.state = mind.NotStarted
			return true, c.Commit(pending.ends(c.State.Turn+1, ended))
		}
	}
	c.intent = c.intendAsHooked(pending, false)
	if err := c.Commit(pending.begins(c.intent)); err != nil {
		return false, err
	}
	pending.call.Started = true
	_, err = c.run(ctx, []pendingCall{pending})
	return true, err
}

// run runs the calls that have started, in order. c.intent holds the intent of the first one. The result of a call and
// the intent of the next one go into the log together. whole is false if a stop came before the last call.
func (c *caller) run(ctx context.Context, calls []pendingCall) (whole bool, err error) {
	left := c.thinker.BatchChars()
	for i, pending := range calls {
		if !pending.call.Started {
			continue // people are asked first
		}
		if i > 0 {
			c.ReadWishes()
			if c.StopReason(ctx) != "" {
				return false, nil // the others are settled as not started
			}
		}
		c.share = min(left, left/(len(calls)-i)) // a call that showed more than its share takes it from the others
		ended, err := c.runTool(ctx, c.asHooked(pending))
		if err != nil {
			return false, err
		}
		for i, kept := range ended.kept {
			ended.kept[i].Data = shape.Bytes(kept.Data)
		}
		ended.Body = []byte(shape.Text(string(ended.Body))) // before it is cut
		left -= c.fit(&ended)
		records := []part.Record{pending.ends(c.State.Turn+1, ended)}
		if !ended.stopped {
			next, err := c.next(ctx, calls[i+1:], false)
			if err != nil {
				return false, err
			}
			records = append(records, next...)
		}
		if err := c.Commit(records...); err != nil {
			return false, err
		}
		if ended.stopped {
			return false, c.CancelCalls("stopped before this call's turn came.")
		}
	}
	return true, nil
}

// next asks hooks about calls, and returns the records that stand before the next run.
func (c *caller) next(ctx context.Context, calls []pendingCall, sole bool) ([]part.Record, error) {
	if err := c.beforeCalls(ctx, calls); err != nil {
		return nil, err
	}
	return c.intents(calls, sole), nil
}

// warnRepeats tells a model that goes round in circles.
func (c *caller) warnRepeats() error {
	if c.State.Repeats < 3 {
		return nil
	}
	const text = "That was the third identical call in a row with an identical result. " +
		"Try something else, or say what keeps you."
	return c.Commit(part.Noted("repeat", "identical calls", text))
}

// argsOf are the arguments of a call as the model meant them, put back from their escaped form.
func argsOf(c *mind.Call) json.RawMessage { return json.RawMessage(blobs.Unescape(c.Args)) }

// outcome is the end of a call.
type outcome struct {
	tools.Result
	state   string
	file    event.File  // that it has written
	kept    []part.Body // texts that a hook replaced
	stopped bool        // it was cut short by /stop or the end of the daemon, unless it goes on as a job

	withdrawn string   // the question that it has taken back
	show      int      // runes of it that enter the context; 0 for all
	images    []string // that do
}

func outcomeOf(said string, err error) (ended outcome) {
	ended.state = mind.OK
	if err != nil {
		ended.state, said = mind.Failed, err.Error()
	}
	ended.Body = []byte(said)
	return ended
}

// runTool runs the tool of a call, as c.intent has it.
func (c *caller) runTool(ctx context.Context, pending pendingCall) (ended outcome, err error) {
	c.Show(status.Acting, pending.call.Tool)
	run, beside := c.intent.effect.(tools.Run)
	if c.intent.err != nil || !beside {
		// A plan that LIFE has fixed is carried out, even if a stop is asked for meanwhile. Where that cannot be
		// recorded, neither can its result, which ends the run.
		ended = outcomeOf(c.perform(pending.id, c.intent))
		ended.withdrawn, ended.Saw = c.intent.withdraws, c.intent.saw
		c.seen.Look(pending.call.Tool, &ended.Result)
		return ended, nil
	}
	defer c.Screen.Begin(status.Live{})
	ended, err = c.runBeside(ctx, pending, run)
	if err != nil {
		return ended, err
	}
	if !ended.stopped {
		if err := c.afterCall(ctx, pending, &ended); err != nil {
			return ended, err
		}
	}
	return ended, c.keepFiles(&ended.Result)
}

// runBeside runs a tool beside the loop.
func (c *caller) runBeside(ctx context.Context, pending pendingCall, run tools.Run) (ended outcome, err error) {
	with := c.toolCall(pending)
	c.reach.Know(c.known())
	err = c.During(ctx, func(ctx context.Context) {
		ended.Result = run.Do(ctx, with)
		ended.stopped = ctx.Err() != nil
	})
	if ended.Touched != "" {
		if text, err := c.ReadOwn(ended.Touched); err == nil {
			ended.file = mind.Text{Name: ended.Touched, Body: text}.Version()
		}
	}
	c.seen.Look(pending.call.Tool, &ended.Result)
	ended.state = mind.OK
	switch {
	case ended.Job > 0: // it goes on
	case ended.stopped:
		ended.state, ended.file = mind.Interrupted, c.Wrote(pending.id, pending.call.Tool)
		const why = "interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s"
		ended.Body = fmt.Appendf(nil, why, ended.Body)
	case ended.Err:
		ended.state = mind.Failed
	}
	return ended, err
}

// toolCall is a call as its tool gets it.
func (c *caller) toolCall(pending pendingCall) tools.Call {
	call := tools.Call{
		ID: pending.id, Name: pending.call.Tool, Life: c.ID.Self, Job: c.State.LastJob + 1, JobRoom: c.State.TurnRoom(),
		Output: c.Screen.Output(pending.id), Most: max(minPage, min(compactor.MaxResult, c.share)),
	}
	if pending.approval != nil {
		call.JobRoom = pending.approval.Room
	}
	if c.State.Task != nil { // it keeps output in its parent's workspace
		call.ID = c.ID.Name + "." + pending.id
	}
	return call
}

// keepFiles stores the files that a call has returned, and names them below its text. The first picture is shown.
func (c *caller) keepFiles(result *tools.Result) error {
	for _, file := range result.Files {
		ref, err := c.Put(blobs.Meta{Gist: file.About()}, shape.Bytes(file.Data))
		if err != nil {
			return err
		}
		if result.Picture == nil && len(picture.Named("", file.Data)) > 0 {
			result.Picture, result.Opened = file.Data, ref.Hash.String()
		}
		result.Body = fmt.Appendf(result.Body, "\n[file: hash=%s %s, %d bytes]", ref.Short, file.About(), len(file.Data))
	}
	return nil
}

// fit cuts an outcome to the share of its call in the context, and returns the weight of the rest.
func (c *caller) fit(ended *outcome) (weight int) {
	text, show := mind.Result(ended.Body), 0
	if !ended.Bounded {
		gist := string(ended.Body[:min(len(ended.Body), 1000)])
		show = mind.Fit(text, gist, compactor.MaxResult, c.share, llm.Weight)
	}
	weight = llm.Weight(text)
	if show > 0 {
		weight = max(0, min(compactor.MaxResult, c.share))
	}
	if show < len(ended.Body) {
		ended.show = show
	}
	if ended.Picture != nil && c.share >= message.WeightPicture {
		weight += message.WeightPicture
		ended.images = picture.Named(ended.Opened, ended.Picture)
	}
	return weight
}

// finishPending records results for calls that were cut short. No call begins twice.
func (c *caller) finishPending() error {
	pending, begun, err := c.begun()
	if begun {
		err = c.Commit(pending.ends(c.State.Turn+1, c.cutShort(pending)))
	}
	if err != nil {
		return err
	}
	return c.CancelCalls("the daemon stopped before this call's turn came. Call again if it is still needed.")
}

// begun returns the call that was under way when the daemon died, if one was.
func (c *caller) begun() (pending pendingCall, begun bool, err error) {
	if calls := c.ofReply(); len(calls) > 0 {
		return calls[0], calls[0].call.Started, nil
	}
	if all := c.State.Approved; len(all) > 0 && all[0].Began {
		pending, err = c.approved(all[0])
		return pending, err == nil, err
	}
	return pending, false, nil
}

// known copies all that a call may know.
func (c *caller) known() lookup.Known {
	known := lookup.Known{
		Rooms: c.Joined(), Company: c.Company(), Audience: c.State.Readers,
		Granted: maps.Clone(c.State.Grants), Spoken: c.State.Spoken,
		Summaries: map[blobs.Hash]bool{}, Overtaken: maps.Clone(c.State.Overtaken),
		Inheritance: c.State.Inheritance,
		Page:        max(minPage, min(c.thinker.estimate.Chars(c.thinker.window().Page()), c.share)),
	}
	if t := c.State.Task; t != nil {
		known.Work = t.Room
	}
	for _, r := range c.State.Faded {
		known.Summaries[r.Original.Hash] = r.Level == mind.Summary
	}
	return known
}
