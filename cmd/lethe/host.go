package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
	"lethe/tools"
)

// host is what identities run in: the store, the watcher, the model.
type host struct {
	p       *program
	store   *blobs.Store
	watcher *chat.Watcher
	log     *slog.Logger

	offline  bool
	endpoint string // for people: a host name, or "offline"
	conf     llm.Config
	model    string                      // of an identity that has none
	serve    func(context.Context) error // the offline model, or nil

	warnings []string // see program.warnings

	events io.Writer // for LIFE events, with --verbose
	ready  func(agent.Identity)
	retry  map[string]chan os.Signal // SIGHUP, by which a person asks a paused identity to try again
}

// quietRetries bounds how often a call is repeated before the room is told that
// the model cannot be reached: some seven seconds, since a person is waiting. The
// identity goes on trying by itself.
const quietRetries = 3

// hintTime is the longest that a turn waits for a hint; 0 leaves that to the
// agent. Tests that look for one on a busy machine set it.
var hintTime time.Duration

// rehearsalPace is the delay between the pieces of an answer of the offline model.
var rehearsalPace = 8 * time.Millisecond

// offlineModel is what the rehearsal model is called.
const offlineModel = "rehearsal"

// offlineKey is sent to it, since the client wants one. Keys are struck out of
// errors, so it is no word that an error could hold.
const offlineKey = "no-key-is-needed"

