package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"lethe/agent"
	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/listen"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/agent/tools/catalogue"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/mind"
	"lethe/mind/audience"
)

// config returns the settings that an identity runs with.
func (h *Host) config(id home.Identity) (agent.Config, error) {
	settings, err := h.settingsOf(id)
	if err != nil {
		return agent.Config{}, err
	}
	c := agent.Config{
		Home: h.home, Store: h.store, Watcher: h.watcher, Log: h.log, Zone: h.settings.Zone(),
		Thinking: h.thinking(), Limits: h.limits(id), Hearing: h.hearing(id), Calling: h.calling(id, settings),
		Warnings: h.warnings, Ready: h.hears, Tell: h.options.Tell, Retry: h.options.Retry[id.Self],
		Listed: h.options.Listed,
	}
	hired, err := id.Hired()
	if err != nil {
		return c, err
	}
	if hired != nil {
		h.employ(hired.With, &c)
		c.RestAfter = h.options.restAfter
	}
	return c, h.review(id, &c)
}

// employ has an identity run with its role.
func (h *Host) employ(role home.Role, c *agent.Config) {
	c.Tools = c.Tools.Narrowed(role.Tools)
	c.Mentions = c.Mentions || role.Wake == config.WakeMentions
	if role.Model != "" && !h.Offline {
		c.Params.Model = h.known.Settle(role.Model, "", h.preset)
	}
}

// thinking returns the model, and all that shapes its requests.
func (h *Host) thinking() agent.Thinking {
	settings := h.settings
	t := agent.Thinking{
		Model: h.client, Offline: h.Offline, DefaultModel: h.model, Preset: h.preset, Known: h.known,
		Params: mind.Params{
			Model: offlineModel, MaxTokens: settings.Model.MaxTokens,
			Thinking: settings.Model.Thinking, Effort: settings.Model.Effort,
			Order: settings.Prompt.Order, Endpoint: h.Endpoint,
		},
		Recall: agent.Recall{NoHints: settings.Recall.Hints == config.HintsOff, HintTime: h.options.HintTime},
	}
	if dir, err := os.UserConfigDir(); err == nil {
		t.RulesDir = filepath.Join(dir, "lethe")
	}
	if h.Offline { // which gets names as they are
		return t
	}
	t.Model = llm.Models{Client: h.client}
	t.Params.Model = h.known.Settle(cmp.Or(h.options.Model, settings.Model.Name), "", h.preset)
	for _, name := range settings.Model.Fallback {
		t.Fallback = append(t.Fallback, h.known.Settle(name, "", h.preset))
	}
	return t
}

// Complete asks the model outside of any life.
func (h *Host) Complete(ctx context.Context, request llm.Request) (llm.Reply, error) {
	return h.thinking().Model.Complete(ctx, request, nil)
}

func (h *Host) limits(id home.Identity) agent.Limits {
	settings := h.settings
	return agent.Limits{
		Forgetting: agent.Forgetting{
			Target: settings.Fade.Target, Parallel: settings.Compactor.Parallel,
			Model:      h.known.Settle(settings.Compactor.Model, "", h.preset),
			Mechanical: settings.Compactor.Mode == config.ModeMechanical,
		},
		ContextLimit: h.Of(id).Limit(), LifeLines: settings.Life.Lines,
		MaxSteps: settings.Turn.MaxSteps, Budget: settings.Budget.Limits(),
	}
}

func (h *Host) hearing(id home.Identity) listen.Hearing {
	settings := h.settings
	return listen.Hearing{
		People: settings.Deciders(), Switchers: settings.People, Mentions: settings.Mentions(id.Name),
		MaxAgentTurns: settings.Chat.MaxAgentTurns, AddTriggers: settings.Triggers.Add, Webhooks: h.options.Webhooks,
		Notify: h.notices(),
	}
}

// notices returns the rooms for people whom notify of config.toml lists.
func (h *Host) notices() (rooms []string) {
	for _, name := range append(h.settings.Notified(config.ByTelegram), h.settings.Notified(config.ByPush)...) {
		rooms = append(rooms, chat.NotifyRoom(name))
	}
	return rooms
}

// settingsOf returns the settings of an identity. In a home where rooms have readers, one that others hear than people
// in people works in a directory of its own, and its commands are confined.
func (h *Host) settingsOf(id home.Identity) (config.Settings, error) {
	settings := h.settings
	settings.Tools.Workspace = cmp.Or(h.options.Workspace, settings.Tools.Workspace)
	isHeard, err := h.isHeardByOthers(id)
	leaves := len(settings.Tools.Shell) > 0 && !isHeard
	if leaves && err == nil && !settings.Tools.Untried && !id.IsChild() {
		err = sandbox.Try(settings.Tools.Shell, settings.Workspace(id.Dir))
	}
	if err != nil || !isHeard {
		return settings, err
	}
	settings.Tools.Workspace, settings.Tools.Roots, settings.Tools.Shell = "", nil, nil
	if settings.Tools.Bash == tools.BashTrusted {
		settings.Tools.Bash = tools.BashSandbox
	}
	return settings, nil
}

func (h *Host) isHeardByOthers(id home.Identity) (bool, error) {
	owners := audience.Readers(slices.Concat(h.settings.Deciders(), []string{h.settings.UserName()}))
	return h.home.HeardByOthers(id, owners)
}

func (h *Host) calling(id home.Identity, settings config.Settings) agent.Calling {
	if !confines.Load() {
		settings.Tools.Bash = tools.BashOff
	}
	var ask []tools.Rule
	for _, text := range settings.Tools.Ask {
		rule, _ := tools.ParseRule(text) // checked
		ask = append(ask, rule)
	}
	askTime, _ := tools.Duration(settings.Tools.AskTime) // checked
	shelf := h.shelf(id, settings, settings.Tools.Workspace)
	others := []catalogue.Source{shelf}
	if h.others != nil {
		others = append(others, h.others)
	}
	return agent.Calling{
		Tools: tools.Config{
			Workspace: settings.Tools.Workspace, ExtraRoots: settings.Tools.Roots, Bash: settings.Tools.Bash,
			Confined: func() bool { // since readers of rooms may have changed
				isHeard, err := h.isHeardByOthers(id)
				return err != nil || isHeard
			},
			Offline: settings.Tools.Network == config.NetworkNone, Transcribe: settings.Media.Transcribe,
			Shell: settings.Tools.Shell, BashTimeout: settings.Tools.BashTimeout, Secrets: h.options.Secrets, Ask: ask,
			Web: settings.Web, Others: others,
			Read: shelf.Dirs,
		}.Narrowed(settings.Tools.Only),
		Gate: hook.Gate{Check: settings.Gate.Check}, AskTime: askTime,
	}
}
