package wake

import (
	"fmt"
	"strings"
	"time"

	"lethe/agent/work"
	"lethe/chat"
	"lethe/life/event"
)

// Plans is the source of the lines that name the next step of a plan to its identity, where the plan has a time: once when
// another one is next, and again after that time.
type Plans struct{ Config }

// Due returns the next step of a plan, when nothing else goes on.
func (p Plans) Due(v View) (commits []Commit, next time.Time, err error) {
	if v.Busy || len(v.Wakes) > 0 || len(v.Company) == 0 {
		return nil, next, nil
	}
	plans, _ := work.Steps(p.Tools.Workspace) // a check before an answer tells what cannot be read
	for _, plan := range plans {
		name := strings.TrimSuffix(plan.Name, ".md")
		if plan.Every < time.Minute || !chat.ValidRoom(name) {
			continue
		}
		next = Sooner(next, v.Now.Add(plan.Every)) // people may change it meanwhile
		fired, step := v.Fires["work-"+name], plan.Next()
		isNamed := fired.Seen == step.Number() && v.Now.Before(fired.Last.Add(plan.Every))
		if step.What == "" || isNamed || v.Unread() {
			continue
		}
		text := fmt.Sprintf("Go on with %s/%s. Next: %s", work.Dir, plan.Name, step.What)
		fire := p.Fire(event.Fired{By: "work-" + name, Seen: step.Number()}, text, v.Now, v.Company[0])
		return []Commit{{fire}}, next, nil
	}
	return nil, next, nil
}
