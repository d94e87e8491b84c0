package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// admit names the child of a call and takes a place for it in its tree. The error says, to the model, why it cannot.
func (c *caller) admit(call string, asked tools.Child) (name, room string, err error) {
	if len(home.Ancestry(c.Store, c.ID.Self)) >= children.MaxDepth {
		return "", "", errors.New("you are the child of a child and can have none of your own: do it yourself")
	}
	if _, err := c.begets().Tools(asked); err != nil {
		return "", "", err
	}
	model := c.modelOf(asked)
	info, _ := c.cfg.Known.Of(model)
	priced := info.Miss != 0 || c.cfg.Offline
	bounded := asked.USD != "" && !c.cfg.Budget.AllowUnpriced
	if bounded && !priced {
		const text = "usd: nobody has told what the model %s costs, so it can be held to no limit: " +
			"leave usd out, or tell a person"
		return "", "", fmt.Errorf(text, model)
	}
	if _, err := hook.ReadSchema(json.RawMessage(asked.Schema)); err != nil {
		return "", "", err
	}
	if err := c.Tools.MayRun("check", asked.Check); err != nil {
		return "", "", err
	}
	name, room = c.begets().NameFor(call)
	if !c.Team.Admit(name) {
		return "", "", fmt.Errorf(
			"%d are at work already, which is the most: wait for a result, or do it yourself",
			children.MaxAlive,
		)
	}
	return name, room, nil
}

// spawn makes the child that the call's intent has fixed, or finds it made, and lets it work.
func (c *caller) spawn(call string, asked tools.Child) (string, error) {
	i := slices.IndexFunc(c.State.Children, func(child mind.Child) bool { return child.Call == call })
	if i < 0 {
		return "", errors.New("it was not begun; call again")
	}
	child := c.State.Children[i]
	if readers := c.State.Readers; !readers.Open() { // what it hears comes back here
		if err := (chat.About{Readers: readers}).Write(c.Home.Dir, child.Room); err != nil {
			return "", err
		}
	}
	id, err := c.begets().Boot(child, asked, c.modelOf(asked), c.State.PinsFor(c.State.TurnRoom()))
	if err != nil {
		return "", err
	}
	if err := c.outbox.PostOwed(); err != nil {
		return "", err
	}
	if err := c.Home.Subscribe(c.ID, child.Room); err != nil {
		return "", err
	}
	c.outbox.LeaveOld()
	c.Team.Start(id)
	return fmt.Sprintf("%s works in room %s.", child.Name, child.Room), nil
}

// begets is the identity as a parent.
func (c *caller) begets() children.Parent {
	return children.Parent{Home: c.Home, Store: c.Store, Identity: c.ID, Has: c.Tools.Names()}
}

// modelOf is the model of a child: its own if it was given one, else its parent's.
func (c *caller) modelOf(s tools.Child) string {
	uses := c.State.Stable.Params.Model
	return c.cfg.Known.Settle(cmp.Or(s.Model, uses), uses, c.cfg.Preset)
}

// failUnfinishedWork records, for a child whose work ended without a result, that the work has failed.
func (c *caller) failUnfinishedWork() (failed bool, err error) {
	owed := c.State.Owed()
	if !c.State.Concludes() || c.awaits() || owed.Answer || len(owed.Calls) > 0 {
		return false, nil
	}
	why := cmp.Or(c.State.Paused, "the work ended without a result")
	return true, c.Happen(event.Paused{Why: why, Ended: true, Notice: c.Notice(why, c.State.Task.Room)})
}

// awaits reports whether something else than a line goes on or is waited for.
func (c *caller) awaits() bool {
	return c.State.Expects() || len(c.State.Questions)+len(c.State.Approved) > 0
}
