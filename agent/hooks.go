package agent

import (
	"context"
	"errors"
	"strings"

	"lethe/agent/hook"
	"lethe/agent/part"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/mind"
)

// Hooks are people's own programs. What they say is recorded before it is used.

// consult asks the hooks of an event, and listens for commands meanwhile. stopped says that they were stopped before
// they had answered.
func (c *caller) consult(ctx context.Context, in hook.Input) (answer hook.Answer, stopped bool, err error) {
	if !c.hooks.Has(in.Event) {
		return answer, false, nil
	}
	c.Show(status.Acting, "hook "+in.Event)
	in.SessionID, in.Identity, in.CWD = c.ID.Self, c.ID.Name, c.Tools.Workspace
	in.ToolInput = tools.Folded(in.ToolInput)
	err = c.During(ctx, func(ctx context.Context) {
		answer = c.hooks.Run(ctx, in)
		stopped = ctx.Err() != nil
	})
	for _, w := range answer.Warnings {
		c.Log.Warn(w)
	}
	return answer, stopped, err
}

const turnGist = "what hooks say of this turn"

// beginTurn lets hooks add to the lines that were heard since the last final answer. ran is false if they already have.
func (c *caller) beginTurn(ctx context.Context) (ran bool, err error) {
	var said []string
	last := c.hookedThrough
	for _, e := range c.State.Live {
		switch {
		case e.Final() || e.Ref.Gist == turnGist: // also of another run of the identity
			said = nil
		case e.N > c.hookedThrough && e.Kind == mind.Inbound:
			said, last = append(said, blobs.Unescape(e.Text)), e.N
		}
	}
	unit := c.State.Unit()
	begun := unit != nil && len(unit.Calls) > 0
	if begun || len(said) == 0 {
		return false, nil
	}
	if !c.hooks.Has(hook.Turn) {
		return false, nil
	}
	answer, _, err := c.consult(ctx, hook.Input{Event: hook.Turn, Prompt: strings.Join(said, "\n")})
	c.hookedThrough = last
	if err == nil && answer.Context != "" {
		err = c.Commit(part.Noted("hook", turnGist, answer.Context))
	}
	return true, err
}

// beforeCalls lets hooks look at the next calls: up to the first that does not wait for people.
func (c *caller) beforeCalls(ctx context.Context, calls []pending) error {
	c.hooked = nil
	if !c.hooks.Has(hook.Call) {
		return nil
	}
	c.hooked = map[string]hook.Answer{}
	for _, p := range calls {
		asked := hook.Input{Event: hook.Call, ToolName: p.call.Tool, ToolInput: argsOf(p.call)}
		answer, stopped, err := c.consult(ctx, asked)
		if err != nil {
			return err
		}
		if stopped {
			answer = hook.Answer{Deny: true, Reason: "stopped before a hook had answered"}
		}
		c.hooked[p.id] = answer
		if !c.waits(p) {
			return nil
		}
	}
	return nil
}

// asHooked is a call as hooks left it.
func (c *caller) asHooked(p pending) pending {
	said := c.hooked[p.id]
	if said.Input == nil || p.call.Original != "" {
		return p
	}
	call := *p.call
	call.Args = blobs.Escape(string(said.Input))
	p.call = &call
	return p
}

// intendAsHooked is intend for a call that hooks may have looked at: p is as they left it.
func (c *caller) intendAsHooked(p pending, sole bool) (in intent) {
	answer, asked := c.hooked[p.id]
	if !asked {
		return c.intend(p, sole)
	}
	if answer.Deny {
		return intent{err: errors.New("not run: " + answer.Reason)}
	}
	effect, err := c.Tools.Intent(p.call.Tool, argsOf(p.call))
	_, beside := effect.(tools.Run)
	fixed := err == nil && !beside
	if fixed && answer.Input != nil {
		const refusal = "not done: a hook would replace the arguments, and of this tool it can only refuse a call"
		return intent{err: errors.New(refusal)}
	}
	in = c.intend(p, sole)
	in.replaced, in.context = string(answer.Input), answer.Context
	return in
}

// afterCall lets hooks replace the text that a call returned, and add to it. The original is kept.
func (c *caller) afterCall(ctx context.Context, p pending, o *outcome) error {
	answer, stopped, err := c.consult(ctx, hook.Input{
		Event: hook.Result, ToolName: p.call.Tool, ToolInput: argsOf(p.call), ToolOutput: string(o.Body),
	})
	if err != nil {
		return err
	}
	if stopped {
		answer.Output = "stopped before a hook had answered"
	}
	if answer.Output != "" {
		o.kept = []part.Body{{Gist: "the result of " + p.call.Tool + " that a hook replaced", Data: o.Body}}
	}
	o.Body = answer.Returned(o.Body, c.intent.replaced, c.intent.context)
	return nil
}

// writeDown has one recording transcribed and notes its text. due is false without a recording.
func (c *caller) writeDown(ctx context.Context) (due bool, err error) {
	if c.cfg.Tools.Transcribe == "" {
		return false, nil
	}
	c.reach.Know(c.known())
	gist, recording := c.reach.Recording(c.State.Live)
	if gist == "" {
		return false, nil
	}
	said := ""
	err = c.During(ctx, func(ctx context.Context) { said = c.Tools.WriteDown(ctx, recording) })
	if err == nil && said != "" {
		err = c.Commit(part.Noted("recording", gist, gist+": "+said))
	}
	return true, err
}
