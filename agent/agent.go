// Package agent runs identities: boot, resume, the turn loop, and the order of
// writing that makes every moment a good one to die.
//
//	home, err := agent.OpenHome(dir)
//	id, err := agent.Boot(home, store, agent.BootOptions{Name: "ada", Rooms: []string{"dev"}})
//	a, err := agent.Open(id, config)     // takes the lock, folds the log
//	err = a.Run(ctx)                     // until ctx ends or somebody asks it to stop
//
// An Agent is one goroutine. While a model call or a tool runs beside it, that
// goroutine goes on listening for commands, and it alone writes the log and
// changes the state. Blobs are durable before the lines that name them, lines
// before their effects; so whatever kill -9 leaves behind, Open finds what was
// decided, and Run pays what is owed.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"lethe"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/life"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// Model is what an identity thinks with.
type Model interface {
	Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error)
}

// Config is what an identity runs with. Zero numbers take the defaults.
type Config struct {
	Home    Home
	Store   *blobs.Store
	Watcher *chat.Watcher
	Log     *slog.Logger

	Model   Model
	Offline bool // Model is the rehearsal one
	// Params are what was asked for; what is zero is left as the life has it, or
	// to the defaults. A difference to the life's own begins a new epoch.
	Params       mind.Params
	DefaultModel string // for a life that has none, or that comes from another endpoint

	Forgetting    Forgetting
	Recall        Recall
	ContextLimit  int          // tokens of a whole request with its answer; default 100,000
	MaxSteps      int          // model calls without a user's word; default 50
	MaxAgentTurns int          // turns in a room where only agents speak; default 8
	Tools         tools.Config // the parts that are not the identity's own
	Warnings      []string     // what weakens the promises here, for the status

	Ready func(Identity)             // called once the identity hears its rooms
	Tell  func(Identity, life.Event) // called for each event that has happened
	Retry <-chan struct{}            // a person says that what paused us is mended

	quiet time.Duration // see quietAfter, which it is for all but tests
}

const (
	defaultLimit         = 100_000
	defaultMaxSteps      = 50
	defaultMaxAgentTurns = 8
)

// Agent is a running identity.
type Agent struct {
	id    Identity
	cfg   Config
	store *blobs.Store
	log   *life.Log
	lock  *flock.Flock
	tools *tools.Set
	state *mind.State

	last       time.Time // of the newest event
	sinceEpoch int       // events after the newest epoch
	fresh      bool      // this is the identity's first run
	estimate   llm.Estimator

	changed      <-chan struct{} // something that concerns us changed on disk
	rooms        map[string]*roomIO
	files        map[string]stamp // own files as last looked at
	retryAt      time.Time        // when to ask an unreachable model again
	troubleSince time.Time
	noSpace      noSpace
	unsettled    bool   // context.md is being written by somebody
	viewFailed   bool   // context.md could not be written the last time
	viewed       [2]int // the state that context.md shows; see viewMark
	broken       error  // what a tool met that the identity cannot go on after; see commit
	screen       screen
	streamed     streamed // the running call's, which has a goroutine of its own; kept when a /stop ends it
	quiet        *quiet
	forgetting   forgetting
	memory       *memory         // nil while the identity does not run
	reminded     int             // the newest entry that a hint was looked up for
	opened       string          // the blob that the running UNCOMPACT shows
	granted      map[string]bool // State.Grants for the running call, which has a goroutine of its own
	share        int             // weighted characters that the running call's result may show
}

// RunningError says that another process holds the identity.
type RunningError struct {
	Identity Identity
	PID      string
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("open %s: running already, in process %s", e.Identity.Name, e.PID)
}

// ErrCorrupt is wrapped when what is on disk cannot be what Lethe wrote.
var ErrCorrupt = errors.New("corrupt state")

