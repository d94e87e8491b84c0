package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// The highlighter of code blocks keeps a clock that stops by itself when it has
// not been asked for a while.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

// actor plays an identity: it has the files of one, and a goroutine that hears
// a room and calls on each line.
type actor struct {
	t    *testing.T
	home string
	dir  string
	room string

	mu sync.Mutex
	s  status.Status
}

// newActor is idle and hears room to its end.
func newActor(t *testing.T, home, name, room string) *actor {
	t.Helper()
	a := &actor{t: t, home: home, room: room, dir: filepath.Join(home, "agents", "5e1f-"+name)}
	lethetest.Must(t, os.MkdirAll(a.dir, 0o700))
	end, err := chat.End(chat.Path(home, room))
	lethetest.Must(t, err)
	a.s = status.Status{Name: name, Self: "5e1f-" + name, PID: os.Getpid(), State: status.Idle,
		Rooms: []string{room}, Model: "deepseek-v4-pro", Heard: map[string]int64{room: end.Size()}}
	a.set(func(*status.Status) {})
	return a
}

// set changes the status and writes it.
func (a *actor) set(change func(*status.Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.s)
	if err := status.Write(a.dir, a.s); err != nil {
		a.t.Error(err)
	}
}

func (a *actor) say(text string) {
	appendLine(a.t, a.home, a.room, true, a.s.Name, text)
}

// hear calls on for every line of others until the test ends.
func (a *actor) hear(on func(message)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	_, _, cursor, err := chat.Tail(chat.Path(a.home, a.room), 0)
	if err != nil {
		a.t.Fatal(err)
	}
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			b, err := chat.Read(chat.Path(a.home, a.room), cursor, 0)
			if err != nil {
				a.t.Error(err)
				return
			}
			cursor = b.Next
			for _, l := range b.Lines {
				if l.Name != a.s.Name {
					on(l)
				}
			}
		}
	}()
	a.t.Cleanup(func() { cancel(); <-done })
}

// turn is a whole turn for line l, in the order an identity writes things.
func (a *actor) turn(l message, work func()) {
	a.set(func(s *status.Status) {
		s.State, s.Answering, s.Heard = status.Thinking, []string{a.room}, map[string]int64{a.room: l.To}
		s.Turn++
	})
	work()
	a.set(func(s *status.Status) { s.State, s.Answering = status.Idle, nil })
}

func appendLine(t *testing.T, home, room string, agent bool, name, text string) (to int64) {
	t.Helper()
	line, err := chat.Format(agent, name, time.Now(), "x")
	lethetest.Must(t, err)
	// Any program may write a room: control characters stay.
	line = fmt.Appendf(line[:len(line)-2], "%s\n", strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\u2028"))
	_, to, err = chat.Append(chat.Path(home, room), line)
	lethetest.Must(t, err)
	return to
}

// texts are the messages of a room in order, as "name: text".
func texts(t *testing.T, home, room string) (all []string) {
	t.Helper()
	lines, _, _, err := chat.Tail(chat.Path(home, room), 1000)
	lethetest.Must(t, err)
	for _, l := range lines {
		all = append(all, l.Name+": "+l.Text)
	}
	return all
}
