// Package children runs identities side by side, and with each its children. One that fails is
// opened again from its log.
package children

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
)

// Life is the running form of an identity.
type Life interface {
	// Run lives until ctx ends, somebody stops it, or it fails. It is called once.
	Run(ctx context.Context) error
	// Join tells, before Run, the team that runs the children of the identity.
	Join(*Team)
	// Wake makes the loop look around soon. Any goroutine may call it.
	Wake()
}

// MaxAlive bounds the children that run at once in a tree.
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

// Team runs the children of one identity; their lives end before its own does. A nil Team runs nothing.
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
	return t.supervise(ctx, id)
}

// Admit takes a place for a child in the tree, and reports whether there is one.
func (t *Team) Admit(name string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free() == 0 {
		return false
	}
	t.members[name] = &member{tree: t.tree, by: t.name}
	return true
}

// Free returns how many children Admit takes.
func (t *Team) Free() int {
	if t == nil {
		return MaxAlive
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.free()
}

func (t *Team) free() int {
	left := MaxAlive
	for _, m := range t.members {
		isBusyChild := m.by != "" && !m.idle
		if m.tree == t.tree && isBusyChild {
			left--
		}
	}
	return max(0, left)
}

// opened opens the team's identity, and frees the places of children that were never started, since their parent has
// failed.
func (t *Team) opened(id home.Identity) (Life, error) {
	life, err := t.open(id)
	if err != nil {
		return nil, err
	}
	life.Join(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life = life
	for name, m := range t.members {
		if m.by == t.name && !m.runs {
			delete(t.members, name)
		}
	}
	return life, nil
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
		stopped := err == nil && t.ctx.Err() == nil
		if again = m.called && stopped; !again {
			delete(t.members, child.Name)
			if stopped { // not with its parent, to go on with it
				t.lost[child.Name] = ErrStopped
			}
		}
		m.called, m.idle = false, false
		t.life.Wake() // it may have waited for that
		t.mu.Unlock()
	}
}

// ErrStopped is of a child that has stopped. Its result is in its room, unless a person has
// stopped it, or removed that.
var ErrStopped = errors.New("it has stopped without a result")

// Forget has a child not go on for lines that came before a person stopped it.
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
	t.life.Wake()
}

// Leave reports whether the team's identity may stop: its parent called it, and has said nothing to it since it
// last looked, and its own children have ended.
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
		t.life.Wake() // it looks again
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

// Supervise runs identities side by side until ctx ends or all have stopped,
// each isolated from the others' failures. open is asked for the running form of
// an identity: its first error is that identity's end; after that, it is opened again when it fails
// (a full disk, a panic), more and more slowly, since its log
// holds everything. Corruption is final, and so is another process that took the
// identity up meanwhile. The error joins all identities' errors. The children that an
// identity spawns run with it, and end before it.
func Supervise[L Life](
	ctx context.Context, ids []home.Identity, open func(home.Identity) (L, error), log *slog.Logger,
) error {
	errs := make([]error, len(ids))
	c := &crew{open: func(id home.Identity) (Life, error) { return open(id) }, log: log, members: map[string]*member{}}
	for _, id := range ids {
		c.members[id.Name] = &member{tree: id.Name, runs: true}
	}
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			errs[i] = c.run(ctx, id, id.Name)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.members, id.Name)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (t *Team) supervise(ctx context.Context, id home.Identity) error {
	log := t.log.With("identity", id.Name)
	life, err := t.opened(id)
	if err != nil && !errors.Is(err, home.ErrAway) {
		return err
	}
	var failing time.Time // since when
	for wait := time.Duration(0); ; {
		began := time.Now()
		if err == nil {
			err = guard(ctx, life, log)
		}
		isFinal := errors.Is(err, home.ErrCorrupt) || errors.As(err, new(*home.RunningError))
		hasEnded := err == nil || ctx.Err() != nil || errors.As(err, new(*home.Rest))
		if isFinal || hasEnded {
			return err
		}
		if home.IsElsewhere(err) {
			log.Warn("it has stopped here", "error", err)
			return err
		}
		if time.Since(began) > 2*longestWait {
			wait = 0
		}
		if wait == 0 {
			failing = time.Now().UTC()
		}
		wait = min(max(2*wait, time.Second), longestWait)
		log.Error("the identity failed; it is opened again from its log", "error", err, "in", wait)
		if !HoldOut(ctx, id, err, failing, wait) {
			return err
		}
		life, err = t.opened(id)
	}
}

// longestWait is the longest time between two attempts at opening an identity.
const longestWait = time.Minute

// HoldOut waits until an identity that fails, or rests, is to be opened again, and shows that since when. It holds the
// lock meanwhile, so the identity is not taken for stopped. It reports false when the identity is to stop instead.
func HoldOut(ctx context.Context, id home.Identity, err error, since time.Time, wait time.Duration) bool {
	shown, _ := status.Read(id.Dir) // what else it shows stays
	shown.Name, shown.Self, shown.PID = id.Name, id.Self, os.Getpid()
	shown.State, shown.Since, shown.Error = status.Retrying, since, err.Error()
	var changed <-chan struct{}
	rest, every := &home.Rest{Until: time.Now().Add(wait), Look: home.LookAt()}, 100*time.Millisecond
	if errors.As(err, &rest) {
		_ = id.SetRest(rest) // without it, the next process loads the identity
		told, cancel := rest.Watcher.Subscribe(rest.Scopes...)
		defer cancel()
		shown.State, shown.Error, changed, every = status.Idle, "", told, time.Hour
	}
	show := func() {}
	if lock, err := home.Lock(id); err == nil { // otherwise another process has it, and shows what it does
		defer lock.Unlock()
		show = func() { _ = status.Write(id.Dir, shown) } // a view
	}
	show()
	for ctx.Err() == nil && !home.Asked(id, home.WishStop) {
		if rest.Over() {
			return true
		}
		left := every
		if !rest.Until.IsZero() {
			left = min(left, time.Until(rest.Until))
		}
		select {
		case <-time.After(left):
		case <-changed:
		case <-ctx.Done():
		}
	}
	_ = home.WishStop.Drop(id)
	shown.State = status.Stopped
	show()
	return false
}

// guard runs a life and makes a panic an error.
func guard(ctx context.Context, life Life, log *slog.Logger) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return life.Run(ctx)
}
