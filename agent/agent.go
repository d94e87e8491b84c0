// Package agent runs identities: boot, resume, the loop, and the order of writing
// that lets an identity be killed at any moment.
//
//	id, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
//	a, err := agent.Open(id, config)     // takes the lock, folds the log
//	err = a.Run(ctx)                     // until ctx ends or somebody asks it to stop
//
// An Agent is one goroutine. While a model call or a tool runs beside it, that
// goroutine goes on listening for commands, and it alone writes the log and
// changes the state. Blobs are written before the lines that name them, and both are
// durable before the next line and before effects; so whatever kill -9 or a power loss leaves
// behind, Open finds what was decided, and Run does what is owed.
//
// The Agent has the loop (loop.go, step.go) and six parts, each with its own fields. A part calls only parts that stand
// below it in this list:
//
//   - listener takes in lines of rooms, obeys commands, finds answers to questions, and asks what wakes the identity by
//     itself (listen.go, rooms.go, command.go, answer.go, source.go)
//   - caller runs calls: hooks and people are asked, the intent is recorded, the tool runs, the result is recorded
//     (calls.go, intent.go, ask.go, hooks.go, gate.go, spawn.go, jobs.go)
//   - forgetter keeps requests within their limit (forget.go, bound.go)
//   - keeper has the identity's own files and people's edits of them (files.go)
//   - thinker renders requests, asks the model and pays for it (request.go, model.go, outage.go, away.go, spend.go,
//     hints.go)
//   - outbox posts the lines that the identity owes to rooms (post.go)
//
// A part sees the identity through its view (view.go): the State, which it only reads, and commit, the one door
// through which it changes the State. The interface loop lists what parts ask of the loop: above all during, which runs
// something beside it.
//
// To read it, begin with advance in loop.go, which is one round, and step in step.go, which is one call of the model.
//
// Commit (package journal) writes events and hands them to the fold of package mind. Only a new epoch changes the State
// by other methods of the State: after a compaction (swap in forget.go), an edit (applyEdit in files.go), or a change of
// parameters (renew in request.go).
package agent

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"lethe/agent/budget"
	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/compactor/recall"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
)

// Model answers the requests of an identity.
type Model interface {
	Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error)
}

// Agent is a running identity: the loop, the journal and the State, which its view holds, and its parts.
type Agent struct {
	*view
	log *journal.Journal

	outbox    *outbox
	thinker   *thinker
	keeper    *keeper
	forgetter *forgetter
	caller    *caller
	listener  *listener

	fresh bool          // this is the identity's first run
	shown status.Status // as others see it
}

// Open takes the identity's lock and folds its log. The error is a
// *RunningError when another process has the lock; it wraps ErrCorrupt or
// ErrNotFound where that is the trouble. Permissions that somebody has taken away
// are restored.
func Open(id home.Identity, cfg Config) (*Agent, error) {
	cfg.complete(id)
	cfg.restored(cfg.Home.Restore(id.Dir))
	for {
		a, err := open(id, cfg)
		if err == nil || !cfg.restoredFor(err) {
			return a, err
		}
	}
}

