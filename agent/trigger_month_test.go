package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// noModel counts what it is asked.
type noModel struct{ asked int }

func (m *noModel) Complete(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	m.asked++
	return llm.Reply{Text: mind.Nothing, Finish: "stop", Model: "none"}, nil
}

// beating lets an identity run, by the clock of a bubble, with the trigger beat whose command is
// run; write writes the trigger anew.
func beating(t *testing.T, toml string, run func(write func(toml string)) string) (a *Agent, model *noModel, end func() (dev string)) {
	h, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	lethetest.Must(t, os.Mkdir(id.Dir+"/triggers", 0o700))
	write := func(toml string) {
		lethetest.Must(t, durable.Replace(id.Dir+"/triggers/beat.toml", []byte(toml), 0o600))
	} // never seen half
	write(toml)
	model = &noModel{}
	a, err = Open(id, Config{
		Home: h, Store: store, Watcher: chat.NewWatcher(0, nil),
		Thinking: Thinking{Model: model, DefaultModel: "none"},
		Calling:  Calling{Tools: tools.Config{Bash: tools.BashTrusted}},
	})
	lethetest.Must(t, err)
	a.listener.Triggers.Run = func(context.Context, string, string) (text, failure string) {
		text = run(write)
		time.Sleep(time.Second)
		return text, ""
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }() // ends with end
	synctest.Wait()
	return a, model, func() string {
		synctest.Wait()
		cancel()
		lethetest.Must(t, <-ended)
		return lethetest.Read(t, chat.Path(h.Dir, "dev"))
	}
}

// A month of a heartbeat that finds nothing costs no dollar and no entry;
// when it finds something, one line says so.
func TestIdleMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int32
		var found atomic.Bool
		a, model, end := beating(t, "every = \"1h\"\nrun = \"look\"\nsay = \"New:\"\n", func(func(string)) string {
			checks.Add(1)
			if found.Load() {
				return "a letter"
			}
			return ""
		})
		began, entries := a.journal.SinceEpoch, a.view.State.Next
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		if n := checks.Load(); n < 700 || n > 740 || model.asked > 0 || a.view.State.Next != entries || a.journal.SinceEpoch > began {
			t.Errorf("%d checks, %d calls of the model, %d entries, %d lines of LIFE",
				n, model.asked, a.view.State.Next-entries, a.journal.SinceEpoch-began)
		}
		found.Store(true)
		time.Sleep(time.Hour + time.Minute)
		found.Store(false)
		dev, fired := end(), a.view.State.Fires["cron-beat"]
		if fired.Count == 0 || model.asked != fired.Count || strings.Count(dev, "[AGENT:cron-beat ") != fired.Count ||
			!strings.Contains(dev, "New:\u2028a letter\n") {
			t.Errorf("after %d checks it has fired %d times: %s", checks.Load(), fired.Count, dev)
		}
	})
}

// A trigger whose text is edited while its command runs fires all the same, with the new text.
func TestTriggerEditedWhileItFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const form = "every = \"1h\"\nrun = \"look\"\nsay = \"%s\"\n"
		found := []string{"a letter", ""}
		_, _, end := beating(t, fmt.Sprintf(form, "Old:"), func(write func(string)) (text string) {
			text, found = found[0], found[1:]
			write(fmt.Sprintf(form, "Newer:"))
			return text
		})
		time.Sleep(time.Hour + time.Minute)
		if dev := end(); strings.Count(dev, "] Newer:\u2028a letter\n") != 1 {
			t.Errorf("%q", dev)
		}
	})
}
