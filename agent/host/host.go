// Package host runs identities inside a program. It does as the commands do: the same
// files, the same order of writing, so the lethe command may look at the same home meanwhile.
//
//	func main() {
//		host.Main() // first: BASH runs this program again, to confine commands
//		h, err := host.Open("", host.Options{}) // ~/.lethe, its config.toml, keys from the environment
//		defer h.Close()
//		ada, err := h.Start(ctx, home.BootOptions{Name: "ada"}) // resumes it, or boots it
//		reply, err := ada.Say(ctx, "dev", "hello")               // when its turn has ended
//		for e, err := range ada.Events(ctx, reply.After) { … }   // what happens from then on
//	}
//
// An identity runs in one process at a time. Where another one runs it already, Start leaves it
// there, and Say and Events work all the same; Resume takes it up when that process has ended.
//
// A context that ends, ends the wait, and not the turn: the answer is in the room. Close stops
// what runs here, within two seconds and with everything saved; a kill loses nothing either.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
	"lethe/agent/share/hosts"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/mind"
)

// Options say how identities run. Each may be left out; one that is set wins over
// config.toml.
type Options struct {
	Offline   bool   // with the offline rehearsal model, which is not intelligent
	Rehearse  bool   // likewise, where there is no key and no provider is named
	Preset    string // the provider: deepseek, openai, …
	BaseURL   string // of another OpenAI-compatible endpoint
	Model     string
	Limit     int      // tokens of a request with its answer
	Workspace string   // that the tools work in
	Rooms     []string // heard by each identity that first runs here
	Standby   bool     // of a shared home: Run goes on for lives that other hosts leave

	Secrets []string     // files that agents must not read
	Log     *slog.Logger // may be nil

	Ready    func(home.Identity)             // called when an identity hears its rooms
	Tell     func(home.Identity, life.Event) // called for each event that has happened
	Report   func(error)                     // called when one of several identities cannot be opened
	Webhooks []string                        // see agent.Config
	Listed   func() []string                 // see agent.Config; may be nil

	Retry map[string]chan os.Signal // by hash: a person asks a paused identity to try again

	HintTime time.Duration // the longest that a turn waits for a hint; 0 leaves that to the agent
	Pace     time.Duration // between the pieces of an answer of the offline model

	restAfter time.Duration // of nothing to do, the run of a hired identity ends with a *home.Rest; 0: never
	started   bool          // only an identity that is still to be kept running is run
}

// SettingsError says that an identity cannot run with its settings: see agent.SettingsError.
type SettingsError = agent.SettingsError

// Host runs identities of a home: it has the store, the watcher, the model.
type Host struct {
	Offline  bool   // the model is the offline one
	Endpoint string // of the model, for people: a host name, or "offline"

	home     home.Home
	settings config.Settings
	options  Options
	store    *blobs.Store
	watcher  *chat.Watcher
	log      *slog.Logger

	members  members                     // started by Start
	client   *llm.Client                 // of all identities, which share its connections
	known    llm.Known                   // of models
	limit    int                         // of requests, where nobody has set one; 0: the default
	preset   string                      // of models whose names say no endpoint; "" for the offline model's
	model    string                      // of an identity without its own
	serve    func(context.Context) error // the offline model, or nil
	others   *mcp.Servers                // nil: nothing is configured
	shared   *hosts.Cluster              // nil: no other host shares the home
	copies   *Copies                     // nil: the home has its lives itself
	warnings []string                    // what weakens the promises here
}

const offlineModel = "rehearsal"

// tellTime bounds how long a start waits for an endpoint to tell the window of a model that nobody knows.
const tellTime = 700 * time.Millisecond

// Look prepares a host that runs no identities: to talk with identities of other processes.
func Look(home home.Home, settings config.Settings, o Options) (*Host, error) {
	store, err := blobs.Open(home.Blobs())
	if err != nil {
		return nil, err
	}
	HideKeys()
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	h := &Host{
		home: home, settings: settings, options: o, store: store, log: log, watcher: chat.NewWatcher(0, log),
	}
	h.shared = Share(&h.home, settings, store, log)
	return h, nil
}

// Share has a home be shared with other hosts, if its settings say so; otherwise it returns nil.
func Share(h *home.Home, settings config.Settings, store *blobs.Store, log *slog.Logger) *hosts.Cluster {
	if shared, ok := h.Shared.(*hosts.Cluster); ok || settings.Share.URL == "" {
		return shared
	}
	return hosts.New(h, settings.Share, store, log)
}

