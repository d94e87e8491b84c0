package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/chat"
)

// faults gathers what makes no sense.
type faults []error

func (f *faults) unless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// tagged refuses what the tags of settings do not allow.
func (f *faults) tagged(settings reflect.Value, table string) {
	for field, value := range settings.Fields() {
		key := table + field.Tag.Get("toml")
		switch v := value.Interface().(type) {
		case string:
			f.oneOf(key, v, strings.Fields(field.Tag.Get("one"))...)
		case int:
			least, err := strconv.Atoi(field.Tag.Get("least"))
			bounded := err == nil && v != 0
			f.unless(!bounded || v >= least, "%s = %d is less than %d", key, v, least)
		case float64: // of a budget
			isAmount := v >= 0.01 && v <= 1e6
			f.unless(v == 0 || isAmount, "%s = %g is not an amount from 0.01 to 1000000 dollars; "+
				"leave it out to set no limit", key, v)
		case time.Duration:
			f.lasts(key, v)
		}
		if value.Kind() == reflect.Struct {
			f.tagged(value, key+".")
		}
	}
}

// oneOf refuses a value that is not listed, if any are.
func (f *faults) oneOf(key, value string, of ...string) {
	if value != "" && len(of) > 0 {
		f.unless(slices.Contains(of, value), "%s = %q is none of %s", key, value, strings.Join(of, ", "))
	}
}

// lasts refuses a number without a unit, which is taken for nanoseconds.
func (f *faults) lasts(key string, d time.Duration) {
	const what = "%s = %s is not a positive duration of a second or more, such as \"90s\" or \"5m\""
	f.unless(d == 0 || d >= time.Second, what, key, d)
}

func (f *faults) priced(key string, p llm.Price) {
	least, most := min(p.Hit, p.Write), max(p.Hit, p.Miss, p.Write, p.Output)
	isGiven := p.Miss > 0 && p.Output > 0
	isPrice := least >= 0 && most <= 1e6
	f.unless(isGiven && isPrice, "%s: miss and output have to be given, and hit "+
		"and write may be: USD per million tokens, above 0 and up to 1000000", key)
}

// Check refuses values that make no sense.
func (s *Settings) Check() error {
	var f faults
	f.tagged(reflect.ValueOf(*s), "")
	f.unless(s.DefaultIdentity == "" || home.ValidName(s.DefaultIdentity),
		"default_identity = %q is not a name", s.DefaultIdentity)
	for _, name := range s.People {
		f.unless(chat.ValidName(name), "people: %q is not a name that a line can be signed with", name)
	}
	_, err := time.LoadLocation(s.TZ)
	f.unless(err == nil, "tz = %q is not a time zone such as \"Europe/Berlin\"", s.TZ)
	for _, entry := range s.Notify {
		name, ok := strings.CutPrefix(entry, ByTelegram+":")
		if entry == ByPush {
			name, ok = s.UserName(), true
		}
		isName := name != "" && chat.ValidRoom(chat.NotifyRoom(name))
		f.unless(ok && isName, "notify has %q, which is neither \"push\" nor "+
			"of the form \"telegram:NAME\", with a name (for push, user) of letters a-z, digits, _ and -", entry)
	}
	f.oneOf("model.preset", s.Model.Preset, llm.Presets()...)
	if t := s.Fade.Target; t != nil {
		f.unless(*t >= 0 && *t <= 1, "fade.target = %g is not between 0 and 1", *t)
	}
	shared := s.Share
	if shared.URL == "" {
		isSet := shared.Standby || shared.Plain
		f.unless(!isSet && len(shared.To) == 0,
			"share has no url: it names the store that standby, plain and to are about")
	}
	f.unless(shared.Workspace == nil || *shared.Workspace >= 0, "share.workspace is in megabytes, 0 or more")
	f.unless(shared.PutUSD == nil || *shared.PutUSD >= 0, "share.put_usd is in dollars, 0 or more")
	f.unless(s.Life.Lines >= 0 && s.Life.Lines <= 50, "life.lines = %d is not between 0 and 50", s.Life.Lines)
	s.checkTools(&f)
	f.unless(s.Web.Check() == nil, "%w", s.Web.Check())
	for _, name := range slices.Sorted(maps.Keys(s.MCP)) {
		err := s.MCP[name].Check(name, s.Tools.Network == NetworkNone)
		f.unless(err == nil, "mcp.%s: %w", name, err)
	}
	for model, price := range s.Prices {
		f.priced(fmt.Sprintf("prices.%q", model), price)
	}
	for model, m := range s.Models {
		key := fmt.Sprintf("models.%q", model)
		f.unless(m.Window >= 0 && m.Output >= 0, "%s: window and answer are tokens, above 0", key)
		if m.Price != (llm.Price{}) {
			f.priced(key, m.Price)
		}
	}
	for name, agent := range s.Agents {
		f.oneOf("agents."+name+".wake", agent.Wake, "lines", WakeMentions)
	}
	for _, id := range s.Secrets.Allow {
		f.unless(len(id) == 4 && strings.Trim(id, "0123456789abcdef") == "",
			"secrets.allow: %q is not the four digits of a mark, such as 3f9a of [secret 3f9a: …]", id)
	}
	r := s.Reviewer
	f.unless(r.For == "" || home.ValidName(r.For), "reviewer.for = %q is not a name", r.For)
	f.unless(home.ValidName(r.Called()), "reviewer.name = %q is not a name", r.Name)
	f.unless(r.For != r.Called(), "reviewer.for = %q is the reviewer itself; give it another name", r.For)
	return errors.Join(f...)
}

