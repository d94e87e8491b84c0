package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/blobs"
)

// show has others see where the identity stands, in its status.json.
func (a *Agent) show(state, tool string) {
	life := a.view.State
	usage, params := life.Usage, life.Stable.Params
	since := a.shown.Since
	if a.shown.State != state || a.shown.Tool != tool {
		since = time.Now().UTC()
	}
	a.shown = status.Status{
		Name: a.view.ID.Name, Self: a.view.ID.Self, PID: os.Getpid(), State: state, Since: since, Tool: tool,
		Rooms: a.view.Joined(), Heard: a.listener.Heard(), Workspace: a.view.Tools.Workspace,
		Turn: life.Turn, Model: params.Model, Endpoint: params.Endpoint, Offline: a.cfg.Offline,
		Error:         cmp.Or(life.Paused, a.thinker.outage.waitsFor()),
		Compacting:    a.forgetter.job != nil || a.forgetter.requested,
		ContextTokens: a.thinker.contextTokens(), ContextAnswer: params.MaxTokens, ContextLimit: a.thinker.limit(),
		InputTokens: usage.Input, CachedTokens: usage.Cached, OutputTokens: usage.Output, CostUSD: usage.USD,
		Beside: status.Beside{
			Audience: life.Readers,
			Trouble:  a.trouble(), Warnings: a.cfg.Warnings, SilentSince: a.thinker.silence(),
			Triggers: a.listener.Triggers.Status(), Budget: a.thinker.wallet.Shown(a.view.ID.Name, a.view.Zone),
			Children: len(life.Working()), Questions: a.questions(), Jobs: a.runningJobs(),
		},
	}
	if a.view.Busy() && life.Paused == "" { // paused, no turn is under way
		a.shown.Answering = a.view.Audience()
	}
	for _, p := range life.Outbox { // what waits for it is not posted yet
		if !slices.Contains(a.shown.Answering, p.Room) {
			a.shown.Answering = append(a.shown.Answering, p.Room)
		}
	}
	a.view.Screen.Show(a.shown)
}

// showResting shows the state of the identity between turns; when it returns, others see it.
func (a *Agent) showResting() {
	defer a.view.Screen.Flush()
	switch {
	case a.view.State.Paused != "":
		a.show(status.Paused, "")
	case a.view.Busy():
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
		a.view.Screen.Show(a.shown)
	}
	a.view.Screen.Flush()
}

// trouble says in a line each what is wrong with rooms and models, for people.
func (a *Agent) trouble() []string {
	out := append(a.outbox.Trouble(), a.listener.Trouble()...)
	state := a.view.State
	if state.Away != "" {
		out = append(out, fmt.Sprintf("the model %s does not answer, another one stands in for it", state.Away))
	}
	if state.Short {
		out = append(out, fmt.Sprintf("the server of %s drops what is beyond %d tokens: give it a larger window",
			state.Stable.Params.Model, state.Window))
	}
	slices.Sort(out)
	return out
}

// statusLine answers /status.
func (a *Agent) statusLine() string {
	a.show(a.shown.State, a.shown.Tool)
	cost := llm.Dollars(a.shown.Model, a.shown.CostUSD)
	return a.shown.Said(a.view.State.Paused != "", a.view.Busy(), cost, time.Now().In(a.view.Zone))
}

// runningJobs shows them to screens.
func (a *Agent) runningJobs() (out []status.Job) {
	for _, s := range a.view.Tools.Running() {
		out = append(out, status.Job{ID: s.ID, Command: blobs.Gist(s.Command), Began: s.Began.UTC()})
	}
	return out
}

// questions are the open questions to people, for the status.
func (a *Agent) questions() (out []status.Question) {
	for _, q := range a.view.State.Questions {
		out = append(out, status.Question{Question: q.Question, Room: q.Room, Asked: q.Asked})
	}
	return out
}