// Beside prepares a host as Look does, over a store that is open and a watcher that the caller runs. It
// needs no Close.
func Beside(home home.Home, store *blobs.Store, watcher *chat.Watcher) *Host {
	h := &Host{home: home, store: store, watcher: watcher, log: slog.New(slog.DiscardHandler)}
	h.members.begin.Do(func() { h.members.ctx = context.Background() })
	return h
}

// New prepares a host for identities of a home; it starts nothing. A provider without a key
// is llm.ErrNoKey.
func New(home home.Home, settings config.Settings, o Options) (*Host, error) {
	h, err := Look(home, settings, o)
	if err != nil {
		return nil, err
	}
	log := h.log
	h.others = h.servers()
	if o.Offline {
		return h, h.rehearse()
	}
	conf := llm.Config{
		Preset: cmp.Or(o.Preset, settings.Model.Preset), BaseURL: cmp.Or(o.BaseURL, settings.Model.BaseURL), Model: o.Model,
		Log:           log,
		AnswerTimeout: settings.Model.AnswerTimeout, Blob: h.blob,
		// The room is told after some seven seconds, since a person is waiting; the identity goes on trying by itself.
		MaxRetries: 3,
		OnRetry: func(err error, wait time.Duration) {
			log.Warn("the model did not answer; asking again", "error", err, "in", wait.Round(time.Millisecond))
		},
	}
	if o.Preset+o.BaseURL != "" {
		h.options.Model = conf.Named()
	}
	named := cmp.Or(h.options.Model, settings.Model.Name)
	conf.Model = named
	h.client, err = llm.New(conf)
	isNamed := o.Model+conf.Preset+conf.BaseURL+llm.ParseName(named).Preset != ""
	mayRehearse := o.Rehearse && !isNamed
	if mayRehearse && errors.Is(err, llm.ErrNoKey) {
		return h, h.rehearse()
	}
	if err != nil && !errors.Is(err, llm.ErrNoKey) {
		err = config.Invalid("", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	h.Endpoint, h.preset, h.model = h.client.Host(), h.client.Preset().Name, h.client.Preset().Model
	if cmp.Or(llm.ParseName(named).Model, h.model) == "" {
		const hint = "name one with --model, or model.name in config.toml"
		return nil, config.Invalid(hint, "no model is named for %s", h.Endpoint)
	}
	err = h.know(cmp.Or(named, h.model))
	for _, name := range settings.Model.Fallback {
		if _, _, err := (llm.Models{Client: h.client}).Of(h.known.Settle(name, "", h.preset)); err != nil {
			log.Warn("a model of model.fallback cannot stand in", "error", err)
		}
	}
	return h, err
}

// know finds out what is known of models; where nobody knows the window of the one in use, the endpoint may.
func (h *Host) know(model string) error {
	h.known = h.settings.Known(h.preset)
	info, _ := h.known.Of(model)
	if info.Window == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), tellTime)
		defer cancel()
		_, _, models, _ := h.client.Look(ctx)
		h.known.Learn(h.preset, models)
		model = h.known.Settle(model, "", h.preset)
		name := llm.ParseName(model).Model
		var window int
		if window, h.limit = h.client.Window(ctx, name); window > 0 {
			h.known.Learn(h.preset, llm.Known{name: {Window: window, From: h.Endpoint}})
		}
		info, _ = h.known.Of(model)
	}
	return config.Fits(cmp.Or(h.options.Limit, h.settings.Context.Limit), model, info)
}

// blob reads a picture.
func (h *Host) blob(hash string) ([]byte, error) {
	b, err := h.store.Find(hash)
	return b.Body, err
}

// rehearse starts listening for the offline model, over HTTP like any other.
func (h *Host) rehearse() error {
	server := rehearsal.New(rehearsal.Options{Pace: h.options.Pace})
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	h.Offline, h.Endpoint, h.model, h.known = true, "offline", offlineModel, h.settings.Known("")
	// The client wants a key. Keys are struck out of errors, so it is no word that an error could hold.
	h.client, err = llm.New(llm.Config{Preset: "deepseek", BaseURL: url, Key: "no-key-is-needed", Log: h.log})
	h.serve = server.Serve
	return err
}

// Agent is an identity that is open.
type Agent = agent.Agent

// OpenAgent makes the running form of an identity.
func (h *Host) OpenAgent(id home.Identity) (*agent.Agent, error) {
	config, err := h.config(id)
	if err != nil {
		return nil, err
	}
	return agent.Open(id, config)
}