// Open takes the identity's lock and folds its log. The error is a
// *RunningError when another process has the lock; it wraps ErrCorrupt or
// ErrNotFound where that is the trouble. Permissions that somebody has taken away
// are restored.
func Open(id Identity, cfg Config) (*Agent, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = cfg.Log.With("identity", id.Name)
	cfg.restored(append(cfg.Home.restore(), allPrivate(id.Dir, 0o600)...))
	for {
		a, err := open(id, cfg)
		if err == nil || !cfg.restored(cfg.Home.unlock(err)) {
			return a, err
		}
	}
}

func open(id Identity, cfg Config) (_ *Agent, err error) {
	cfg.ContextLimit = orDefault(cfg.ContextLimit, defaultLimit)
	cfg.MaxSteps = orDefault(cfg.MaxSteps, defaultMaxSteps)
	cfg.MaxAgentTurns = orDefault(cfg.MaxAgentTurns, defaultMaxAgentTurns)
	a := &Agent{
		id: id, cfg: cfg, store: cfg.Store,
		rooms: map[string]*roomIO{}, files: map[string]stamp{},
	}
	a.quiet = newQuiet(cfg.quiet)
	if err := a.takeLock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if err := a.clearStopRequest(); err != nil { // it was meant for the one before
		return nil, err
	}
	if a.log, err = life.Open(id.LIFE()); err != nil {
		return nil, id.Unread(err)
	}
	if a.log.Torn != "" {
		a.cfg.Log.Warn("the last line of LIFE was torn, as after a crash; it was set aside", "file", a.log.Torn)
	}
	if err := a.resume(); err != nil {
		return nil, err
	}
	if err := a.makeTools(); err != nil {
		return nil, err
	}
	switch {
	case a.fresh:
		err = a.renew("boot")
	case a.wanted() != a.state.Stable.Params:
		err = a.renew("settings")
	}
	if err != nil {
		return nil, err
	}
	return a, a.fits()
}

func orDefault(n, d int) int {
	if n > 0 {
		return n
	}
	return d
}

func (a *Agent) takeLock() error {
	a.lock = lockOf(a.id)
	path := a.lock.Path()
	ok, err := a.tryLock(250 * time.Millisecond)
	if pid, _ := strconv.Atoi(holder(path)); !ok && err == nil && !status.Alive(pid) {
		ok, err = a.tryLock(5 * time.Second) // nobody who lives has written itself down
	}
	if err != nil {
		if _, serr := os.Stat(a.id.Dir); errors.Is(serr, os.ErrNotExist) {
			return fmt.Errorf("open %s: %w: %s is missing", a.id.Name, ErrNotFound, a.id.Dir)
		}
		return fmt.Errorf("lock %s: %w", a.id.Name, err)
	}
	if !ok {
		return &RunningError{a.id, holder(path)}
	}
	// For people and for lethe stop; the lock itself is what counts.
	if err := durable.Overwrite(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		a.lock.Unlock()
		return fmt.Errorf("lock %s: %w", a.id.Name, err)
	}
	return nil
}

// tryLock waits a while for the lock: who only asks whether the identity runs
// holds it for an instant, or until its processor has time for it again.
func (a *Agent) tryLock(patience time.Duration) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ok, err = a.lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return ok, err
}

// Close releases the lock and the log. Run calls it too.
func (a *Agent) Close() error {
	if a.log != nil {
		a.log.Close()
	}
	return a.lock.Unlock()
}

// Run lives until ctx ends, until a stop is asked for, or until something fails
// that the identity cannot go on after. It closes the agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer a.Close()
	defer func() {
		a.unlocked(err) // so that it can be opened again
		a.screen.end(a, err)
	}()
	defer a.abandon()
	a.remember()
	defer a.closeMemory()
	changed, cancel := a.cfg.Watcher.Subscribe(a.scopes()...)
	defer cancel()
	a.changed = changed
	if err := a.begin(); err != nil {
		return err
	}
	for {
		again, err := a.advance(ctx)
		if err != nil {
			return err
		}
		if why := a.asked(ctx); why != "" {
			return a.end(why)
		}
		if !again {
			if err := a.wait(ctx); err != nil {
				return err
			}
		}
	}
}

