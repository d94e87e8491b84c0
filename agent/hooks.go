package agent

import (
	"bytes"
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
	c.Home.Repair(c.Log, c.hooks.Dir, hook.Turn, hook.Call, hook.Result, hook.Reply)
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
	unit := c.State.Unit()
	begun := unit != nil && len(unit.Calls) > 0
	if begun || !c.hooks.Has(hook.Turn) {
		return false, nil
	}
	var said []string
	last := c.hookedThrough
	for _, entry := range c.State.Live {
		switch {
		case entry.Final() || entry.Ref.Gist == turnGist: // also of another run of the identity
			said = nil
		case entry.N > c.hookedThrough && entry.Kind == mind.Inbound:
			said, last = append(said, blobs.Unescape(entry.Text)), entry.N
		}
	}
	if len(said) == 0 {
		return false, nil
	}
	answer, _, err := c.consult(ctx, hook.Input{Event: hook.Turn, Prompt: strings.Join(said, "\n")})
	c.hookedThrough = last
	if err == nil && answer.Context != "" {
		err = c.Commit(part.Noted("hook", turnGist, answer.Context))
	}
	return true, err
}

const stoppedInHook = "stopped before a hook had answered"

// beforeCalls lets hooks look at the next calls: up to the first that does not wait for people.
func (c *caller) beforeCalls(ctx context.Context, calls []pendingCall) error {
	c.hooked = nil
	if !c.hooks.Has(hook.Call) {
		return nil
	}
	c.hooked = map[string]hook.Answer{}
	for _, pending := range calls {
		asked := hook.Input{Event: hook.Call, ToolName: pending.call.Tool, ToolInput: argsOf(pending.call)}
		answer, stopped, err := c.consult(ctx, asked)
		if err != nil {
			return err
		}
		if stopped {
			answer = hook.Answer{Deny: true, Reason: stoppedInHook}
		}
		c.hooked[pending.id] = answer
		if !c.waits(pending) {
			return nil
		}
	}
	return nil
}

// asHooked returns a call with the arguments that a hook has put in the place of its own. A second time it changes
// nothing.
func (c *caller) asHooked(pending pendingCall) pendingCall {
	said := c.hooked[pending.id]
	if said.Input == nil || pending.call.Original != "" {
		return pending
	}
	call := *pending.call
	call.Args = blobs.Escape(string(said.Input))
	pending.call = &call
	return pending
}

// intendAsHooked is intend for a call that hooks may have looked at: pending is as they left it.
func (c *caller) intendAsHooked(pending pendingCall, sole bool) (in intent) {
	answer, asked := c.hooked[pending.id]
	if !asked {
		return c.intend(pending, sole)
	}
	if answer.Deny {
		return intent{err: errors.New("not run: " + answer.Reason)}
	}
	effect, err := c.Tools.Intent(pending.call.Tool, argsOf(pending.call))
	_, beside := effect.(tools.Run)
	_, changes := effect.(*tools.Change)
	fixed := err == nil && !beside && !changes
	if fixed && answer.Input != nil {
		const refusal = "not done: a hook would replace the arguments, and of this tool it can only refuse a call"
		return intent{err: errors.New(refusal)}
	}
	in = c.intend(pending, sole)
	in.replaced, in.context = string(answer.Input), answer.Context
	return in
}

// afterCall lets hooks replace the text that a call returned, and add to it. The original is kept.
func (c *caller) afterCall(ctx context.Context, pending pendingCall, ended *outcome) error {
	answer, stopped, err := c.consult(ctx, hook.Input{
		Event: hook.Result, ToolName: pending.call.Tool, ToolInput: argsOf(pending.call), ToolOutput: string(ended.Body),
	})
	if err != nil {
		return err
	}
	if stopped {
		answer.Output = "stopped before a hook had answered"
	}
	returned := answer.Returned(ended.Body, c.intent.replaced, c.intent.context)
	if !bytes.Equal(returned, ended.Body) {
		ended.kept = []part.Body{{Gist: "the result of " + pending.call.Tool + " that a hook replaced", Data: ended.Body}}
	}
	ended.Body = returned
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