// Run runs identities until ctx ends or every one has stopped. With Standby it also runs what this host has, and takes
// from others, and goes on until it is drained.
func (h *Host) Run(ctx context.Context, ids []home.Identity) error {
	h.warn()
	return h.Serving(ctx, func(ctx context.Context) error {
		if !h.options.Standby || h.shared == nil {
			return h.supervise(ctx, ids, h.options.Rooms)
		}
		h.shared.StandBy(ctx, ids, func(id home.Identity) error {
			rooms := h.options.Rooms
			if !slices.Contains(ids, id) {
				rooms = nil
			}
			err := h.supervise(ctx, []home.Identity{id}, rooms)
			moved := home.IsElsewhere(err)
			failed := err != nil && !moved
			if failed && ctx.Err() == nil {
				h.log.Error("an identity of this host has stopped", "identity", id.Name, "error", err)
			}
			return err
		})
		return nil
	})
}

// warn warns of all that weakens the promises here.
func (h *Host) warn() {
	h.warnings = nil
	bash := h.settings.Tools.Bash
	if len(h.settings.Tools.Shell) > 0 { // which needs no sandbox here
		bash = tools.BashOff
	}
	for _, w := range Warnings(h.home.Dir, bash) {
		h.warnings = append(h.warnings, w.Text)
	}
	if !confines.Load() {
		h.warnings = append(h.warnings, "BASH and programs of [mcp] are refused: this program does not call host.Main first")
	}
	for _, what := range h.warnings {
		h.log.Warn(what)
	}
	const fit = mind.MaxLife / 200 // characters of a usual line
	if lines := h.settings.Life.Lines; lines > fit {
		h.log.Warn(fmt.Sprintf("life.lines = %d: a request shows at most %d characters of them, about %d lines",
			lines, mind.MaxLife, fit))
	}
}

// Serving runs f, and as long as it lasts the watcher and the offline model, if that is
// the one: they outlive identities, which may be in the middle of a call.
func (h *Host) Serving(ctx context.Context, f func(context.Context) error) error {
	around, end := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return h.watcher.Run(around) })
	if h.shared != nil {
		h.shared.Until(ctx)
		serving, fails := context.WithCancel(ctx)
		defer fails()
		ctx = serving
		group.Go(func() error {
			err := h.serveOthers(around)
			if err != nil { // nothing can be shared, so nobody runs
				fails()
			}
			return err
		})
	}
	if h.serve != nil {
		group.Go(func() error { return h.serve(around) })
	}
	err := f(ctx)
	if h.others != nil {
		h.others.Close()
	}
	if h.client != nil { // Look runs nothing that asks a model
		h.client.Close()
	}
	end()
	return errors.Join(err, group.Wait())
}

// serveOthers shares the rooms with other hosts, and says that this one is there.
func (h *Host) serveOthers(ctx context.Context) error {
	changed, cancel := h.watcher.Subscribe(chat.Scope{Dir: h.home.Chats()})
	defer cancel()
	err := h.shared.Serve(ctx, changed)
	if errors.Is(err, hosts.ErrDrained) {
		h.log.Warn(err.Error())
		err = nil
	}
	return err
}

// opener is open, for the supervisor. At first it subscribes the identity to some
// rooms. Where others go on running, it reports at once that one
// cannot be opened. Children of ids, which come later, hear their own rooms.
func (h *Host) opener(ids []home.Identity, rooms []string) func(home.Identity) (*agent.Agent, error) {
	var seen sync.Map
	return func(id home.Identity) (*agent.Agent, error) {
		_, again := seen.LoadOrStore(id.Self, true)
		a, err := h.OpenAgent(id)
		isOne := slices.Contains(ids, id)
		_, still := id.Started()
		isHalted := !still || id.Held() // the stop was for a run before
		if err == nil && isOne && h.options.started && isHalted {
			a.Close()
			return nil, context.Canceled
		}
		again = again || !isOne
		if err == nil && !again {
			for _, room := range rooms {
				err = errors.Join(err, h.home.Subscribe(id, room))
			}
			if err != nil {
				a.Close()
			}
		}
		isNews := len(ids) > 1 && !again
		reports := isNews && h.options.Report != nil
		if err != nil && reports {
			h.options.Report(err)
		}
		return a, err
	}
}

// Boot boots an identity, which hears the room dev unless o names rooms or work, after a check that it can run with its
// settings. Where the name is taken, the error is home.ErrExists, and the identity is the one that has it.
func (h *Host) Boot(o home.BootOptions) (home.Identity, error) {
	if len(o.Rooms) == 0 && o.Hired == nil {
		o.Rooms = []string{config.DefaultRoom}
	}
	if h.shared != nil {
		if err := h.shared.Unknown(o.Name); err != nil {
			return home.Identity{}, err
		}
	}
	o.Check = func(id home.Identity) error {
		config, err := h.config(id)
		if err != nil {
			return err
		}
		return agent.Check(id, config)
	}
	return home.Boot(h.home, h.store, o)
}
