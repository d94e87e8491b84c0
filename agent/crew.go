package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// crew is the identities that one Supervise runs, with the children that they spawn.
type crew struct {
	open func(Identity) (*Agent, error)
	log  *slog.Logger

	mu      sync.Mutex
	members map[string]*member // by name
}

// member is an identity that runs, or a child that is about to.
type member struct {
	tree   string // the self of the identity at the top, of a child
	by     string // the name of a child's parent
	runs   bool
	idle   bool // it is about to stop, unless it is called again
	called bool // something was said to it since it looked
}

// team is what an agent knows of its crew: the place of its children, whose lives end
// before its own does. A nil team runs no children.
type team struct {
	*crew
	name  string
	ctx   context.Context
	lives sync.WaitGroup   // of children
	agent *Agent           // as it was opened last; under mu
	lost  map[string]error // children that cannot be run, by name; under mu
}

// run lets an identity live under supervision, and its children with it.
func (c *crew) run(ctx context.Context, id Identity) error {
	ctx, cancel := context.WithCancel(ctx)
	t := &team{crew: c, name: id.Name, ctx: ctx, lost: map[string]error{}}
	defer t.lives.Wait()
	defer cancel()
	return supervise(ctx, id, func(id Identity) (*Agent, error) {
		a, err := c.open(id)
		if err == nil {
			a.team = t
			t.opened(a)
		}
		return a, err
	}, c.log.With("identity", id.Name))
}

// admit takes a place for a child in its tree, and reports whether there is one.
func (t *team) admit(name, tree string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	alive := 0
	for _, m := range t.members {
		if m.tree == tree && !m.idle {
			alive++
		}
	}
	if alive >= maxAlive {
		return false
	}
	t.members[name] = &member{tree: tree, by: t.name}
	return true
}

// opened frees the places of children that were never started, since their parent has
// failed.
func (t *team) opened(a *Agent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agent = a
	for name, m := range t.members {
		if m.by == t.name && !m.runs {
			delete(t.members, name)
		}
	}
}

// start runs a child, until it has nothing left to do. One that runs looks again before
// it stops. tree is the self of the identity at its top.
func (t *team) start(child Identity, tree string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lost, child.Name)
	m := t.members[child.Name]
	if m != nil && m.runs {
		m.called, m.idle = true, false
		return
	}
	m = &member{tree: tree, by: t.name, runs: true}
	t.members[child.Name] = m
	t.lives.Go(func() { t.employ(child, m) })
}

// employ runs a child as often as it is called.
func (t *team) employ(child Identity, m *member) {
	for again := true; again; {
		err := t.run(t.ctx, child)
		if err != nil && t.ctx.Err() == nil {
			t.lose(child.Name, err)
		}
		t.mu.Lock()
		if again = m.called && err == nil && t.ctx.Err() == nil; !again {
			delete(t.members, child.Name)
			if err == nil && t.ctx.Err() == nil { // it did not stop with its parent, to go on with it
				t.lost[child.Name] = errStopped
			}
		}
		m.called, m.idle = false, false
		t.agent.stir() // it may have waited for that
		t.mu.Unlock()
	}
}

// errStopped is of a child that has stopped. Its result is in its room, unless a person has
// stopped it, or removed that.
var errStopped = errors.New("it has stopped without a result")

// dismiss has a child not go on for what was said to it before a person stopped it.
func (t *team) dismiss() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if m := t.members[t.name]; m != nil {
			m.called = false
		}
	}
}

// lose notes that a child cannot be run. One that another process runs is not lost.
func (t *team) lose(child string, err error) {
	if t == nil || errors.As(err, new(*RunningError)) {
		return
	}
	t.log.Error("a child cannot be run", "identity", child, "error", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[child] = err
	t.agent.stir()
}

// lostChildren is the source of their results, which the daemon writes for them.
type lostChildren Agent

func (l *lostChildren) next() time.Time { return time.Time{} }

func (l *lostChildren) due(now time.Time) (out []record, err error) {
	a := (*Agent)(l)
	a.team.mu.Lock()
	defer a.team.mu.Unlock()
	waits := map[string]error{}
	for _, c := range a.state.Working() {
		why := a.team.lost[c.Name]
		if why == nil || a.state.Awaits(c.Name) > 0 {
			continue
		}
		if why == errStopped && (!a.heardAll(c.Room) || slices.ContainsFunc(a.state.Outbox, func(p mind.Post) bool { return p.Room == c.Room })) {
			waits[c.Name] = why
			continue
		}
		failed := chat.Outcome{N: c.Given, Failed: true, Text: "it cannot be run: " + why.Error()}
		if why == errStopped {
			failed.Text = why.Error()
		}
		out = append(out, a.firing(event.Fired{By: c.Name}, failed.String(), now, c.Room))
	}
	a.team.lost = waits
	return out, nil
}

// hired reports whether the team's identity runs because its parent called it.
func (t *team) hired() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[t.name]
	return m != nil && m.by != ""
}

// leave reports whether nothing was said to a child since it last looked, and none of
// its own runs: it may stop.
func (t *team) leave() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.by == t.name {
			return false
		}
	}
	m := t.members[t.name]
	if m.idle = !m.called; !m.idle {
		m.called = false
		t.agent.stir() // it looks again
	}
	return m.idle
}
