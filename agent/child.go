package agent

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/chat"
	"lethe/crew"
	"lethe/home"
	"lethe/life/event"
	"lethe/mind"
	"lethe/tools"
)

//go:embed worker.md
var worker string

// soulOf is the soul of a child: the one that was asked for, and how it works.
func soulOf(s tools.Child, parent, room string) string {
	soul := strings.TrimSpace(
		s.Soul + "\n\n" + strings.NewReplacer("{{parent}}", parent, "{{room}}", room).Replace(worker),
	)
	if s.Schema != "" {
		soul += "\nYour final text has to be JSON that fits this schema, and nothing else: " + string(s.Schema)
	}
	if s.Check != "" {
		soul += "\nIt counts when this command, with your final text as its input, exits 0: " + s.Check
	}
	return soul + "\n"
}

// forChild is the configuration of a child: what its parent gave it.
func (c Config) forChild(id home.Identity) (Config, error) {
	child, err := id.Child()
	if child == nil || err != nil {
		return c, err
	}
	if !c.Offline {
		c.Params.Model = cmp.Or(child.Model, c.Params.Model)
	}
	c.Tools.Only, c.pins = child.Tools, child.Pins
	c.Gate = Gate{Check: child.Check, Schema: json.RawMessage(child.Schema)}
	if up := home.Ancestry(c.Store, id.Self); len(up) > 0 && c.Tools.Workspace == "" {
		c.Tools.Lent = filepath.Join(c.Home.Agents(), up[len(up)-1], "workspace")
		c.Tools.Workspace = c.Tools.Lent
	}
	return c, nil
}

// concludeIfDue says of work that ended without a result that it has failed.
func (a *Agent) concludeIfDue() (due bool, err error) {
	if owed := a.state.Owed(); !a.state.Concludes() || owed.Answer || len(owed.Calls) > 0 || a.awaits() {
		return false, nil
	}
	why := cmp.Or(a.state.Paused, "the work ended without a result")
	return true, a.happen(event.Paused{Why: why, Ended: true, Notice: a.notice(why, a.state.Task.Room)})
}

// awaits reports whether something else than a line goes on or is waited for.
func (a *Agent) awaits() bool {
	return a.state.Expects() || len(a.state.Questions)+len(a.state.Approved) > 0
}

// finished reports whether a child that its parent runs has nothing left to do. It then stops
// until it is called again.
func (a *Agent) finished() bool {
	owed := a.state.Owed()
	return a.state.Task != nil && !a.state.Works() && !owed.Answer && len(owed.Calls)+len(owed.Posts) == 0 &&
		!a.awaits() && a.forgetting.job == nil &&
		a.team.Leave()
}

// company are the rooms that are heard but for those of its children, to whom every
// line is work.
func (a *Agent) company() []string {
	return slices.DeleteFunc(a.joined(), func(room string) bool { return a.state.Child(room) != nil })
}

// Join has a team run the identity's children.
func (a *Agent) Join(t *crew.Team) { a.team = t }

// lostChildren writes the results of children that cannot be run.
func (a *Agent) lostChildren(now time.Time) (out []record) {
	for _, c := range a.state.Working() {
		why := a.team.Lost(c.Name)
		owed := slices.ContainsFunc(a.state.Outbox, func(p mind.Post) bool { return p.Room == c.Room })
		stopped := why == crew.ErrStopped
		if why == nil || mind.Awaits(a.state.Wakes, c.Name) > 0 || stopped && (owed || !a.heardAll(c.Room)) {
			continue
		}
		failed := chat.Outcome{N: c.Given, Failed: true, Text: "it cannot be run: " + why.Error()}
		if stopped {
			failed.Text = why.Error()
		}
		out = append(out, a.triggers.Fire(event.Fired{By: c.Name}, failed.String(), now, c.Room))
	}
	return out
}