// tools refuses names of tools that there are not.
func (f *faults) tools(key string, names []string) {
	all := tools.All()
	for _, name := range names {
		near := cmp.Or(Nearest(name, all), strings.Join(all, ", "))
		f.unless(slices.Contains(all, name), "%s: there is no tool %q; did you mean %s?", key, name, near)
	}
}

func (s Settings) checkTools(f *faults) {
	askTime, err := tools.Duration(cmp.Or(s.Tools.AskTime, "7d"))
	f.unless(err == nil, "tools.ask_time = %q is not a duration such as \"12h\" or \"3d\"", s.Tools.AskTime)
	f.lasts("tools.ask_time", askTime)
	f.tools("tools.only", s.Tools.Only)
	for _, rule := range s.Tools.Ask {
		_, err := tools.ParseRule(rule)
		f.unless(err == nil, "tools.ask: %w", err)
	}
}

// Budget are the limits of config.toml, in dollars.
type Budget struct {
	Day      float64 `toml:"day_usd"`
	Month    float64 `toml:"month_usd"`
	Spawn    float64 `toml:"spawn_usd"`
	HomeDay  float64 `toml:"home_day_usd"`
	Unpriced string  `toml:"unpriced" one:"refuse allow"`
}

const unpricedAllow = "allow"

// Limits bound the money that may be spent.
func (s Budget) Limits() budget.Limits {
	return budget.Limits{
		Sums:  budget.Sums{Day: budget.Of(s.Day), Month: budget.Of(s.Month)},
		Spawn: budget.Of(s.Spawn), HomeDay: budget.Of(s.HomeDay), AllowUnpriced: s.Unpriced == unpricedAllow,
	}
}

// Reviewer is the identity that gives a second opinion.
type Reviewer struct {
	For   string `toml:"for"` // the name of the identity that is reviewed
	Name  string `toml:"name"`
	Model string `toml:"model"`
}

// Called is its name.
func (s Reviewer) Called() string { return cmp.Or(s.Name, "reviewer") }

// Is reports whether an identity is the reviewer.
func (s Reviewer) Is(id home.Identity) bool { return s.For != "" && id.Name == s.Called() }
