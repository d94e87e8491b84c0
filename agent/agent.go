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
//   - the listener takes in lines of rooms, obeys commands, finds answers to questions, and asks the sources that wake
//     the identity by itself (package listen)
//   - the caller runs calls: hooks and people are asked, the intent is recorded, the tool runs, the result is recorded
//     (calls.go, intent.go, ask.go, hooks.go, gate.go, spawn.go)
//   - the forgetter keeps requests within their limit (forget.go, bound.go)
//   - the keeper tells the identity of changes in its own files, and obeys people's edits (package keeper)
//   - the thinker renders requests, asks the model and pays for it (request.go, model.go, outage.go, away.go, spend.go,
//     hints.go)
//   - the outbox posts the lines that the identity owes to rooms (package part)
//
// A part sees the identity through a part.View: the State, which it only reads, and Commit, the one door through which
// it changes the State. A View also has the functions of the loop that parts call, above all During: it runs something
// beside the loop.
//
// To read it, begin with advance in loop.go, which is one round, and step in step.go, which is one call of the model.
//
// Commit (package journal) writes events and hands them to the fold of package mind. Only a new epoch changes the State
// by other methods of the State: after a compaction (swap in forget.go), an edit (applyEdit in files.go), or a change
// of parameters (renew in request.go).
package agent

import (
	"context"
	"fmt"
	"lethe/agent/adopt/shelf"
	"slices"

	"lethe/agent/budget"
	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/keeper"
	"lethe/agent/listen"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/part"
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

// Agent is a running identity: the loop, the journal, and the parts, which see the State through the view.
type Agent struct {
	cfg     *Config
	journal *journal.Journal
	view    *part.View

	listener  *listen.Listener
	caller    *caller
	forgetter *forgetter
	keeper    *keeper.Keeper
	thinker   *thinker
	outbox    *part.Outbox
	desk      *shelf.Desk

	fresh bool          // this is the identity's first run
	shown status.Status // as others see it
}

// Open takes the identity's lock and folds its log. The error is a
// *RunningError when another process has the lock; it wraps ErrCorrupt or
// ErrNotFound where that is the trouble. Permissions that somebody has taken away
// are restored.
func Open(id home.Identity, cfg Config) (*Agent, error) {
	cfg.complete(id)
	cfg.Home.Repair(cfg.Log, id.Dir)
	for {
		a, err := open(id, cfg)
		if err == nil || !cfg.Home.RepairFor(err, cfg.Log) {
			return a, err
		}
	}
}

func open(id home.Identity, cfg Config) (*Agent, error) {
	cfg, err := cfg.forChild(id)
	if err != nil {
		return nil, &SettingsError{err}
	}
	held, err := journal.Hold(cfg.Home, id, cfg.Store, cfg.Log)
	if err != nil {
		return nil, err
	}
	a, err := newAgent(&cfg, held)
	if err == nil {
		err = a.renewIfDue()
	}
	if err != nil {
		held.Close()
		return nil, err
	}
	return a, nil
}

// newAgent makes an Agent on a journal, with its tools and its parts. Each part gets the parts that it calls.
func newAgent(cfg *Config, held *journal.Journal) (*Agent, error) {
	a := &Agent{cfg: cfg, journal: held, desk: &shelf.Desk{Journal: held}, fresh: held.State.Stable.System == ""}
	a.view = &part.View{
		ID: held.ID, Home: cfg.Home, Store: cfg.Store, Log: cfg.Log, Zone: cfg.Zone, Notify: cfg.Notify,
		State: held.State, Screen: status.NewView(held.ID.Dir), Door: held,
		Loop: part.Loop{During: a.during, Show: a.show, ShowResting: a.showResting, StatusLine: a.statusLine},
	}
	if err := durable.MkdirAll(home.WishDir(held.ID), 0o700); err != nil { // it is watched
		return nil, err
	}
	var wallet *budget.Wallet
	if !cfg.Offline {
		opened, err := budget.Open(cfg.Home, cfg.Store, held.ID, cfg.Budget, held.Spending)
		if err != nil {
			return nil, err
		}
		wallet = opened
		if cfg.Budget.Any() && opened.Limits() != cfg.Budget {
			const other = "the home has other limits of money than [budget] here says, and they count: lethe budget shows them"
			cfg.Log.Warn(other, "identity", held.ID.Name)
		}
	}
	reach, err := a.makeTools()
	if err != nil {
		return nil, &SettingsError{err}
	}
	wakes := a.wakes()
	reach.Config = wakes
	reach.Config.Put = nil // tools look at triggers beside the loop, which alone stores texts
	hearing := listen.Config{
		Hearing: cfg.Hearing, Watcher: cfg.Watcher, Budget: cfg.Budget, ReviewEvery: cfg.reviewEvery,
	}
	a.outbox = part.NewOutbox(a.view)
	a.thinker = newThinker(a.view, cfg, held, wallet)
	a.keeper = keeper.New(a.view, a.thinker.renew, cfg.viewEvery, cfg.halfWritten)
	a.forgetter = &forgetter{View: a.view, cfg: cfg, thinker: a.thinker}
	a.desk.Asking = a.forgetter.asking
	a.caller = newCaller(a.view, cfg, a.outbox, a.thinker, a.forgetter, reach)
	a.listener = listen.New(a.view, hearing, a.outbox, a.thinker, wakes)
	held.Tell, held.Shown = a.happened, a.thinker.shownOf
	return a, nil
}

// makeTools makes the tools, and the view of the identity for tools that run beside the loop.
func (a *Agent) makeTools() (*lookup.View, error) {
	life := mind.State{Self: a.view.State.Self, Ancestors: slices.Clone(a.view.State.Ancestors)}
	reach := &lookup.View{Owns: life.Owns, Reviews: a.cfg.Reviews.Self}
	reach.Know(lookup.Known{})
	config := a.cfg.Tools
	config.Rooms, config.Past, config.CheckTrigger = reach, reach, reach.CheckTrigger
	config.JobEnded = a.Wake
	set, err := tools.New(config)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", a.view.ID.Name, err)
	}
	a.view.Tools = set
	return reach, nil
}

