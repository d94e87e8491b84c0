package agent

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/mind"
)

// show has others see where the identity stands, in its status.json.
func (a *Agent) show(state, tool string) {
	usage, params := a.state.Usage, a.state.Stable.Params
	since := a.shown.Since
	if a.shown.State != state || a.shown.Tool != tool {
		since = time.Now().UTC()
	}
	a.shown = status.Status{
		Name: a.id.Name, Self: a.id.Self, PID: os.Getpid(), State: state, Since: since, Tool: tool,
		Rooms: a.joined(), Heard: map[string]int64{},
		Turn: a.state.Turn, Model: params.Model, Endpoint: params.Endpoint, Offline: a.cfg.Offline,
		Error:         cmp.Or(a.state.Paused, a.outage.waitsFor()),
		Compacting:    a.forgetting.job != nil || a.forgetting.requested,
		ContextTokens: a.contextTokens(), ContextAnswer: params.MaxTokens, ContextLimit: a.limit(),
		InputTokens: usage.Input, CachedTokens: usage.Cached, OutputTokens: usage.Output, CostUSD: usage.USD,
		Beside: status.Beside{
			Trouble: a.trouble(), Warnings: a.cfg.Warnings, SilentSince: a.silence(), Triggers: a.triggers.Status(), Budget: a.wallet.Shown(a.id.Name, a.cfg.Zone),
			Children: len(a.state.Working()), Questions: a.questions(), Jobs: a.runningJobs(),
		},
	}
	if a.busy() && a.state.Paused == "" { // paused, no turn is under way
		a.shown.Answering = a.audience()
	}
	for _, p := range a.state.Outbox { // what waits for it is not posted yet
		if !slices.Contains(a.shown.Answering, p.Room) {
			a.shown.Answering = append(a.shown.Answering, p.Room)
		}
	}
	for _, room := range a.shown.Rooms { // which may have been deleted since
		a.shown.Heard[room] = min(a.cursor(room).Offset, a.io(room).size)
	}
	a.screen.Show(a.shown)
}

// showResting tells where the identity stands between turns; when it returns, others see it.
func (a *Agent) showResting() {
	defer a.screen.Flush()
	switch {
	case a.state.Paused != "":
		a.show(status.Paused, "")
	case a.busy():
		a.show(status.Thinking, "")
	default:
		a.show(status.Idle, "")
	}
}

// showEnd leaves the last word on the screen.
func (a *Agent) showEnd(err error) {
	a.show(status.Stopped, "")
	if err != nil {
		a.shown.Error = err.Error()
		a.screen.Show(a.shown)
	}
	a.screen.Flush()
}

// streamed is what has come of an answer that is not whole yet.
type streamed struct{ reasoning, text strings.Builder }

// stream returns what takes the pieces of a reply as they stream, from the goroutine
// of the call. What has come by the end of its context stays in a.call.
func (a *Agent) stream() func(context.Context, llm.Delta) {
	call, view, got := &a.call, a.screen, &a.call.streamed
	*got = streamed{}
	view.Begin(status.Live{Entry: mind.EntryID(a.state.Next)})
	return func(ctx context.Context, d llm.Delta) {
		switch {
		case !d.Reset:
			call.piece()
		case ctx.Err() != nil:
			return
		default:
			*got = streamed{}
		}
		got.reasoning.WriteString(d.Reasoning)
		got.text.WriteString(d.Text)
		text := got.text.String()
		if strings.HasPrefix(mind.Nothing, strings.TrimSpace(text)) { // it may be no more than that
			text = ""
		}
		view.Live(func(now *status.Live) bool {
			now.Thinking, now.Text = got.reasoning.String(), text
			return true
		})
	}
}