func open(id home.Identity, cfg Config) (_ *Agent, err error) {
	cfg, err = cfg.forChild(id)
	if err != nil {
		return nil, &SettingsError{err}
	}
	a := newAgent(id, &cfg)
	a.log, err = journal.Hold(cfg.Home, id, cfg.Store, cfg.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	a.state, a.view.log = a.log.State, a.log
	a.thinker.life, a.thinker.spending = a.log.Log, &a.log.Spending
	a.log.Tell, a.log.Shown = a.happened, a.thinker.shownOf
	a.fresh = a.state.Stable.System == ""
	a.thinker.estimate = prompt.Estimator(a.state)
	if err := durable.MkdirAll(home.WishDir(id), 0o700); err != nil { // it is watched
		return nil, err
	}
	if !cfg.Offline {
		a.thinker.wallet, err = budget.Open(cfg.Home, a.store, id, cfg.Budget, a.log.Spending)
		if err != nil {
			return nil, err
		}
	}
	if err := a.makeTools(); err != nil {
		return nil, &SettingsError{err}
	}
	return a, a.renewIfDue()
}

// renewIfDue begins the first epoch of a life, or another one if the parameters are others. Other tools or texts wait
// for the next epoch: each update would cost the cache.
func (a *Agent) renewIfDue() error {
	why := "settings"
	if a.fresh {
		a.state.PinForGood(a.cfg.pins...)
		why = "boot"
	} else if a.thinker.wanted() == a.state.Stable.Params {
		return a.cfg.checkLimit(a.id, a.state.Stable)
	}
	if err := a.thinker.refresh(a.state); err != nil {
		return err
	}
	if err := a.cfg.checkLimit(a.id, a.state.Stable); err != nil { // before anything is recorded
		return err
	}
	return a.thinker.epoch(why)
}

// newAgent makes an Agent and its parts, and gives each the parts that it calls.
func newAgent(id home.Identity, cfg *Config) *Agent {
	v := &view{id: id, cfg: cfg, store: cfg.Store, screen: status.NewView(id.Dir)}
	a := &Agent{view: v}
	v.loop = a
	a.outbox = &outbox{view: v, closed: map[string]*closedRoom{}}
	a.thinker = &thinker{view: v}
	a.keeper = &keeper{view: v, thinker: a.thinker, seen: map[string]fs.FileInfo{}}
	a.forgetter = &forgetter{view: v, thinker: a.thinker}
	a.caller = &caller{view: v, outbox: a.outbox, thinker: a.thinker, forgetter: a.forgetter}
	a.listener = &listener{
		view: v, outbox: a.outbox, thinker: a.thinker, caller: a.caller,
		unwatch: func() {}, woken: make(chan struct{}, 1), rooms: map[string]*progress{},
	}
	return a
}

// makeTools makes the tools and the sources that wake the identity by itself.
func (a *Agent) makeTools() (err error) {
	conf := a.cfg.Tools
	life := mind.State{Self: a.state.Self, Ancestors: slices.Clone(a.state.Ancestors)}
	shown := &lookup.View{Owns: life.Owns, Reviews: a.cfg.Reviews.Self}
	shown.Know(lookup.Known{})
	conf.Rooms, conf.Past, conf.CheckTrigger = shown, shown, shown.CheckTrigger
	conf.JobEnded = a.Wake
	if a.tools, err = tools.New(conf); err != nil {
		return fmt.Errorf("open %s: %w", a.id.Name, err)
	}
	a.caller.hooks = hook.Set{Dir: filepath.Join(a.cfg.Home.Dir, "hooks")}
	a.thinker.reader = prompt.Reader{
		Store: a.store, Put: a.log.Put, Roots: append([]string{a.tools.Workspace}, a.tools.ExtraRoots...),
		Layers: []*prompt.Layer{
			{Dir: a.cfg.RulesDir, Of: "this user"},
			{Dir: a.cfg.Home.Dir, Of: "this home"},
			{Dir: a.tools.Workspace, Of: "the workspace"},
		},
	}
	if a.tools.Has("USE") {
		a.thinker.reader.Sources = conf.Others
	}
	wakes := wake.Config{
		Home: a.cfg.Home, Identity: a.id, Store: a.store, Log: a.cfg.Log, Tools: a.tools,
		AddTriggers: a.cfg.AddTriggers, Webhooks: a.cfg.Webhooks,
		Wake: a.Wake, Run: a.tools.RunTrigger, Put: a.log.Put, Notice: a.notice, Notify: a.notify,
	}
	a.listener.triggers, a.listener.jobs = wake.NewTriggers(wakes), wake.Jobs{Config: wakes}
	a.listener.sources = []wake.Source{a.listener.triggers, a.listener.jobs}
	if of := a.cfg.Reviews; of.Self != "" {
		a.listener.sources = append(a.listener.sources, &wake.Review{Config: wakes, Of: of, Every: a.cfg.reviewEvery})
	}
	shown.Config = wakes
	shown.Config.Put = nil // tools look at triggers beside the loop, which alone stores texts
	a.caller.reach = shown
	return nil
}

// startIndexer begins to keep the index.
func (a *Agent) startIndexer() {
	a.thinker.indexer = recall.Keep(recall.Open(a.id.RecallPath(), a.caller.reach.Owns, a.cfg.Log), a.store, a.id.LIFE())
	a.caller.reach.Index = a.thinker.indexer
	a.thinker.indexIfFaded()
}

// happened is told of each line of the log.
func (a *Agent) happened(e life.Event) {
	if progress := a.listener.rooms[e.Get("room")]; progress != nil {
		progress.readAhead = nil // the state's cursor knows better now
	}
	if a.cfg.Tell != nil {
		a.cfg.Tell(a.id, e)
	}
}

// Join hands the identity the team that runs its children.
func (a *Agent) Join(t *children.Team) { a.team = t }

// Close releases the lock and the log. Run calls it too.
func (a *Agent) Close() error { return a.log.Close() }

// minPage is the least that a page of an original shows, in weighted characters, however many are asked for at once.
const minPage = 200

// weightOf weighs a text as the result of a call.
func weightOf(text string) int { return llm.Weight(mind.Result([]byte(text))) }
