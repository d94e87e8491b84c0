package agent

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
)

func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	if _, ok := home.Running(id); ok {
		t.Error("it runs before it was run")
	}
	looker := home.LockOf(id) // does not keep it from starting
	if ok, err := looker.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	gone := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() { gone <- looker.Unlock() })
	r, err := w.try(id)
	lethetest.Must(t, errors.Join(err, <-gone))
	r.settled()
	var running *home.RunningError
	if _, err := w.try(id); !errors.As(err, &running) {
		t.Fatalf("it runs twice: %v", err)
	}
	contains(t, running.Error(), "running already, in process ")
	if pid, ok := home.Running(id); !ok || pid != running.PID {
		t.Errorf("Running says %q, %v", pid, ok)
	}
	lethetest.Must(t, home.Ask(id, home.WishStop))
	lethetest.Must(t, r.wait())
	if _, ok := home.Running(id); ok {
		t.Error("it runs after it was stopped")
	}
	stopped := w.events(id, "stopped")
	equal(t, "stopped", stopped[len(stopped)-1].Get("why"), "request")
	w.run(id).stop() // the request is not for the next run
	lethetest.Must(t, os.RemoveAll(id.Dir))
	if _, err := w.try(id); !errors.Is(err, home.ErrNotFound) {
		t.Errorf("what is gone is opened: %v", err)
	}
}

// One identity that is corrupt does not keep the others from living.
func TestCorruptBesideHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob, eve := w.boot("ada", "a"), w.boot("bob", "b"), w.boot("eve", "e")
	w.rewrite(w.own(bob, "SOUL.md"), func(string) string { return "another soul" })
	lives := w.supervise(ada, bob, eve)
	w.ask("a", "hello")
	w.ask("e", "hello")
	// And one that becomes corrupt while it lives: somebody edits its log.
	w.rewrite(eve.LIFE(), func(s string) string { return strings.Replace(s, "why=boot", "why=b00t", 1) })
	w.say("e", "ann", "are you there?")
	w.gone(eve)
	w.ask("a", "hello again")
	lives.end()
	if !errors.Is(lives.err, home.ErrCorrupt) {
		t.Errorf("Supervise returned %v", lives.err)
	}
	contains(t, lives.err.Error(), "SOUL.md")
	equal(t, "answers of bob", len(w.said("b")), 0)
}

// fragile is a model whose client panics once.
type fragile struct {
	Model
	once sync.Once
}

func (f *fragile) Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	f.once.Do(func() { panic("in the client") })
	return f.Model.Complete(ctx, r, on)
}

// A panic, of the agent or of what it runs beside itself, is survived.
func TestPanicIsSurvived(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"agent": dieAt("reply", 1),
		"model": func(c *Config) { c.Model = &fragile{Model: c.Model} },
	} {
		w := newWorld(t, always("yes"))
		id := w.boot("ada", "dev")
		change(&w.conf)
		lives := w.supervise(id)
		w.ask("dev", "hello")
		lives.end()
		lethetest.Must(t, lives.err)
		equal(t, "answers after a panic in the "+name, len(w.said("dev")), 1)
		w.has(id, 1, "resumed")
	}
}
