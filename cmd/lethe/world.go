package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
	"lethe/tools"
)

// world is what identities run in: the store, the watcher, the model's server.
type world struct {
	p       *program
	store   *blobs.Store
	watcher *chat.Watcher
	log     *slog.Logger

	offline  bool
	endpoint string // for people: "deepseek", "offline", a host
	conf     llm.Config
	model    string // of a life that has none
	serve    func(context.Context) error

	warnings []string // what weakens the promises here

	events io.Writer // gets LIFE events when they were asked for
	ready  func(agent.Identity)
	mended <-chan os.Signal         // a person says that what paused identities may be gone
	retry  map[string]chan struct{} // by identity; made before they are opened
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

// newWorld prepares a world. mayRehearse says that without a key the offline
// model will do.
func (p *program) newWorld(log *slog.Logger, mayRehearse bool) (*world, error) {
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
	w := &world{p: p, store: store, log: log, events: p.out, watcher: chat.NewWatcher(0, log), retry: map[string]chan struct{}{}}
	if p.runs.offline {
		return w, w.rehearse()
	}
	w.conf = llm.Config{
		Preset: or(p.runs.preset, p.settings.Model.Preset), BaseURL: or(p.runs.baseURL, p.settings.Model.BaseURL), Log: log,
		MaxRetries: quietRetries,
		OnRetry: func(err error, wait time.Duration) {
			log.Warn("the model did not answer; asking again", "error", err, "in", wait.Round(time.Millisecond))
		},
	}
	client, err := llm.New(w.conf)
	if errors.Is(err, llm.ErrNoKey) && mayRehearse && w.conf.Preset == "" && w.conf.BaseURL == "" {
		return w, w.rehearse()
	}
	if err != nil {
		return nil, usageUnlessKey(err)
	}
	defer client.Close()
	w.endpoint, w.model = client.Host(), client.Preset().Model
	if w.model == "" && p.runs.model == "" && p.settings.Model.Name == "" {
		return nil, hint(usagef("no model is named for %s", w.endpoint), "name one with --model, or model.name in config.toml")
	}
	return w, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func usageUnlessKey(err error) error {
	if errors.Is(err, llm.ErrNoKey) {
		return err
	}
	return usageError{err}
}

// rehearse starts listening for the offline model, over HTTP like any other.
func (w *world) rehearse() error {
	server := rehearsal.New(rehearsal.Options{Record: -1, Pace: rehearsalPace})
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	w.offline, w.endpoint, w.model = true, "offline", offlineModel
	w.conf = llm.Config{Preset: "deepseek", BaseURL: url, Key: offlineKey, Log: w.log}
	w.serve = server.Serve
	return nil
}

// open makes the running form of an identity.
func (w *world) open(id agent.Identity) (*agent.Agent, error) {
	config, err := w.config(id)
	if err != nil {
		return nil, err
	}
	return agent.Open(id, config)
}

// config is what an identity runs with.
func (w *world) config(id agent.Identity) (agent.Config, error) {
	client, err := llm.New(w.conf)
	if err != nil {
		return agent.Config{}, err
	}
	s, r := w.p.settings, w.p.runs
	params := mind.Params{
		Model: or(r.model, s.Model.Name), MaxTokens: s.Model.MaxTokens, Thinking: s.Model.Thinking, Effort: s.Model.Effort,
		Order: s.Prompt.Order, Endpoint: w.endpoint,
	}
	if w.offline {
		params.Model = offlineModel
	}
	limit := r.limit
	if limit == 0 {
		limit = s.Context.Limit
	}
	workspace := or(r.workspace, s.Tools.Workspace)
	return agent.Config{
		Home: w.p.home, Store: w.store, Watcher: w.watcher, Log: w.log,
		Model: client, Offline: w.offline, Params: params, DefaultModel: w.model,
		Forgetting: agent.Forgetting{
			Target: s.Fade.Target, Parallel: s.Compactor.Parallel, Model: s.Compactor.Model,
			Mechanical: s.Compactor.Mode == modeMechanical,
		},
		Recall:       agent.Recall{NoHints: s.Recall.Hints == hintsOff, HintTime: hintTime},
		ContextLimit: limit, MaxSteps: s.Turn.MaxSteps, MaxAgentTurns: s.Chat.MaxAgentTurns,
		Tools: tools.Config{
			Workspace: workspace, ExtraRoots: s.Tools.Roots, Bash: s.Tools.Bash,
			BashTimeout: time.Duration(s.Tools.BashTimeout), Secrets: w.secrets(),
		},
		Warnings: w.warnings, Ready: w.ready, Tell: w.teller(), Retry: w.retry[id.Self],
	}, nil
}

// secrets are files that hold a key.
func (w *world) secrets() []string {
	if file := w.p.tokenFile(); file != "" {
		return []string{file}
	}
	return nil
}

// teller prints LIFE events when they were asked for.
func (w *world) teller() func(agent.Identity, life.Event) {
	if !w.p.verbose {
		return nil
	}
	return func(id agent.Identity, e life.Event) {
		if w.p.json {
			line := eventOf(e)
			line.Name = id.Name
			printLine(w.events, line)
			return
		}
		fmt.Fprintf(w.events, "%s %s\n", id.Name, chat.Sanitize(e.String()))
	}
}

// run lives until ctx ends or every identity has stopped.
func (w *world) run(ctx context.Context, ids []agent.Identity) error {
	for _, id := range ids {
		w.retry[id.Self] = make(chan struct{}, 1)
	}
	w.warnings = w.p.warnings()
	for _, what := range w.warnings {
		w.log.Warn(what)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The model outlives the identities, which may be in the middle of a call.
	around, end := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return w.watcher.Run(around) })
	if w.serve != nil {
		group.Go(func() error { return w.serve(around) })
	}
	group.Go(func() error { w.tryAgain(around); return nil })
	err := agent.Supervise(ctx, ids, w.opener(len(ids) > 1), w.log)
	end()
	return errors.Join(err, group.Wait())
}

// with serves the offline model, if that is the one, while f runs.
func (w *world) with(ctx context.Context, f func(context.Context) error) error {
	if w.serve == nil {
		return f(ctx)
	}
	around, end := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return w.serve(around) })
	err := f(ctx)
	end()
	return errors.Join(err, group.Wait())
}

