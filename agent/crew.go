package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"lethe/chat"
	"lethe/life/event"
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
		}
		m.called, m.idle = false, false
		t.agent.stir() // it may have waited for that
		t.mu.Unlock()
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
	for _, c := range a.state.Working() {
		if why := a.team.lost[c.Name]; why != nil && !a.state.Awaits(c.Name) {
			failed := chat.Outcome{N: c.Given, Failed: true, Text: "it cannot be run: " + why.Error()}
			out = append(out, a.firing(event.Fired{By: c.Name}, failed.String(), now, c.Room))
		}
	}
	clear(a.team.lost)
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
	m.idle, m.called = !m.called, false
	return m.idle
}
