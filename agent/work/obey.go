package work

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind"
)

// again writes a plan as it is. That wakes the daemon, which does not watch the files that hold a plan.
const again = "again"

// Obey does with a plan what a person wants: confirm, pause or drop. Without words it says how all plans stand. The
// sentence that it returns is for the person.
func Obey(home, workspace string, s *mind.State, words ...string) (said string, err error) {
	plans, err := Steps(workspace)
	if len(words) < 2 {
		for _, plan := range plans {
			said += plan.Stands() + "\n"
			if plan.Waits(home, s) {
				said += fmt.Sprintf("It waits for /work confirm %s: %s\n", strings.TrimSuffix(plan.Name, ".md"), plan.Bounds)
			}
		}
		if len(plans) > 0 { // which say it
			err = nil
		}
		return said + "/work confirm, pause or drop PLAN changes one.", err
	}
	n := slices.IndexFunc(plans, func(p Plan) bool { return strings.TrimSuffix(p.Name, ".md") == strings.TrimSuffix(words[1], ".md") })
	if n < 0 {
		return "", fmt.Errorf("find plan %q: there is no such file in %s of the workspace", words[1], Dir)
	}
	plan := plans[n]
	if plan.Broken && words[0] != "drop" {
		return "", fmt.Errorf("%s plan %s: it %s", words[0], plan.Name, plan.Goal)
	}
	if words[0] == "confirm" && len(words) > 2 && words[2] != plan.Gate(s) {
		return "", fmt.Errorf("%s plan %s: it is no longer as you saw it: look again", words[0], plan.Name)
	}
	switch words[0] {
	case "confirm":
		if err = plan.leave(plan.Confirmation(home, s), ""); err == nil {
			err = plan.Mark(workspace, nil, false)
		}
		if err == nil { // last: until then nothing begins
			for _, step := range plan.Steps { // a worker of it may have been stopped alone
				if one := (Plan{Name: step.work}); one.isDropped(home, s) {
					err = errors.Join(err, durable.Remove(one.paused(home, s)))
				}
			}
			err = errors.Join(err, durable.Remove(plan.paused(home, s)))
			_, _ = Obey(home, workspace, s, again, plan.Name)
		}
	case "pause":
		if err = plan.Pause(home, s); err == nil {
			err = plan.Mark(workspace, nil, true)
		}
	case again:
		err = plan.Mark(workspace, nil, plan.Held)
	case "drop":
		err = plan.drop(home, workspace, s)
	default:
		err = fmt.Errorf("%s a plan: say confirm, pause or drop", words[0])
	}
	if errors.Is(err, errChanged) { // the daemon marks steps, too; but a person confirms what they saw
		return Obey(home, workspace, s, words[0], plan.Name, plan.Gate(s))
	}
	return fmt.Sprintf("%s: %s.", plan.Name, words[0]), err
}

// drop holds the plan, then stops its workers, then moves it where none is read. It may be called again. Of a step that
// the daemon gives meanwhile, Begins says no, or Settle stops the worker.
func (p Plan) drop(home, workspace string, s *mind.State) error {
	if err := p.leave(p.paused(home, s), dropped); err != nil {
		return err
	}
	for _, child := range p.given(s) {
		was, _, _ := strings.Cut(child.Step, "/")
		old := Plan{Name: was} // Settle finds the child by it
		for _, other := range p.beside {
			if was != p.key() && other.key() == was {
				old.Name = child.Step // that is another plan now, which goes on
			}
		}
		if err := old.leave(old.paused(home, s), dropped); err != nil {
			return err
		}
		if err := old.stop(home, child); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	to := path.Join(Dir, p.Name+".dropped")
	for _, err := root.Lstat(to); err == nil; _, err = root.Lstat(to) { // one of that name was dropped before
		to += "+"
	}
	return durable.Move(root, path.Join(Dir, p.Name), to)
}

// stop stops a worker once, as a person does in its room. Before its brief stands there, it would not hear that.
func (p Plan) stop(home string, child mind.Child) error {
	room := filepath.Join(home, "chats", child.Room+".md")
	brief, err := os.Stat(room)
	if !child.Open() || err != nil || brief.Size() == 0 || chat.SaidBy(room, p.Signer(), 0, -1) {
		return nil
	}
	line, _ := chat.Format(false, p.Signer(), time.Now(), "/stop") // it is not blank
	_, _, err = chat.Append(room, line)
	return err
}

// Settle stops the workers of plans that people have dropped, and leaves the rooms of those that have ended.
func Settle(home, subs string, s *mind.State) {
	for _, child := range s.Children {
		room := s.Rooms[child.Room]
		isOver := !child.Open() && (room == nil || !room.Joined)
		name, _, _ := strings.Cut(child.Step, "/")
		if name == "" || isOver {
			continue
		}
		plan := Plan{Name: name}
		if one := (Plan{Name: child.Step}); one.isDropped(home, s) {
			plan = one
		}
		switch {
		case !plan.isDropped(home, s):
		case child.Open():
			_ = plan.stop(home, child) // it is tried again
		default:
			_ = chat.Unsubscribe(subs, child.Room)
		}
	}
}

// Stands says how many steps have which mark.
func (p Plan) Stands() string {
	if p.Broken {
		return p.Name + " " + p.Goal
	}
	counts := map[string]int{}
	for _, step := range p.Steps {
		if !step.isEnd {
			counts[step.Mark]++
		}
	}
	return fmt.Sprintf("%s: %d done, %d at work, %d waiting, %d asked, %d failed",
		p.Name, counts["x"], counts[">"], counts[" "], counts["?"], counts["!"])
}