// opener is open, for the supervisor. At first it subscribes the identity to the
// rooms of the flags. Where others go on running, it reports at once that one
// cannot be opened.
func (w *world) opener(others bool) func(agent.Identity) (*agent.Agent, error) {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(id agent.Identity) (*agent.Agent, error) {
		mu.Lock()
		again := seen[id.Self]
		seen[id.Self] = true
		mu.Unlock()
		a, err := w.open(id)
		if err == nil && !again {
			if err = w.subscribe(id); err != nil {
				a.Close()
			}
		}
		if err != nil && others && !again {
			w.p.report(err)
		}
		return a, err
	}
}

func (w *world) subscribe(id agent.Identity) error {
	for _, room := range w.p.runs.rooms {
		if err := chat.Subscribe(id.Subs(), w.p.home.Chats(), room); err != nil {
			return err
		}
	}
	return nil
}

// tryAgain passes on to every identity that trouble is mended, until ctx ends.
func (w *world) tryAgain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.mended:
		}
		for _, ch := range w.retry {
			select {
			case ch <- struct{}{}:
			default: // it has been told already
			}
		}
	}
}

// birth resumes the identity of the flags, or the default one, or boots it.
func (w *world) birth() (agent.Identity, bool, error) {
	p := w.p
	name := p.runs.name
	if name == "" {
		id, err := p.find("")
		if err == nil && p.runs.soul == "" {
			return id, false, nil
		}
		if err != nil && !errors.Is(err, agent.ErrNotFound) {
			return id, false, err
		}
		name = or(p.settings.DefaultIdentity, defaultName)
	}
	soul, err := readSoul(p.runs.soul)
	if err != nil {
		return agent.Identity{}, false, err
	}
	if !agent.ValidName(name) {
		return agent.Identity{}, false, usagef("%q is not a name for an identity: a lower-case letter, then up to 31 of a-z, 0-9 and -", name)
	}
	rooms := p.runs.rooms
	if len(rooms) == 0 {
		rooms = []string{defaultRoom}
	}
	id, err := agent.Boot(p.home, w.store, agent.BootOptions{Name: name, Soul: soul, Rooms: rooms, Check: w.check})
	if errors.Is(err, agent.ErrExists) {
		if soul != "" {
			return id, false, hint(err, "a soul is for life: boot another identity with --name, or leave out --soul to resume %s", name)
		}
		return id, false, nil
	}
	return id, err == nil, err
}

// check refuses settings that an identity cannot run with.
func (w *world) check(id agent.Identity) error {
	config, err := w.config(id)
	if err != nil {
		return err
	}
	return agent.Check(id, config)
}

const defaultRoom = "dev"

func readSoul(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := readGiven(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read soul %s: %w", path, agent.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("read soul %s: it is empty", path)
	}
	return string(text), nil
}

// logTo writes log lines for people to out.
func (p *program) logTo(out io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if p.verbose {
		level = slog.LevelDebug
	}
	if p.json {
		return slog.New(slog.NewJSONHandler(redacting{out}, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, &slog.HandlerOptions{Level: level}))
}

// redacting writes whole lines, without secrets.
type redacting struct{ to io.Writer }

func (r redacting) Write(line []byte) (int, error) {
	_, err := r.to.Write(secret.Bytes(line))
	return len(line), err
}

// logFile opens the log of identities that live inside a chat, where the
// terminal is taken. It is begun anew when it has grown over a megabyte.
func (p *program) logFile() (*os.File, error) {
	path := filepath.Join(p.home.Dir, "lethe.log")
	mode := os.O_APPEND
	if fi, err := os.Stat(path); err == nil && fi.Size() > 1<<20 {
		mode = os.O_TRUNC
	}
	f, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	return f, err
}

// perIdentity makes a callback run for the first call of each identity.
func perIdentity(f func(agent.Identity)) func(agent.Identity) {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(id agent.Identity) {
		mu.Lock()
		defer mu.Unlock()
		if !seen[id.Self] {
			seen[id.Self] = true
			f(id)
		}
	}
}