// wakes is the configuration of the sources that wake the identity by itself.
func (a *Agent) wakes() wake.Config {
	return wake.Config{
		Home: a.cfg.Home, Identity: a.view.ID, Store: a.cfg.Store, Log: a.cfg.Log, Tools: a.view.Tools,
		AddTriggers: a.cfg.AddTriggers, Webhooks: a.cfg.Webhooks,
		Wake: a.Wake, Run: a.view.Tools.RunTrigger, Put: a.journal.Put, Notice: a.view.Notice, Notify: a.view.Notified,
	}
}

// renewIfDue begins the first epoch of a life, or another one if the parameters are others, the tools by the settings,
// or a server dropped parts of requests. Tools and texts of another version wait for the next epoch: each update would
// cost the cache.
func (a *Agent) renewIfDue() error {
	state, why := a.view.State, "settings"
	fits := func() error { return a.cfg.checkLimit(a.view.ID, state.Stable, a.view.Tools) }
	if a.fresh {
		state.PinForGood(a.cfg.pins...)
		why = "boot"
	} else if state.Short { // somebody may have mended the server
		state.Window, state.Short = 0, false
	} else if a.thinker.offersOthers() {
		why = "tools"
	} else if a.thinker.wanted() == state.Stable.Params {
		a.thinker.counts.Most = int(state.Usage.LastInput)
		return fits()
	}
	if err := a.thinker.refresh(state); err != nil {
		return err
	}
	if err := fits(); err != nil { // before anything is recorded
		return err
	}
	return a.thinker.epoch(why)
}

// startIndexer begins to keep the index.
func (a *Agent) startIndexer() {
	reach := a.caller.reach
	reach.Index = recall.Keep(recall.Open(a.view.ID.RecallPath(), reach.Owns, a.view.Log), a.view.Store, a.view.ID.LIFE())
	a.thinker.indexer = reach.Index
	a.thinker.indexIfFaded()
}

// happened is told of each line of the log.
func (a *Agent) happened(e life.Event) {
	a.listener.Happened(e)
	a.caller.seen.Happened(e)
	if a.cfg.Tell != nil {
		a.cfg.Tell(a.view.ID, e)
	}
}

// Join hands the identity the team that runs its children.
func (a *Agent) Join(t *children.Team) { a.view.Team = t }

// Close releases the lock and the log. Run calls it too.
func (a *Agent) Close() error {
	a.thinker.space.Close()
	return a.journal.Close()
}

// minPage is the least that a page of an original shows, in weighted characters, however many are asked for at once.
const minPage = 200

// weightOf weighs a text as the result of a call.
func weightOf(text string) int { return llm.Weight(mind.Result([]byte(text))) }
