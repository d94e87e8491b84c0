package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"lethe/blobs"
	"lethe/compactor"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// maxCalls is how many calls of one reply are run.
const maxCalls = 64

// act runs the calls of the newest reply, in order. The result of one and the
// intent of the next go into the log together.
func (a *Agent) act(ctx context.Context) error {
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	tooMany := fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls)
	if !pending[0].Call.Started { // people are asked about all the others
		return a.commit(a.notStarted(pending, tooMany)...)
	}
	left, most := a.batchChars(), min(len(pending), maxCalls)
	for i, p := range pending[:most] {
		if p.Call.Status != "" {
			continue // people are asked first
		}
		if i > 0 {
			a.readWishes()
		}
		if i > 0 && a.stopReason(ctx) != "" {
			return nil // the others are settled as not started
		}
		a.call.share = min(left, left/(most-i)) // what was shown beyond a share is taken from the others
		call := tools.Call{ID: p.ID(), Name: p.Call.Tool, JobRoom: a.state.TurnRoom()}
		withdrawn := a.call.intent.withdraws
		res, stopped, err := a.runTool(ctx, a.call.intent, call)
		if err != nil {
			return err
		}
		state := mind.OK
		switch {
		case res.Job > 0: // it goes on, whatever has stopped the turn
		case stopped:
			state = mind.Interrupted
			res.Body = fmt.Appendf(
				nil,
				"interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s",
				res.Body,
			)
		case res.Err:
			state = mind.Failed
		}
		show, weight := a.showing(res)
		left -= weight
		result := event.Result{Status: state, Opened: res.Opened, Withdrawn: withdrawn, Job: res.Job}
		if show < len(res.Body) {
			result.Show, result.Places = show, show > 0
		}
		result.File = a.touched(res)
		if stopped {
			result.File = a.wrote(p)
		}
		records := []record{a.result(p, result, res.Body)}
		if stopped {
			records = append(records, a.notStarted(pending[i+1:], "stopped before this call's turn came.")...)
		} else {
			intents, begun := a.intents(pending[i+1:most], false)
			if records = append(records, intents...); !begun {
				records = append(records, a.notStarted(pending[most:], tooMany)...)
			}
		}
		if err := a.commit(records...); err != nil {
			return err
		}
		if stopped {
			return nil
		}
	}
	return a.warnRepeats()
}

// warnRepeats tells a model that goes round in circles.
func (a *Agent) warnRepeats() error {
	if a.state.Repeats < 3 {
		return nil
	}
	text := "That was the third identical call in a row with an identical result. Try something else, or say what keeps you."
	return a.commit(a.note(event.Note{Why: "repeat"}, "identical calls", text))
}

// touched is the version of an own file that a tool has written.
func (a *Agent) touched(res tools.Result) (f event.File) {
	if res.Touched != "" {
		if text, err := a.readOwn(res.Touched); err == nil {
			f = mind.Text{Name: res.Touched, Body: text}.Version()
		}
	}
	return f
}

// argsOf are the arguments of a call as the model meant them, put back from their escaped form.
func argsOf(c *mind.Call) json.RawMessage { return json.RawMessage(blobs.Unescape(c.Args)) }

// runTool runs one tool. stopped says that it was cut short by /stop or the end of the daemon.
func (a *Agent) runTool(ctx context.Context, in intent, c tools.Call) (res tools.Result, stopped bool, err error) {
	a.show(status.Acting, c.Name)
	run, beside := in.effect.(tools.Run)
	if in.err != nil || !beside {
		// What its intent has fixed happens, even if a stop is asked for meanwhile. Where that cannot be
		// recorded, neither can its result, which ends the run.
		said, err := a.perform(c.ID, in)
		if err != nil {
			said = err.Error()
		}
		return tools.Result{Body: []byte(said), Err: err != nil}, false, nil
	}
	c.Job, c.Most = a.state.LastJob+1, max(minPage, min(compactor.MaxResult, a.call.share))
	c.Output = a.view.Output(c.ID)
	defer a.view.Begin(status.Live{})
	began := time.Now().Add(-durable.ClockStep)
	if a.state.Task != nil { // what it keeps of its output, it keeps in its parent's workspace
		c.ID = a.id.Name + "." + c.ID
	}
	a.aside.now.Store(a.known())
	err = a.during(ctx, func(ctx context.Context) {
		res = run.Do(ctx, c)
		stopped = ctx.Err() != nil
	})
	if res.Job == 0 { // what a job puts into a drop is a letter
		a.triggers.Called(began)
	}
	return res, stopped, err
}

// showing decides how many runes of a result enter the context, 0 for all, and
// what those weigh.
func (a *Agent) showing(r tools.Result) (show, weight int) {
	text := mind.Result(r.Body)
	if !r.Bounded {
		show = fit(text, string(r.Body[:min(len(r.Body), 1000)]), compactor.MaxResult, a.call.share)
	}
	if show > 0 {
		return show, max(0, min(compactor.MaxResult, a.call.share))
	}
	return 0, llm.Weight(text)
}

// result records the result of a call.
func (a *Agent) result(p mind.Pending, e event.Result, out []byte) record {
	e.ID, e.Tool = p.ID(), p.Call.Tool
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", a.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return record{Event: e, Texts: []body{{Gist: gist, Data: out}}}
}
