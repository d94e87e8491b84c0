package work

import (
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
		return said + "/work confirm, pause or drop PLAN changes one.", err
	}
	n := slices.IndexFunc(plans, func(p Plan) bool { return strings.TrimSuffix(p.Name, ".md") == strings.TrimSuffix(words[1], ".md") })
	if n < 0 {
		return "", fmt.Errorf("find plan %q: there is no such file in %s of the workspace", words[1], Dir)
	}
	plan := plans[n]
	if words[0] == "confirm" && len(words) > 2 && words[2] != plan.Gate(s) {
		return "", fmt.Errorf("%s plan %s: it is no longer as you saw it: look again", words[0], plan.Name)
	}
	switch words[0] {
	case "confirm":
		if err = plan.leave(plan.Confirmation(home, s)); err == nil {
			err = plan.Mark(workspace, nil, false)
		}
		if err == nil { // last: until then nothing begins
			err = durable.Remove(plan.paused(home, s))
		}
	case "pause":
		if err = plan.Pause(home, s); err == nil {
			err = plan.Mark(workspace, nil, true)
		}
	case "drop":
		if err = plan.stop(home, s); err == nil {
			err = plan.drop(workspace)
		}
	default:
		err = fmt.Errorf("%s a plan: say confirm, pause or drop", words[0])
	}
	return fmt.Sprintf("%s: %s.", plan.Name, words[0]), err
}

// stop stops the workers of the plan, as a person stops one in its room. It may be called again.
func (p Plan) stop(home string, s *mind.State) error {
	for _, call := range s.Approved {
		if strings.HasPrefix(call.Exact, p.Name+"/") {
			return fmt.Errorf("drop plan %s: a worker is about to begin: look again when its identity runs", p.Name)
		}
	}
	for _, child := range s.Working() {
		if strings.HasPrefix(child.Step, p.Name+"/") {
			line, _ := chat.Format(false, p.Signer(), time.Now(), "/stop") // it is not blank
			if _, _, err := chat.Append(filepath.Join(home, "chats", child.Room+".md"), line); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop moves the plan where none is read.
func (p Plan) drop(workspace string) error {
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

// Stands says how many steps have which mark.
func (p Plan) Stands() string {
	counts := map[string]int{}
	for _, step := range p.Steps {
		if !step.isEnd {
			counts[step.Mark]++
		}
	}
	return fmt.Sprintf("%s: %d done, %d at work, %d waiting, %d asked, %d failed",
		p.Name, counts["x"], counts[">"], counts[" "], counts["?"], counts["!"])
}
