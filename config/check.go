package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/budget"
	"lethe/chat"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

func (s Settings) check() error {
	var faults []error
	unless := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(key, value string, allowed ...string) {
		unless(value == "" || slices.Contains(allowed, value), "%s = %q is none of %s", key, value, strings.Join(allowed, ", "))
	}
	atLeast := func(key string, value, least int) {
		unless(value == 0 || value >= least, "%s = %d is less than %d", key, value, least)
	}
	unless(s.DefaultIdentity == "" || agent.ValidName(s.DefaultIdentity), "default_identity = %q is not a name", s.DefaultIdentity)
	for _, name := range s.People {
		unless(chat.ValidName(name), "people: %q is not a name that a line can be signed with", name)
	}
	_, err := time.LoadLocation(s.TZ)
	unless(err == nil, "tz = %q is not a time zone such as \"Europe/Berlin\"", s.TZ)
	for _, entry := range s.Notify {
		name, ok := strings.CutPrefix(entry, notifyBy)
		unless(ok && name != "" && chat.ValidRoom(chat.NotifyRoom(name)), "notify has %q, which is not of the form \"telegram:NAME\", with a name of letters a-z, digits, _ and -", entry)
	}
	oneOf("model.preset", s.Model.Preset, llm.Presets()...)
	oneOf("model.thinking", s.Model.Thinking, "enabled", "disabled")
	oneOf("model.effort", s.Model.Effort, "low", "high", "max")
	atLeast("model.max_tokens", s.Model.MaxTokens, 256)
	atLeast("context.limit", s.Context.Limit, 1)
	if t := s.Fade.Target; t != nil {
		unless(*t >= 0 && *t <= 1, "fade.target = %g is not between 0 and 1", *t)
	}
	oneOf("compactor.mode", s.Compactor.Mode, "model", ModeMechanical)
	atLeast("compactor.parallel", s.Compactor.Parallel, 1)
	oneOf("prompt.order", s.Prompt.Order, "head", mind.OrderTail)
	unless(s.Life.Lines >= 0 && s.Life.Lines <= 50, "life.lines = %d is not between 0 and 50", s.Life.Lines)
	atLeast("turn.max_steps", s.Turn.MaxSteps, 1)
	atLeast("chat.max_agent_turns", s.Chat.MaxAgentTurns, 1)
	oneOf("triggers.add", s.Triggers.Add, agent.AddSpoken, agent.AddAlways)
	oneOf("recall.hints", s.Recall.Hints, "on", HintsOff)
	lasts := func(key string, d time.Duration) { // a number without a unit is taken for nanoseconds
		unless(d == 0 || d >= time.Second, "%s = %s is not a positive duration of a second or more, such as \"90s\" or \"5m\"", key, d)
	}
	lasts("model.answer_timeout", s.Model.AnswerTimeout)
	lasts("tools.bash_timeout", s.Tools.BashTimeout)
	askTime, err := tools.Duration(cmp.Or(s.Tools.AskTime, "7d"))
	unless(err == nil, "tools.ask_time = %q is not a duration such as \"12h\" or \"3d\"", s.Tools.AskTime)
	lasts("tools.ask_time", askTime)
	for _, rule := range s.Tools.Ask {
		_, err := tools.ParseRule(rule)
		unless(err == nil, "tools.ask: %w", err)
	}
	oneOf("tools.bash", s.Tools.Bash, tools.BashOff, tools.BashSandbox, tools.BashTrusted)
	b, r := s.Budget, s.Reviewer
	for _, limit := range []struct {
		key string
		usd float64
	}{{"day_usd", b.Day}, {"month_usd", b.Month}, {"spawn_usd", b.Spawn}, {"home_day_usd", b.HomeDay}} {
		unless(limit.usd == 0 || limit.usd >= 0.01 && limit.usd <= 1e6, "budget.%s = %g is not an amount from 0.01 to 1000000 dollars; leave it out to set no limit", limit.key, limit.usd)
	}
	oneOf("budget.unpriced", b.Unpriced, "refuse", unpricedAllow)
	unless(r.For == "" || agent.ValidName(r.For), "reviewer.for = %q is not a name", r.For)
	unless(agent.ValidName(r.Called()), "reviewer.name = %q is not a name", r.Name)
	unless(r.For != r.Called(), "reviewer.for = %q is the reviewer itself; give it another name", r.For)
	for model, p := range s.Prices {
		unless(p.Hit >= 0 && p.Miss > 0 && p.Output > 0 && max(p.Hit, p.Miss, p.Output) <= 1e6, "prices.%q: miss and output have to be given, and hit may be: USD per million tokens, above 0 and up to 1000000", model)
	}
	return errors.Join(faults...)
}

// Budget are the limits of config.toml, in dollars.
type Budget struct {
	Day      float64 `toml:"day_usd"`
	Month    float64 `toml:"month_usd"`
	Spawn    float64 `toml:"spawn_usd"`
	HomeDay  float64 `toml:"home_day_usd"`
	Unpriced string  `toml:"unpriced"`
}

const unpricedAllow = "allow"

// Limits is what may be spent.
func (s Budget) Limits() budget.Limits {
	return budget.Limits{
		Sums:  budget.Sums{Day: budget.Of(s.Day), Month: budget.Of(s.Month)},
		Spawn: budget.Of(s.Spawn), HomeDay: budget.Of(s.HomeDay), AllowUnpriced: s.Unpriced == unpricedAllow,
	}
}

// Reviewer is who gives a second opinion.
type Reviewer struct {
	For   string `toml:"for"` // the name of the identity that is reviewed
	Name  string `toml:"name"`
	Model string `toml:"model"`
}

// Called is its name.
func (s Reviewer) Called() string { return cmp.Or(s.Name, "reviewer") }

// Is reports whether an identity is the reviewer.
func (s Reviewer) Is(id agent.Identity) bool { return s.For != "" && id.Name == s.Called() }
