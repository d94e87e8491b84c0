package agent

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
)

// Of boots of one name at once one makes the identity, and the others find it.
func TestBootsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made atomic.Int32
	var boots sync.WaitGroup
	for range 8 {
		boots.Go(func() {
			_, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada"})
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, home.ErrExists) {
				t.Error(err)
			}
		})
	}
	boots.Wait()
	all, err := w.home.List()
	lethetest.Must(t, err)
	if len(all) != 1 || made.Load() != 1 {
		t.Errorf("%d boots made %d identities", made.Load(), len(all))
	}
}

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
}

func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, ok := range map[string]bool{"a": true, "a-1": true, "": false, "A": false, "1a": false, "a_b": false,
		"../x": false, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false} {
		equal(t, "ValidName "+name, home.ValidName(name), ok)
	}
	if _, err := home.Boot(w.home, w.store, home.BootOptions{Name: "Ada"}); err == nil {
		t.Error("a bad name was booted")
	}
	if _, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada", Rooms: []string{"../dev"}}); err == nil {
		t.Error("a bad room was booted")
	}
	if _, running := home.Running(home.Identity{}); running {
		t.Error("the zero identity runs")
	}
	if _, err := os.Lstat("lock"); err == nil {
		t.Error("the zero identity has a lock in the working directory")
	}
	ada, bob := w.boot("ada", "dev"), w.boot("bob")
	if _, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada"}); !errors.Is(err, home.ErrExists) {
		t.Errorf("a name was given twice: %v", err)
	}
	for who, want := range map[string]home.Identity{"ada": ada, ada.Self: ada, ada.Self[:8]: ada, "bob": bob, bob.Self[:20]: bob} {
		got, err := w.home.Find(who)
		if err != nil || got != want {
			t.Errorf("Find(%q) = %v, %v", who, got, err)
		}
	}
	for _, who := range []string{"eve", "", "abc", ada.Self[:3], ada.Self + "0", "../ada"} {
		if _, err := w.home.Find(who); !errors.Is(err, home.ErrNotFound) {
			t.Errorf("Find(%q): %v", who, err)
		}
	}
	lethetest.Must(t, os.Remove(w.home.Names()+"/ada")) // lost in a crash
	got, err := w.home.Find("ada")
	lethetest.Must(t, err)
	equal(t, "the one without a link", got.Self, ada.Self)
	again, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	equal(t, "booted again", again.Self, ada.Self)
	lethetest.Must(t, os.RemoveAll(bob.Dir))
	if _, err := Open(bob, w.conf); !errors.Is(err, home.ErrNotFound) {
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
	lives.stop()
	<-lives.done
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
		lives.stop()
		<-lives.done
		lethetest.Must(t, lives.err)
		equal(t, "answers after a panic in the "+name, len(w.said("dev")), 1)
		w.has(id, 1, "resumed")
	}
}
