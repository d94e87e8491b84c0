package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"lethe/blobs"
	"lethe/compactor"
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
	left, most := a.batchChars(), min(len(pending), maxCalls)
	for i, p := range pending[:most] {
		if i > 0 && a.stopReason(ctx) != "" {
			return nil // the others are settled as not started
		}
		a.call.share = left / (most - i)
		res, stopped, err := a.runTool(ctx, p)
		if err != nil {
			return err
		}
		state := mind.OK
		switch {
		case stopped:
			state = mind.Interrupted
			res.Body = fmt.Appendf(nil, "interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s", res.Body)
		case res.Err:
			state = mind.Failed
		}
		show, weight := a.showing(p.Call.Tool, res.Body)
		left -= weight
		result := event.Result{Status: state, Opened: a.call.opened}
		a.call.opened = ""
		if show < len(res.Body) {
			result.Show = show
		}
		if res.Touched != "" {
			if text, err := a.files.read(res.Touched); err == nil {
				result.File = event.File{Name: res.Touched, Hash: digest(text)}
			}
		}
		records := []record{a.result(p, result, res.Body)}
		switch {
		case stopped:
			records = append(records, a.notStarted(pending[i+1:], "stopped before this call's turn came.")...)
		case i+1 < most:
			records = append(records, a.intent(pending[i+1]))
		default:
			records = append(records, a.notStarted(pending[most:], fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls))...)
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

// runTool runs one tool. What a model wrote is put back from its escaped form
// first. stopped says that it was cut short by /stop or the end of the daemon.
func (a *Agent) runTool(ctx context.Context, p mind.Pending) (res tools.Result, stopped bool, err error) {
	if p.Call.Original != "" {
		return tools.Result{Err: true, Body: []byte("the arguments are not one JSON object. Call " + p.Call.Tool + " again with an object like {\"key\":\"value\"}, with newlines and quotes inside strings escaped.")}, false, nil
	}
	c := tools.Call{ID: p.ID(), Name: p.Call.Tool, Args: json.RawMessage(blobs.Unescape(p.Call.Args))}
	a.show(status.Acting, p.Call.Tool)
	if a.immediate(c.Name) {
		// What its intent has fixed happens, even if a stop is asked for meanwhile.
		res = a.tools.Run(context.WithoutCancel(ctx), c)
		return res, false, a.log.broken
	}
	a.call.granted = maps.Clone(a.state.Grants)
	err = a.during(ctx, func(ctx context.Context) {
		res = a.tools.Run(ctx, c)
		stopped = ctx.Err() != nil
	})
	return res, stopped, err
}

// immediate tools change the identity's own state, so they run on its goroutine. All
// others run beside it and must not touch the state: add a tool that does here.
func (a *Agent) immediate(tool string) bool {
	switch tool {
	case "SAY", "JOIN", "LEAVE", "UNCOMPACT", "COMPACT":
		return true
	}
	return false
}

// showing decides how many runes of a result enter the context, 0 for all, and
// what those weigh.
func (a *Agent) showing(tool string, out []byte) (show, weight int) {
	text := mind.Result(out, 0, mind.Ref{})
	if !a.paged(tool) {
		show = fit(text, string(out[:min(len(out), 1000)]), compactor.MaxResult, a.call.share)
	}
	if show > 0 {
		return show, min(compactor.MaxResult, a.call.share)
	}
	return 0, llm.Weight(text)
}

// paged tools bound their own results, by a.call.share.
func (a *Agent) paged(tool string) bool { return tool == "UNCOMPACT" }
