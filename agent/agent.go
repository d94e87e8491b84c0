// Package agent runs identities: boot, resume, the loop, and the order of writing
// that lets an identity be killed at any moment.
//
//	home, err := agent.OpenHome(dir)
//	id, err := agent.Boot(home, store, agent.BootOptions{Name: "ada", Rooms: []string{"dev"}})
//	a, err := agent.Open(id, config)     // takes the lock, folds the log
//	err = a.Run(ctx)                     // until ctx ends or somebody asks it to stop
//
// An Agent is one goroutine. While a model call or a tool runs beside it, that
// goroutine goes on listening for commands, and it alone writes the log and
// changes the state. Blobs are written before the lines that name them, and both are
// durable before the next line and before effects; so whatever kill -9 or a power loss leaves
// behind, Open finds what was decided, and Run pays what is owed.
//
// To read it, begin here and with loop.go, whose advance is one round of the loop:
//
//   - fireDue (source.go) records what wakes the identity by itself
//   - settle (rooms.go) pays what is owed: posts to rooms, results of calls
//   - checkFiles (files.go) notices what people edited
//   - listen (listen.go, command.go) takes in what was said, and runs commands
//   - epochIfDue (record.go) and compactIfDue (forget.go, bound.go) keep the log
//     short to resume and the request within its limit
//   - step (step.go) asks the model (model.go), after a hint at what has faded
//     (hints.go), records its reply, and runs its calls (calls.go)
//
// All of them write through commit (record.go), which hands each event to the fold of
// package mind. Only what begins a new epoch changes the state by other means:
// compactions (swap in forget.go), edits (applyEdit in files.go), other parameters
// (renew in record.go). A life begins in home.go and goes on in resume.go; Supervise
// (loop.go) opens it again when it fails.
package agent

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"lethe/blobs"
	"lethe/budget"
	"lethe/chat"
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
	LifeLines     int          // newest lines of LIFE that a prompt shows; default none
	MaxSteps      int          // model calls without a user's word; default 50
	MaxAgentTurns int          // turns in a room where only agents speak; default 8
	Tools         tools.Config // the parts that are not the identity's own
	Gate          Gate         // what a final answer has to pass; default nothing
	pins          []string     // of a child's parent
	Reviews       Identity     // that this one is the reviewer of; default none
	Reviewer      string       // the name of the identity that reviews this one; default none
	Notify        []string     // rooms for notices, as chat.NotifyRoom names them: what needs a person is said there too
	Warnings      []string     // what weakens the promises here, for the status

	Budget budget.Limits  // what it may spend; default no limit
	Prices llm.Prices     // of models, before those of the list
	People []string       // users who may answer questions, approve calls and raise budgets
	Zone   *time.Location // of schedules and of a budget's days; default the machine's

	AskTime time.Duration // how long people may approve a call; default a week

	Elsewhere bool // Hold also takes a life that goes on in another home

	AddTriggers string   // when the identity may make and change triggers: AddSpoken (the default) or AddAlways
	Webhooks    []string // triggers of mail whose directories the HTTP server fills: ada/github

	Ready func(Identity)             // called once the identity hears its rooms
	Tell  func(Identity, life.Event) // called for each event that has happened
	Retry <-chan os.Signal           // a person says that what paused us is mended

	quiet       time.Duration // quietAfter, for all but tests
	reviewEvery time.Duration // likewise
	viewEvery   time.Duration // likewise
	// runTrigger runs the command of a trigger; the tools do, for all but tests
	runTrigger func(ctx context.Context, name, command string) (printed, failure string)
}

const (
	defaultLimit         = 100_000
	defaultMaxSteps      = 50
	defaultMaxAgentTurns = 8
)

// Agent is a running identity.
type Agent struct {
	// Set by Open.
	id    Identity
	cfg   Config
	store *blobs.Store
	lock  *flock.Flock
	tools *tools.Set
	team  *team // that runs its children; nil where nobody does

	// The life. The goroutine of Run owns this and all that follows.
	log       journal
	state     *mind.State // what the log says
	fresh     bool        // this is the identity's first run
	estimate  llm.Estimator
	rendering rendering // of state; see request

	// What it listens to.
	changed  <-chan struct{} // something that concerns it changed on disk
	unwatch  func()
	watched  []string      // the files of the rooms that it is told of
	stirred  chan struct{} // a source has something to say
	sources  []source      // what wakes it by itself; while it runs
	triggers *triggers     // one of them
	subs     subscribed
	rooms    map[string]*roomIO
	files    ownFiles
	asked    requests

	// What it does.
	outage        outage
	call          call
	counted       counted
	purse         *purse // nil where no limit is set, or the model is for nothing
	forgetting    forgetting
	indexer       *indexer      // nil while the identity does not run
	hintedThrough int           // the newest entry that a hint was looked up for
	shown         status.Status // what others see
	view          *status.View  // where they see it
}

