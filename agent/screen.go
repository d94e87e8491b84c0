package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"lethe/agent/llm"
	"lethe/agent/status"
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
		Error:         cmp.Or(a.state.Paused, a.thinker.outage.waitsFor()),
		Compacting:    a.forgetter.job != nil || a.forgetter.requested,
		ContextTokens: a.thinker.contextTokens(), ContextAnswer: params.MaxTokens, ContextLimit: a.thinker.limit(),
		InputTokens: usage.Input, CachedTokens: usage.Cached, OutputTokens: usage.Output, CostUSD: usage.USD,
		Beside: status.Beside{
			Trouble: a.trouble(), Warnings: a.cfg.Warnings, SilentSince: a.thinker.silence(),
			Triggers: a.listener.triggers.Status(), Budget: a.thinker.wallet.Shown(a.id.Name, a.cfg.Zone),
			Children: len(a.state.Working()), Questions: a.questions(), Jobs: a.caller.runningJobs(),
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
		a.shown.Heard[room] = min(a.listener.cursor(room).Offset, a.listener.progress(room).size)
	}
	a.screen.Show(a.shown)
}

// showResting shows the state of the identity between turns; when it returns, others see it.
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

// trouble says in a line each what is wrong with rooms, for people.
func (a *Agent) trouble() []string {
	var out []string
	for room, closed := range a.outbox.closed {
		out = append(out, fmt.Sprintf("room %s cannot be written, and lines wait: %s", room, closed.why))
	}
	for room, progress := range a.listener.rooms {
		if progress.unreadable != "" {
			out = append(out, fmt.Sprintf("room %s cannot be read: %s", room, progress.unreadable))
		}
	}
	for _, t := range a.listener.triggers.Status() {
		if t.Error != "" {
			out = append(out, fmt.Sprintf("trigger %s: %s", t.Name, t.Error))
		}
	}
	if wanted := a.state.Away; wanted != "" {
		out = append(out, fmt.Sprintf("the model %s does not answer, another one stands in for it", wanted))
	}
	slices.Sort(out)
	return out
}

// statusLine answers /status.
func (a *Agent) statusLine() string {
	a.show(a.shown.State, a.shown.Tool)
	cost := llm.Dollars(a.shown.Model, a.shown.CostUSD)
	return a.shown.Said(a.state.Paused != "", a.busy(), cost, time.Now().In(a.cfg.Zone))
}

// questions are the open questions to people, for the status.
func (a *Agent) questions() (out []status.Question) {
	for _, q := range a.state.Questions {
		out = append(out, status.Question{Question: q.Question, Room: q.Room, Asked: q.Asked})
	}
	return out
}