// begin brings the life up to date: the crash that may have happened, the files
// that somebody may have edited, the debts.
func (a *Agent) begin() error {
	if !a.fresh {
		if err := a.commit(happen("resumed", nil, "version", lethe.Version)); err != nil {
			return err
		}
	}
	if err := a.settle(); err != nil {
		return err
	}
	if err := a.look(); err != nil {
		return err
	}
	if err := a.subscriptions(); err != nil {
		return err
	}
	a.show()
	if a.cfg.Ready != nil {
		a.cfg.Ready(a.id)
	}
	return nil
}

// scopes is what on disk concerns the identity. The rooms are watched as a whole,
// since what it hears may change.
func (a *Agent) scopes() []chat.Scope {
	return []chat.Scope{
		{Dir: a.cfg.Home.Chats()},
		{Dir: a.id.Subs()},
		{Dir: a.id.Dir, Names: append([]string{stopFile, compactFile, contextFile}, ownFiles...)},
	}
}

// advance does the next thing that is due, and reports whether more may be.
func (a *Agent) advance(ctx context.Context) (again bool, err error) {
	if err := a.settle(); err != nil {
		return false, err
	}
	if err := a.look(); err != nil {
		return false, err
	}
	more, err := a.readRooms()
	if err != nil {
		return false, err
	}
	if more {
		if _, err := a.pollCommands(false); err != nil {
			return false, err
		}
	}
	if err := a.settle(); err != nil { // answers to commands
		return false, err
	}
	if err := a.turnPage(); err != nil {
		return false, err
	}
	a.lookForSpace()
	if err := a.forget(ctx); err != nil {
		return false, err
	}
	if a.asked(ctx) != "" || !a.state.Owed().Answer || time.Now().Before(a.retryAt) {
		return more, a.idle()
	}
	return true, a.step(ctx)
}

// turnPage writes an epoch when one is due.
func (a *Agent) turnPage() error {
	if want := a.state.WantModel; want != "" && want != a.state.Stable.Params.Model {
		return a.renew("model")
	}
	if a.sinceEpoch >= epochEvery {
		return a.epoch("count")
	}
	return nil
}

// wait blocks until something may be due. It costs nothing.
func (a *Agent) wait(ctx context.Context) error {
	var retry, settled, open <-chan time.Time
	if (a.state.Owed().Answer || a.noSpace.err != nil) && !a.retryAt.IsZero() {
		timer := time.NewTimer(time.Until(a.retryAt))
		defer timer.Stop()
		retry = timer.C
	}
	if a.unsettled {
		timer := time.NewTimer(halfWritten / 4)
		defer timer.Stop()
		settled = timer.C
	}
	if at := a.nextPost(); !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		open = timer.C
	}
	var ready <-chan struct{}
	if job := a.forgetting.job; job != nil {
		ready = job.ready
	}
	select {
	case <-ctx.Done():
	case <-a.changed:
	case <-ready:
	case <-retry:
	case <-settled:
	case <-open:
	case <-a.cfg.Retry:
		a.retryAt = time.Time{}
		return a.commit(happen("resumed", nil, "version", lethe.Version, "why", "asked"))
	}
	return nil
}

// asked tells whether and why the identity should stop.
func (a *Agent) asked(ctx context.Context) string {
	if ctx.Err() != nil {
		return "signal"
	}
	if a.stopAsked() {
		return "request"
	}
	return ""
}

// end records the stop, with an epoch so that the next resume is short.
func (a *Agent) end(why string) error {
	if err := a.settle(); err != nil {
		return err
	}
	if err := a.writeContext(); err != nil {
		return err
	}
	a.abandon()
	if err := a.billLate(); err != nil {
		return err
	}
	if err := a.epoch("stop"); err != nil {
		return err
	}
	if err := a.commit(happen("stopped", nil, "why", why)); err != nil {
		return err
	}
	return a.clearStopRequest()
}