// journal is the log, and what it takes to write on in it.
type journal struct {
	*life.Log
	last       time.Time // of the newest event
	sinceEpoch int       // events after the newest epoch
	broken     error     // why the identity cannot go on, found in a tool; see commit
}

// ErrCorrupt is wrapped when what is on disk cannot be what Lethe wrote.
var ErrCorrupt = errors.New("corrupt state")

// Open takes the identity's lock and folds its log. The error is a
// *RunningError when another process has the lock; it wraps ErrCorrupt or
// ErrNotFound where that is the trouble. Permissions that somebody has taken away
// are restored.
func Open(id Identity, cfg Config) (*Agent, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Log = cfg.Log.With("identity", id.Name)
	cfg.restored(cfg.Home.restore(id.Dir))
	for {
		a, err := open(id, cfg)
		if err == nil || !cfg.restoredFor(err) {
			return a, err
		}
	}
}

func open(id Identity, cfg Config) (_ *Agent, err error) {
	if cfg, err = cfg.forChild(id); err != nil {
		return nil, &SettingsError{err}
	}
	cfg.ContextLimit = cmp.Or(cfg.ContextLimit, defaultLimit)
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, defaultMaxSteps)
	cfg.MaxAgentTurns = cmp.Or(cfg.MaxAgentTurns, defaultMaxAgentTurns)
	cfg.Zone = cmp.Or(cfg.Zone, time.Local)
	cfg.quiet = cmp.Or(cfg.quiet, quietAfter)
	cfg.reviewEvery = cmp.Or(cfg.reviewEvery, reviewEvery)
	cfg.viewEvery = cmp.Or(cfg.viewEvery, viewEvery)
	a := &Agent{
		id: id, cfg: cfg, store: cfg.Store, stirred: make(chan struct{}, 1), view: status.NewView(id.Dir),
		rooms: map[string]*roomIO{}, files: ownFiles{dir: id.Dir, log: cfg.Log, seen: map[string]fs.FileInfo{}},
	}
	if err := a.hold(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if a.purse, err = a.openPurse(); err != nil {
		return nil, err
	}
	if err := a.makeTools(); err != nil {
		return nil, &SettingsError{err}
	}
	if err := a.checkLimit(); err != nil {
		return nil, err
	}
	switch {
	case a.fresh:
		for _, text := range a.cfg.pins { // no summary ends them
			a.state.Pins = append(a.state.Pins, mind.Pin{Text: text, Weight: mind.PinnedByPerson})
		}
		err = a.renew("boot")
	case a.wanted() != a.state.Stable.Params: // other tools or texts alone wait for the next epoch, or each update would cost the cache
		err = a.renew("settings")
	default:
		err = a.recount()
	}
	return a, err
}

// hold takes the lock and folds the log.
func (a *Agent) hold() (err error) {
	if a.lock, err = takeLock(a.id); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if err := clearRequest(a.id, stopFile); err != nil { // it was meant for the one before
		return err
	}
	plan, err := a.planned()
	if err != nil {
		return err
	}
	if a.log.Log, err = life.Open(a.id.LIFE()); err != nil {
		return a.id.Unread(err)
	}
	if err := inOrder(a.checkEnd, a.resume, a.log.SetAside, a.log.Syncs.Wait); err != nil {
		return err
	}
	if a.log.Torn != "" {
		a.cfg.Log.Warn("the last lines of LIFE were torn, as after a crash; they were set aside", "file", a.log.Torn)
	}
	if err := a.id.Elsewhere(a.state); err != nil && !a.cfg.Elsewhere {
		return err
	}
	return a.recordErased(plan)
}

// checkEnd drops a last append whose texts are torn. Those of a whole one are to be synced: the process that wrote it may have
// died before its own sync.
func (a *Agent) checkEnd() error {
	texts, err := dropTorn(a.log.Log, a.store)
	for _, text := range texts {
		path := a.store.Path(text.Hash)
		a.log.Syncs.Dir(filepath.Dir(filepath.Dir(path))) // which it may have made the shard in
		err = cmp.Or(err, a.log.Syncs.Sync(path))
	}
	return err
}

// Close releases the lock and the log. Run calls it too.
func (a *Agent) Close() error {
	if a.log.Log != nil {
		a.log.Close()
	}
	return a.lock.Unlock()
}
