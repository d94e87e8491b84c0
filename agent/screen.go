package agent

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/chat"
	"lethe/internal/status"
	"lethe/llm"
)

// screen is what others see of a running identity: status.json and live.md.
// Nothing depends on it, so its failures are passed over.
type screen struct {
	state  string
	tool   string
	since  time.Time
	shown  status.Status
	failed bool // the last one could not be written
}

// livePace bounds how often the streaming text is written: more is not seen.
const livePace = 100 * time.Millisecond

func (s *screen) set(a *Agent, state, tool string) {
	if s.state != state || s.tool != tool {
		s.state, s.tool, s.since = state, tool, time.Now().UTC()
	}
	now := status.Status{
		Name: a.id.Name, Self: a.id.Self, PID: os.Getpid(), State: s.state, Since: s.since, Tool: s.tool, SilentSince: a.call.silentSince,
		Rooms: a.joined(), Heard: map[string]int64{},
		Turn: a.state.Turn, Model: a.state.Stable.Params.Model, Endpoint: a.state.Stable.Params.Endpoint, Offline: a.cfg.Offline,
		Error:         a.state.Paused,
		Trouble:       a.trouble(),
		Warnings:      a.cfg.Warnings,
		Compacting:    a.forgetting.job != nil || a.forgetting.requestedBy != "",
		ContextTokens: a.contextTokens(), ContextLimit: a.limit(),
		InputTokens: a.state.Usage.Input, CachedTokens: a.state.Usage.Cached, OutputTokens: a.state.Usage.Output, CostUSD: a.state.Usage.USD,
	}
	if err := a.outage.noSpace; err != nil && now.Error == "" {
		now.Error = err.Error()
	}
	if a.busy() && a.state.Paused == "" { // paused, no turn is under way
		now.Answering = a.audience()
	}
	for _, p := range a.state.Outbox { // what waits for it is not posted yet
		if !slices.Contains(now.Answering, p.Room) {
			now.Answering = append(now.Answering, p.Room)
		}
	}
	for _, room := range now.Rooms {
		now.Heard[room] = a.cursor(room).Offset
		if _, size, err := chat.End(a.path(room)); err == nil { // the room may have been deleted since
			now.Heard[room] = min(now.Heard[room], size)
		}
	}
	s.shown = now
	err := status.Write(a.id.Dir, now)
	if err != nil && !s.failed {
		a.cfg.Log.Warn("the status cannot be written; everything else goes on", "error", err)
	}
	s.failed = err != nil
}

// show tells where the identity stands between turns.
func (a *Agent) show() {
	state := status.Idle
	switch {
	case a.state.Paused != "":
		state = status.Paused
	case a.busy():
		state = status.Thinking
	}
	a.screen.set(a, state, "")
}

// idle brings the views up to date when nothing is due.
func (a *Agent) idle() error {
	if a.files.shown != a.viewMark() {
		if err := a.writeContext(); err != nil {
			return err
		}
	}
	a.show()
	return nil
}

// streamed is what has come of an answer that is not whole yet.
type streamed struct{ reasoning, text strings.Builder }

// delta returns what takes the pieces of a reply as they stream, from the
// goroutine of the call. What has come by the end of ctx stays in got.
func (s *screen) delta(ctx context.Context, dir string, got *streamed) func(llm.Delta) {
	*got = streamed{}
	var last time.Time
	return func(d llm.Delta) {
		if d.Reset {
			if ctx.Err() != nil {
				return
			}
			*got = streamed{}
			last = time.Time{}
		}
		got.reasoning.WriteString(d.Reasoning)
		got.text.WriteString(d.Text)
		if d.Text == "" && !d.Reset || time.Since(last) < livePace {
			return
		}
		last = time.Now()
		_ = status.WriteLive(dir, got.text.String()) // a view: the next one comes
	}
}

func (s *screen) clearLive(a *Agent) { _ = status.WriteLive(a.id.Dir, "") }

// end leaves the last word on the screen.
func (s *screen) end(a *Agent, err error) {
	s.set(a, status.Stopped, "")
	if err != nil {
		s.shown.Error = err.Error()
		_ = status.Write(a.id.Dir, s.shown)
	}
}
