package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"lethe/internal/lethetest"
	"lethe/life/event"
	"lethe/tools"
)

// What tools that run beside the loop know of its rooms and children is a copy: meanwhile the loop obeys commands,
// and posts to rooms that it did not know. The race detector watches.
func TestToolsBesideTheLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.AddTriggers = AddAlways
	a, err := Open(w.boot("ada", "dev"), w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	a.watch()
	defer func() { a.unwatch() }()
	lethetest.Must(t, a.begin())
	const rounds = 8
	var people []string
	for n := range rounds {
		people = append(people, fmt.Sprint("notify-", n))
	}
	lethetest.Must(t, a.commit(record{event: event.Error{ID: a.noticeID(), What: "trigger", Notice: a.notice("a word for you", people...)}}))
	run := func(ctx context.Context, name string, args map[string]string) {
		text, err := json.Marshal(args)
		if res := a.tools.Run(ctx, tools.Call{Name: name, Args: text}); err != nil || res.Err {
			t.Errorf("%s: %s", name, res.Body)
		}
	}
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
	if _, err := os.Stat(w.own(a.id, "triggers/tea.toml")); err != nil {
		t.Error(err)
	}
}
