package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/keeper"
	"lethe/agent/listen"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/life"
	"lethe/mind"
)

// Config holds the settings of an identity. Zero numbers take the defaults.
type Config struct {
	Home    home.Home
	Store   *blobs.Store
	Watcher *chat.Watcher
	Log     *slog.Logger
	Zone    *time.Location // of schedules and of a budget's days; default the machine's

	Thinking
	Limits
	listen.Hearing
	Calling

	Warnings []string // of weak promises here, for the status

	// Listed returns the names of people whom bridges list. What they and People say can be pinned, or with nil People
	// what everybody says. It may be nil.
	Listed func() []string

	Ready func(home.Identity)             // called once the identity hears its rooms
	Tell  func(home.Identity, life.Event) // called for each event that has happened
	Retry <-chan os.Signal                // a person says that the cause of a pause is mended

	pace
}

// Thinking holds the models of an identity.
type Thinking struct {
	Model   Model
	Offline bool // Model is the rehearsal one
	// Params were asked for. A zero one is as the life has it, or the default. A
	// difference to the life's own begins a new epoch.
	Params       mind.Params
	DefaultModel string // for a life without one, or from another endpoint

	Preset   string    // of models without one in their names
	Fallback []string  // models that stand in, in this order, when the first does not answer
	Known    llm.Known // of models, before the table

	Recall   Recall
	RulesDir string // where this user's rules for agents are, as prompt.Layer says; default nowhere
}

// Limits bound what an identity holds, does and spends.
type Limits struct {
	Forgetting   Forgetting
	ContextLimit int           // tokens of a whole request with its answer; default 100,000
	LifeLines    int           // newest lines of LIFE that a prompt shows; default 0
	MaxSteps     int           // model calls without a user's word; default 50
	Budget       budget.Limits // of money; default no limit
}

// Calling holds the tools of an identity, and the rules for calls and answers that others decide on.
type Calling struct {
	Tools   tools.Config  // the parts that are not the identity's own
	Gate    hook.Gate     // that a final answer has to pass; default nothing
	AskTime time.Duration // that people have to approve a call; default a week
	pins    []string      // of a child's parent
}

// pace are times that tests change.
type pace struct {
	quiet       time.Duration // default quietAfter
	patience    time.Duration // default patience
	viewEvery   time.Duration // default keeper.ViewEvery
	halfWritten time.Duration // default keeper.HalfWritten
	reviewEvery time.Duration // of wake.Review
	checkTime   time.Duration // of the checks of an answer; default checkTime
}

const (
	defaultMaxSteps      = 50
	defaultMaxAgentTurns = 8
)

// complete fills in defaults.
func (c *Config) complete(id home.Identity) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler)).With("identity", id.Name)
	c.ContextLimit = cmp.Or(c.ContextLimit, prompt.DefaultLimit)
	c.MaxSteps = cmp.Or(c.MaxSteps, defaultMaxSteps)
	c.MaxAgentTurns = cmp.Or(c.MaxAgentTurns, defaultMaxAgentTurns)
	c.Zone = cmp.Or(c.Zone, time.Local)
	c.quiet = cmp.Or(c.quiet, quietAfter)
	c.patience = cmp.Or(c.patience, patience)
	c.viewEvery = cmp.Or(c.viewEvery, keeper.ViewEvery)
	c.checkTime = cmp.Or(c.checkTime, checkTime)
	c.halfWritten = cmp.Or(c.halfWritten, keeper.HalfWritten)
	c.Tools.AgentDir, c.Tools.Home, c.Tools.ChatsDir = id.Dir, c.Home.Dir, c.Home.Chats()
	c.Tools.Zone, c.Tools.Weight = c.Zone, weightOf
}

// forChild returns the configuration of a child, which its parent gave it.
func (c Config) forChild(id home.Identity) (Config, error) {
	child, err := id.Child()
	if child == nil || err != nil {
		return c, err
	}
	if !c.Offline {
		c.Params.Model = cmp.Or(child.Model, c.Params.Model)
	}
	c.Tools, c.pins, c.Tools.Files = c.Tools.Narrowed(child.Tools), child.Pins, child.Files
	c.Gate = hook.Gate{Check: child.Check, Schema: json.RawMessage(child.Schema)}
	if up := home.Ancestry(c.Store, id.Self); len(up) > 0 && c.Tools.Workspace == "" {
		c.Tools.Lent = filepath.Join(c.Home.Agents(), up[len(up)-1], "workspace")
		c.Tools.Workspace = c.Tools.Lent
	}
	return c, nil
}

// wanted are the parameters that a new epoch of a life takes.
func (c Config) wanted(state *mind.State) mind.Params {
	params := state.NextParams(c.Params, c.DefaultModel)
	model, _ := c.Known.Of(params.Model)
	limit := c.limitOf(state, params)
	params.Sees = model.Sees
	if params.MaxTokens == 0 || limit != c.ContextLimit {
		params.MaxTokens = compactor.AnswerTokens(params.MaxTokens, limit)
	}
	params.MaxTokens = min(params.MaxTokens, cmp.Or(model.Output, params.MaxTokens))
	return params
}

// limitOf returns the limit of requests with these parameters.
func (c Config) limitOf(state *mind.State, params mind.Params) int {
	limit := prompt.Bound(c.Known, params.Model, c.ContextLimit)
	if params.SameModel(state.Stable.Params) { // lessons about another model do not hold
		limit = prompt.Limit(state, limit)
	}
	return limit
}

// schemas returns the tools of requests with these parameters.
func (c Config) schemas(set *tools.Set, state *mind.State, params mind.Params) json.RawMessage {
	if c.limitOf(state, params) < compactor.SmallLimit {
		return set.Brief()
	}
	return set.Schemas()
}

// SettingsError says that an identity cannot run with its settings: a workspace
// that holds the home, or a context limit that is too small.
type SettingsError struct{ error }

func (e *SettingsError) Unwrap() error { return e.error }

// Check reports whether an identity that is about to be booted can run with cfg.
// It records nothing. The error is a *SettingsError.
func Check(id home.Identity, cfg Config) error {
	cfg.complete(id)
	set, err := tools.New(cfg.Tools)
	if err != nil {
		return &SettingsError{fmt.Errorf("open %s: %w", id.Name, err)}
	}
	soul, err := id.ReadOwn("SOUL.md", cfg.Log)
	if err != nil {
		return err
	}
	s, ref := mind.New(), mind.Ref{Short: "0123456789abcdef", Gist: "SUMMARISE.md"}
	system := mind.System(id.Name, id.Self, string(soul), mind.Rules(), ref, ref)
	params := cfg.wanted(s)
	s.Renew(mind.Inputs{System: system, Tools: cfg.schemas(set, s, params), Params: params})
	return cfg.checkLimit(id, s.Stable, set)
}

// checkLimit refuses a limit that leaves no room for a conversation.
func (c Config) checkLimit(id home.Identity, stable mind.Stable, set *tools.Set) error {
	bound := prompt.Bound(c.Known, stable.Params.Model, c.ContextLimit)
	if err := prompt.Check(stable, set.Schemas(), bound, c.Params.MaxTokens); err != nil {
		return &SettingsError{fmt.Errorf("open %s: %w", id.Name, err)}
	}
	return nil
}