// newHost prepares a host. With mayRehearse the offline model is used where there
// is no key and no provider is named.
func (p *program) newHost(log *slog.Logger, mayRehearse bool) (*host, error) {
	if p.runs.limit < 0 {
		return nil, usagef("--context-limit is %d; it cannot be negative", p.runs.limit)
	}
	if err := checkRooms(p.runs.rooms...); err != nil {
		return nil, err
	}
	store, err := p.store()
	if err != nil {
		return nil, err
	}
	h := &host{p: p, store: store, log: log, events: p.out, watcher: chat.NewWatcher(0, log), retry: map[string]chan os.Signal{}}
	if p.runs.offline {
		return h, h.rehearse()
	}
	h.conf = llm.Config{
		Preset: cmp.Or(p.runs.preset, p.settings.Model.Preset), BaseURL: cmp.Or(p.runs.baseURL, p.settings.Model.BaseURL), Log: log,
		MaxRetries: quietRetries,
		OnRetry: func(err error, wait time.Duration) {
			log.Warn("the model did not answer; asking again", "error", err, "in", wait.Round(time.Millisecond))
		},
	}
	client, err := llm.New(h.conf)
	if errors.Is(err, llm.ErrNoKey) && mayRehearse && h.conf.Preset == "" && h.conf.BaseURL == "" {
		return h, h.rehearse()
	}
	if err != nil && !errors.Is(err, llm.ErrNoKey) {
		err = usageError{err}
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	h.endpoint, h.model = client.Host(), client.Preset().Model
	if h.model == "" && p.runs.model == "" && p.settings.Model.Name == "" {
		return nil, hint(usagef("no model is named for %s", h.endpoint), "name one with --model, or model.name in config.toml")
	}
	return h, nil
}

// rehearse starts listening for the offline model, over HTTP like any other.
func (h *host) rehearse() error {
	server := rehearsal.New(rehearsal.Options{Pace: rehearsalPace})
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	h.offline, h.endpoint, h.model = true, "offline", offlineModel
	h.conf = llm.Config{Preset: "deepseek", BaseURL: url, Key: offlineKey, Log: h.log}
	h.serve = server.Serve
	return nil
}

// open makes the running form of an identity.
func (h *host) open(id agent.Identity) (*agent.Agent, error) {
	config, err := h.config(id)
	if err != nil {
		return nil, err
	}
	return agent.Open(id, config)
}

// config is what an identity runs with.
func (h *host) config(id agent.Identity) (agent.Config, error) {
	client, err := llm.New(h.conf)
	if err != nil {
		return agent.Config{}, err
	}
	s, r := h.p.settings, h.p.runs
	params := mind.Params{
		Model: cmp.Or(r.model, s.Model.Name), MaxTokens: s.Model.MaxTokens, Thinking: s.Model.Thinking, Effort: s.Model.Effort,
		Order: s.Prompt.Order, Endpoint: h.endpoint,
	}
	if h.offline {
		params.Model = offlineModel
	}
	var ask []tools.Rule
	for _, text := range s.Tools.Ask {
		rule, _ := tools.ParseRule(text) // checked
		ask = append(ask, rule)
	}
	var notify []string
	for _, name := range s.notified() {
		notify = append(notify, chat.NotifyRoom(name))
	}
	workspace := cmp.Or(r.workspace, s.Tools.Workspace)
	c := agent.Config{
		Home: h.p.home, Store: h.store, Watcher: h.watcher, Log: h.log,
		Model: client, Offline: h.offline, Params: params, DefaultModel: h.model,
		Forgetting: agent.Forgetting{
			Target: s.Fade.Target, Parallel: s.Compactor.Parallel, Model: s.Compactor.Model,
			Mechanical: s.Compactor.Mode == modeMechanical,
		},
		Recall:       agent.Recall{NoHints: s.Recall.Hints == hintsOff, HintTime: hintTime},
		ContextLimit: cmp.Or(r.limit, s.Context.Limit), LifeLines: s.Life.Lines, MaxSteps: s.Turn.MaxSteps, MaxAgentTurns: s.Chat.MaxAgentTurns,
		AddTriggers: s.Triggers.Add,
		Tools: tools.Config{
			Workspace: workspace, ExtraRoots: s.Tools.Roots, Bash: s.Tools.Bash,
			BashTimeout: s.Tools.BashTimeout, Secrets: h.p.tokenFiles(), Ask: ask,
		},
		Budget: s.Budget.limits(), Prices: s.Prices,
		People: h.p.people(), Notify: notify, Zone: s.zone(),
		Gate:     agent.Gate{Check: s.Gate.Check},
		Warnings: h.warnings, Ready: h.ready, Tell: h.teller(), Retry: h.retry[id.Self],
	}
	return c, h.review(id, &c)
}

// teller prints LIFE events when they were asked for.
func (h *host) teller() func(agent.Identity, life.Event) {
	if !h.p.verbose {
		return nil
	}
	return func(id agent.Identity, e life.Event) {
		if h.p.json {
			line := eventOf(e)
			line.Name = id.Name
			printLine(h.events, line)
			return
		}
		fmt.Fprintf(h.events, "%s %s\n", id.Name, chat.Sanitize(e.String()))
	}
}

// run lives until ctx ends or every identity has stopped.
func (h *host) run(ctx context.Context, ids []agent.Identity) error {
	h.warnings = h.p.warnings()
	for _, what := range h.warnings {
		h.log.Warn(what)
	}
	return h.serving(ctx, func(ctx context.Context) error {
		return h.besideReviewer(ctx, ids, func(ctx context.Context) error {
			return agent.Supervise(ctx, ids, h.opener(ids), h.log)
		})
	})
}

// serving runs f, and as long as it lasts the watcher and the offline model, if that is
// the one: they outlive identities, which may be in the middle of a call.
func (h *host) serving(ctx context.Context, f func(context.Context) error) error {
	around, end := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return h.watcher.Run(around) })
	if h.serve != nil {
		group.Go(func() error { return h.serve(around) })
	}
	err := f(ctx)
	end()
	return errors.Join(err, group.Wait())
}

// opener is open, for the supervisor. At first it subscribes the identity to the
// rooms of the flags. Where others go on running, it reports at once that one
// cannot be opened. Children of ids, which come later, hear their own rooms.
func (h *host) opener(ids []agent.Identity) func(agent.Identity) (*agent.Agent, error) {
	var seen sync.Map
	return func(id agent.Identity) (*agent.Agent, error) {
		_, again := seen.LoadOrStore(id.Self, true)
		a, err := h.open(id)
		again = again || !slices.Contains(ids, id)
		if err == nil && !again {
			for _, room := range h.p.runs.rooms {
				err = errors.Join(err, chat.Subscribe(id.Subs(), h.p.home.Chats(), room))
			}
			if err != nil {
				a.Close()
			}
		}
		if err != nil && len(ids) > 1 && !again {
			h.p.report(err)
		}
		return a, err
	}
}

const defaultRoom = "dev"
