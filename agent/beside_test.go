package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

// What tools that run beside the loop know of its rooms and children is a copy: meanwhile the loop obeys commands,
// and posts to rooms that it did not know. The race detector watches.
func TestToolsBesideTheLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.AddTriggers = wake.AddAlways
	a, err := Open(w.boot("ada", "dev"), w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	a.listener.Watch()
	defer func() { a.listener.Stop() }()
	lethetest.Must(t, a.begin())
	const rounds = 8
	var people []string
	for n := range rounds {
		people = append(people, fmt.Sprint("notify-", n))
	}
	lethetest.Must(t, a.view.Commit(part.Record{Event: event.Error{What: "trigger", Notice: a.view.Notice("a word for you", people...)}}))
	run := func(ctx context.Context, name string, args map[string]string) {
		text, err := json.Marshal(args)
		if res := toolRun(ctx, a, name, string(text)); err != nil || res.Err {
			t.Errorf("%s: %s", name, res.Body)
		}
	}
	a.caller.reach.Know(a.caller.known())
	lethetest.Must(t, a.during(t.Context(), func(ctx context.Context) {
		for n := range rounds {
			w.say("dev", "ann", "/status")
			for len(w.said("dev")) <= n && ctx.Err() == nil {
				run(ctx, "READ_FILE", map[string]string{"path": "rooms/dev.md"})
				run(ctx, "WRITE_FILE", map[string]string{"path": "self/triggers/tea.toml", "content": "every = \"1h\"\nsay = \"tea\"\n"})
			}
		}
	}))
	for _, room := range people {
		equalSlices(t, "said in "+room, w.said(room), []string{"a word for you"})
	}
	if _, err := os.Stat(w.own(a.view.ID, "triggers/tea.toml")); err != nil {
		t.Error(err)
	}
}

// toolRun runs a tool as a call beside the loop does.
func toolRun(ctx context.Context, a *Agent, name, args string) tools.Result {
	effect, err := a.view.Tools.Intent(name, []byte(args))
	if err != nil {
		return tools.Result{Err: true, Body: []byte(err.Error())}
	}
	return effect.(interface {
		Do(context.Context, tools.Call) tools.Result
	}).Do(ctx, tools.Call{Name: name})
}
