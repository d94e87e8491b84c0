package wake

import (
	"os"
	"path/filepath"
	"time"

	"lethe/agent/journal"
	"lethe/agent/work"
	"lethe/chat"
	"lethe/life/event"
)

// Plans is the source that drives plans: it gives steps to workers, and names to the identity what is next for itself.
type Plans struct {
	Config
	Dir string // of the plans; "" while it is missing

	again time.Time // no mark is tried before, since one failed: a try changes Dir, which wakes
}

// Due returns what is due for the plans, when nothing else goes on.
func (p *Plans) Due(v View) (commits []Commit, next time.Time, err error) {
	work.Settle(p.Home.Dir, p.Identity.Subs(), v.Mind)
	if v.Busy || len(v.Wakes) > 0 || len(v.Company) == 0 {
		return nil, next, nil
	}
	if v.Now.Before(p.again) {
		return nil, p.again, nil
	}
	was, dir := p.Dir, filepath.Join(p.Tools.Workspace, work.Dir)
	if _, err := os.Lstat(dir); err != nil {
		dir = ""
	}
	p.Dir = dir
	if was != p.Dir {
		next = v.Now.Add(time.Second) // it is watched only now
	}
	if dir == "" {
		return nil, next, nil
	}
	plans, _ := work.Steps(p.Tools.Workspace) // a check before an answer tells what cannot be read
	for _, plan := range plans {
		if plan.Every >= time.Minute {
			next = Sooner(next, v.Now.Add(plan.Every)) // people may change it meanwhile
		}
		if plan.Inherits(p.Home.Dir, v.Mind) { // its rooms are left soon, which is heard here
			continue
		}
		plan.Held = plan.Waits(p.Home.Dir, v.Mind)
		pass := plan.Pass(v.Mind, v.Free, v.Now)
		if pass.Hold { // before the mark, which says that it was
			if err := plan.Pause(p.Home.Dir, v.Mind); err != nil {
				return nil, next, err
			}
		}
		if len(pass.Marks) > 0 {
			if err := plan.Mark(p.Tools.Workspace, pass.Marks, pass.Hold || plan.Held); err != nil { // somebody writes it
				p.Log.Debug("a plan keeps its marks", "plan", plan.Name, "error", err)
				p.again = v.Now.Add(time.Second)
				next = Sooner(next, v.Now.Add(time.Minute)) // or when it changes
				continue
			}
			return p.Due(v)
		}
		for _, room := range pass.Leave {
			_ = chat.Unsubscribe(p.Identity.Subs(), room) // it is tried again
		}
		if pass.Say != "" && !v.Unread() {
			fire := p.Fire(event.Fired{By: plan.Signer(), Seen: pass.Seen}, pass.Say, v.Now, v.Company[0])
			return []Commit{{fire}}, next, nil
		}
		for _, step := range pass.Give {
			ask := plan.Ask(step)
			ask.Self, ask.At, ask.Room = p.Identity.Self, v.Now.UTC(), v.Company[0]
			gives := event.Asked{Call: ask.Call, Posting: event.Posting{TS: v.Now.UTC().Truncate(time.Second)}}
			commits = append(commits, Commit{journal.Told(gives, ask.Gist(), ask.Encode())})
		}
		if len(commits) > 0 {
			return commits, next, nil
		}
	}
	return nil, next, nil
}
