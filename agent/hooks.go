package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"lethe/agent/hook"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/mind"
)

// Hooks are people's own programs. What they say is recorded before it is used.

// consult has the hooks of an event say what they want, and listens for commands meanwhile. stopped says that they were
// stopped before they had.
func (a *Agent) consult(ctx context.Context, in hook.Input) (answer hook.Answer, stopped bool, err error) {
	if !a.hooks.Has(in.Event) {
		return answer, false, nil
	}
	a.show(status.Acting, "hook "+in.Event)
	in.SessionID, in.Identity, in.CWD = a.id.Self, a.id.Name, a.tools.Workspace
	in.ToolInput = tools.Folded(in.ToolInput)
	err = a.during(ctx, func(ctx context.Context) {
		answer = a.hooks.Run(ctx, in)
		stopped = ctx.Err() != nil
	})
	for _, w := range answer.Warnings {
		a.cfg.Log.Warn(w)
	}
	return answer, stopped, err
}

const turnGist = "what hooks say of this turn"

// beginTurn lets hooks add to what was heard since the last final answer. ran is false where they already have.
func (a *Agent) beginTurn(ctx context.Context) (ran bool, err error) {
	var said []string
	last := a.hookedThrough
	for _, e := range a.state.Live {
		switch {
		case e.Final() || e.Ref.Gist == turnGist: // also of another run of the identity
			said = nil
		case e.N > a.hookedThrough && e.Kind == mind.Inbound:
			said, last = append(said, blobs.Unescape(e.Text)), e.N
		}
	}
	if u := a.state.Unit(); len(said) == 0 || u != nil && len(u.Calls) > 0 || !a.hooks.Has(hook.Turn) {
		return false, nil
	}
	answer, _, err := a.consult(ctx, hook.Input{Event: hook.Turn, Prompt: strings.Join(said, "\n")})
	if a.hookedThrough = last; err == nil && answer.Context != "" {
		err = a.commit(noted("hook", turnGist, answer.Context))
	}
	return true, err
}

// beforeCalls lets hooks look at the calls that come next: those that wait for people, and the first that does not.
func (a *Agent) beforeCalls(ctx context.Context, pending []mind.Pending) error {
	a.call.hooked = nil
	if !a.hooks.Has(hook.Call) {
		return nil
	}
	a.call.hooked = map[string]hook.Answer{}
	for _, p := range pending {
		answer, stopped, err := a.consult(ctx, hook.Input{Event: hook.Call, ToolName: p.Call.Tool, ToolInput: argsOf(p.Call)})
		if err != nil {
			return err
		}
		if stopped {
			answer = hook.Answer{Deny: true, Reason: "stopped before a hook had answered"}
		}
		a.call.hooked[p.ID()] = answer
		if !a.waits(p) {
			return nil
		}
	}
	return nil
}

// asHooked is a call as hooks left it.
func (a *Agent) asHooked(p mind.Pending) *mind.Call {
	said := a.call.hooked[p.ID()]
	if said.Input == nil || p.Call.Original != "" {
		return p.Call
	}
	c := *p.Call
	c.Args = blobs.Escape(string(said.Input))
	return &c
}

// intendAsHooked is intend for a call that hooks have looked at: c is as they left it.
func (a *Agent) intendAsHooked(p mind.Pending, c *mind.Call, sole bool) (in intent) {
	answer, asked := a.call.hooked[p.ID()]
	if !asked {
		return a.intend(p.ID(), c, sole)
	}
	effect, err := a.tools.Intent(c.Tool, argsOf(c))
	_, beside := effect.(tools.Run)
	switch {
	case answer.Deny:
		return intent{err: errors.New("not run: " + answer.Reason)}
	case err == nil && answer.Input != nil && !beside:
		return intent{err: errors.New("not done: a hook would replace the arguments, and of this tool it can only refuse a call")}
	}
	in = a.intend(p.ID(), c, sole)
	in.replaced, in.context = string(answer.Input), answer.Context
	return in
}

// afterCall lets hooks replace what a call returned, and add to it. What it was is kept.
func (a *Agent) afterCall(ctx context.Context, in intent, tool string, args json.RawMessage, o *outcome) error {
	answer, stopped, err := a.consult(ctx, hook.Input{
		Event: hook.Result, ToolName: tool, ToolInput: args, ToolOutput: string(o.Body),
	})
	if err != nil {
		return err
	}
	if stopped {
		answer.Output = "stopped before a hook had answered"
	}
	if answer.Output != "" {
		o.kept = []body{{Gist: "the result of " + tool + " that a hook replaced", Data: o.Body}}
	}
	o.Body = answer.Returned(o.Body, in.replaced, in.context)
	return nil
}
