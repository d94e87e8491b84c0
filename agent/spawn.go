package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// keptRooms are so many rooms of children that the identity goes on hearing.
const keptRooms = 32

// admit names the child of a call and takes its place among those of its tree, or says
// why there is none.
func (a *Agent) admit(call string, s tools.Child) (name, room string, err error) {
	if len(home.Ancestry(a.store, a.id.Self)) >= children.MaxDepth {
		return "", "", errors.New("you are the child of a child and can have none of your own: do it yourself")
	}
	if _, err := a.begets().Tools(s); err != nil {
		return "", "", err
	}
	model := a.modelOf(s)
	if info, _ := a.cfg.Known.Of(model); s.USD != "" && info.Miss == 0 && !a.cfg.Offline && !a.cfg.Budget.AllowUnpriced {
		return "", "", fmt.Errorf(
			"usd: nobody has told what the model %s costs, so it can be held to no limit: leave usd out, or tell a person",
			model,
		)
	}
	_, err = hook.ReadSchema(json.RawMessage(s.Schema))
	if err := cmp.Or(err, a.tools.MayRun("check", s.Check)); err != nil {
		return "", "", err
	}
	name, room = a.begets().NameFor(call)
	if !a.team.Admit(name) {
		return "", "", fmt.Errorf(
			"%d are at work already, which is the most: wait for a result, or do it yourself",
			children.MaxAlive,
		)
	}
	return name, room, nil
}

// Spawn makes the child that the call's intent has fixed, or finds it made, and lets it work.
func (a *Agent) spawn(call string, s tools.Child) (string, error) {
	i := slices.IndexFunc(a.state.Children, func(c mind.Child) bool { return c.Call == call })
	if i < 0 {
		return "", errors.New("it was not begun; call again")
	}
	c := a.state.Children[i]
	id, err := a.begets().Boot(c, s, a.modelOf(s), a.state.Pins)
	if err != nil {
		return "", err
	}
	if err := inOrder(a.outbox.postOwed, func() error { return a.cfg.Home.Subscribe(a.id, c.Room) }); err != nil {
		return "", err
	}
	a.leaveOld()
	a.team.Start(id)
	return fmt.Sprintf("%s works in room %s.", c.Name, c.Room), nil
}

// begets is the identity as a parent.
func (a *Agent) begets() children.Parent {
	return children.Parent{Home: a.cfg.Home, Store: a.store, Identity: a.id, Has: a.tools.Names()}
}

// modelOf is the model of a child: that which it was given, or that of its parent.
func (a *Agent) modelOf(s tools.Child) string {
	uses := a.state.Stable.Params.Model
	return llm.Settle(cmp.Or(s.Model, uses), uses, a.cfg.Preset)
}

// leaveOld leaves the rooms of the oldest children that have nothing to do, so that a
// life does not hear more and more of them.
func (a *Agent) leaveOld() {
	for _, c := range a.state.Children[:max(0, len(a.state.Children)-keptRooms)] {
		if !c.Open() {
			_ = chat.Unsubscribe(a.id.Subs(), c.Room) // it is tried again at the next
		}
	}
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
	c.Tools, c.pins = c.Tools.Narrowed(child.Tools), child.Pins
	c.Gate = hook.Gate{Check: child.Check, Schema: json.RawMessage(child.Schema)}
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
		!a.awaits() && a.forgetter.job == nil &&
		a.team.Leave()
}

// Join has a team run the identity's children.
func (a *Agent) Join(t *children.Team) { a.team = t }

// lostChildren writes the results of children that cannot be run.
func (a *Agent) lostChildren(now time.Time) (out []record) {
	for _, c := range a.state.Working() {
		why := a.team.Lost(c.Name)
		owed := slices.ContainsFunc(a.state.Outbox, func(p mind.Post) bool { return p.Room == c.Room })
		stopped := why == children.ErrStopped
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
