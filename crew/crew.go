// Package crew runs identities side by side, and with each of them the children that it spawns. One that fails is
// opened again from its log.
package crew

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"lethe/home"
)

// Life is the running form of an identity.
type Life interface {
	// Run lives until ctx ends, somebody stops it, or it fails. It is called once.
	Run(ctx context.Context) error
	// Join tells, before Run, the team that runs the children of the identity.
	Join(*Team)
	// Stir makes the loop look around soon. Any goroutine may call it.
	Stir()
}

// MaxAlive is how many children run at once in a tree.
const MaxAlive = 8

// crew is the identities that one Supervise runs, with the children that they spawn.
type crew struct {
	open func(home.Identity) (Life, error)
	log  *slog.Logger

	mu      sync.Mutex
	members map[string]*member // by name
}

// member is an identity that runs, or a child that is about to.
type member struct {
	tree   string // the name of the identity at the top
	by     string // the name of a child's parent
	runs   bool
	idle   bool // it is about to stop, unless it is called again
	called bool // something was said to it since it looked
}

// Team runs the children of one identity; their lives end before its own does. A nil Team runs none.
type Team struct {
	*crew
	name  string
	tree  string // the name of the identity at the top
	ctx   context.Context
	lives sync.WaitGroup   // of children
	life  Life             // as it was opened last; under mu
	lost  map[string]error // children that cannot be run, by name; under mu
}

// run lets an identity live under supervision, and its children with it.
func (c *crew) run(ctx context.Context, id home.Identity, tree string) error {
	ctx, cancel := context.WithCancel(ctx)
	t := &Team{crew: c, name: id.Name, tree: tree, ctx: ctx, lost: map[string]error{}}
	defer t.lives.Wait()
	defer cancel()
	return supervise(ctx, id, func(id home.Identity) (Life, error) {
		life, err := c.open(id)
		if err == nil {
			life.Join(t)
			t.opened(life)
		}
		return life, err
	}, c.log.With("identity", id.Name))
}

// Admit takes a place for a child in the tree, and reports whether there is one.
func (t *Team) Admit(name string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	alive := 0
	for _, m := range t.members {
		if m.tree == t.tree && m.by != "" && !m.idle {
			alive++
		}
	}
	if alive >= MaxAlive {
		return false
	}
	t.members[name] = &member{tree: t.tree, by: t.name}
	return true
}

// opened frees the places of children that were never started, since their parent has
// failed.
func (t *Team) opened(life Life) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life = life
	for name, m := range t.members {
		if m.by == t.name && !m.runs {
			delete(t.members, name)
		}
	}
}

// Start runs a child, until it has nothing left to do. One that runs looks again before
// it stops.
func (t *Team) Start(child home.Identity) {
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
	m = &member{tree: t.tree, by: t.name, runs: true}
	t.members[child.Name] = m
	t.lives.Go(func() { t.keep(child, m) })
}

// keep runs a child as often as it is called.
func (t *Team) keep(child home.Identity, m *member) {
	for again := true; again; {
		err := t.run(t.ctx, child, t.tree)
		if err != nil && t.ctx.Err() == nil {
			t.Lose(child.Name, err)
		}
		t.mu.Lock()
		if again = m.called && err == nil && t.ctx.Err() == nil; !again {
			delete(t.members, child.Name)
			if err == nil && t.ctx.Err() == nil { // it did not stop with its parent, to go on with it
				t.lost[child.Name] = ErrStopped
			}
		}
		m.called, m.idle = false, false
		t.life.Stir() // it may have waited for that
		t.mu.Unlock()
	}
}

// ErrStopped is of a child that has stopped. Its result is in its room, unless a person has
// stopped it, or removed that.
var ErrStopped = errors.New("it has stopped without a result")

// Forget has a child not go on for what was said to it before a person stopped it.
func (t *Team) Forget() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if m := t.members[t.name]; m != nil {
			m.called = false
		}
	}
}

// Lose notes that a child cannot be run. One that another process runs is not lost.
func (t *Team) Lose(child string, err error) {
	if t == nil || errors.As(err, new(*home.RunningError)) {
		return
	}
	t.log.Error("a child cannot be run", "identity", child, "error", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[child] = err
	t.life.Stir()
}

// Leave reports whether the team's identity may stop: its parent called it, and has said nothing to it since it
// last looked, and none of its own children runs.
func (t *Team) Leave() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.by == t.name {
			return false
		}
	}
	m := t.members[t.name]
	if m == nil || m.by == "" {
		return false
	}
	if m.idle = !m.called; !m.idle {
		m.called = false
		t.life.Stir() // it looks again
	}
	return m.idle
}

// Lost returns why a child cannot be run, until it is called again; nil while it can.
func (t *Team) Lost(child string) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost[child]
}
