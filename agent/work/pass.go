package work

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind"
)

// Pass is what is due for a plan. It follows from the plan, the log and the clock alone.
//
// The log says which child works for a step, from the moment at which the step is given until the child's room is left;
// the mark only shows it. So a pass finishes what a crash has cut short, and no step is given twice.
type Pass struct {
	Marks map[int]string // that steps get
	Hold  bool           // somebody has stopped a worker: nothing is to begin
	Leave []string       // rooms of children whose results are settled
	Give  []Step         // to workers
	Say   string         // to the identity; "" where nothing is new
	Seen  string         // of the Fired with Say
}

// Pass returns what is due. free is how many more children may work.
func (p Plan) Pass(s *mind.State, free int, now time.Time) (pass Pass) {
	fired := s.Fires[p.Signer()]
	seen := strings.Fields(fired.Seen)
	working, ended := p.reconcile(s, seen, &pass)
	if p.Held || len(pass.Marks) > 0 {
		return pass
	}
	own := p.give(s, min(free, p.Workers-working), &pass)
	isNamed := slices.Contains(seen, own.Number()) && now.Before(fired.Last.Add(p.Every))
	switch {
	case len(ended) > 0 && working+len(pass.Give) == 0:
		for _, child := range ended {
			step, _, _ := strings.Cut(child.Step, " ")
			seen, pass.Say = append(seen, child.Call), pass.Say+fmt.Sprintf(" %s %s: %s", path.Base(step), child.How, child.Gist)
		}
	case own.What != "" && p.Every >= time.Minute && !isNamed:
		seen, pass.Say = append(seen, own.Number()), " Next: "+own.What
	default:
		return pass
	}
	slices.Sort(seen)
	pass.Say = fmt.Sprintf("Go on with %s/%s.%s", Dir, p.Name, pass.Say)
	pass.Seen = strings.Join(slices.Compact(seen), " ")
	return pass
}

// Signer signs the lines about the plan, as no other plan's.
func (p Plan) Signer() string {
	name := "work-" + strings.TrimSuffix(p.Name, ".md")
	if !chat.ValidRoom(name) {
		sum := blake3.Sum256([]byte(p.Name))
		name = "work-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// reconcile makes the marks of given steps what the log says. ended are children of whose end the identity is to hear.
func (p Plan) reconcile(s *mind.State, seen []string, pass *Pass) (working int, ended []mind.Child) {
	given := p.given(s)
	pass.Marks = map[int]string{}
	var done []mind.Child
	left := 0 // steps that are not done
	for n, step := range p.Steps {
		child, isGiven := given[step.Key]
		mark := step.Mark
		switch {
		case isGiven && child.Open():
			mark, working = ">", working+1
		case isGiven && slices.Contains(seen, child.Call):
			pass.Leave = append(pass.Leave, child.Room)
		case isGiven && child.How != mind.WorkDone:
			mark, ended = "!", append(ended, child)
			pass.Hold = pass.Hold || child.How == mind.WorkStopped && step.Mark != mark
		case isGiven && (step.Person+step.Judge != "" || !strings.HasSuffix(child.Step, step.work[len(p.key()):])):
			mark, ended = "?", append(ended, child)
		case isGiven: // its check has passed, or the child's answer would not count
			mark, done = "x", append(done, child)
		case step.Worker != "" && mark == ">" && slices.Contains(s.Passed, step.work): // an earlier text of the plan is back
			mark = "x"
		case step.Worker != "" && mark == ">": // nobody knows what became of it
			mark = "!"
		}
		if mark != step.Mark {
			pass.Marks[n] = mark
		}
		if mark != "x" && !step.isEnd {
			left++
		}
	}
	if left == 0 { // the last ones stay until the identity knows
		return working, append(ended, done...)
	}
	for _, child := range done {
		if len(pass.Marks) == 0 {
			pass.Leave = append(pass.Leave, child.Room)
		}
	}
	return working, ended
}

// given returns the children of the plan by the keys of their steps.
func (p Plan) given(s *mind.State) map[string]mind.Child {
	given := map[string]mind.Child{}
	for _, child := range s.Children {
		if key := p.worksAt(s, child); strings.HasPrefix(key, p.key()+"/") {
			given[key] = child
		}
	}
	return given
}

// worksAt returns the key of the one step, of any plan, that a child works at: the step that it was given. If no plan has
// that step any more, the plan was renamed, and another plan has the same step: best is one that shows a worker by its
// mark and has none. If no plan has it, somebody changed its words: the key stays, or is "" for a child that never began.
func (p Plan) worksAt(s *mind.State, child mind.Child) string {
	key, _, _ := strings.Cut(child.Step, " ")
	was, work, _ := strings.Cut(child.Step, "/")
	at, best := key, -2
	for _, plan := range p.beside {
		if plan.Broken && plan.key() == was { // nobody knows what it has
			return key
		}
		same := plan.key() + "/" + work
		for _, step := range plan.Steps {
			rank := strings.Index("x >", step.Mark)
			switch {
			case step.work == child.Step:
				return key
			case step.work != same:
				continue
			case slices.ContainsFunc(s.Children, func(c mind.Child) bool { return c.Step == same }):
				rank = -1
			}
			if rank > best {
				at, best = step.Key, rank
			}
		}
	}
	if best == -2 && child.Room == "" { // it was never begun
		return ""
	}
	return at
}

// wasDone reports whether a worker has done the step; where it stands so, maybe when the plan had another name.
func (p Plan) wasDone(s *mind.State, step Step) bool {
	return slices.ContainsFunc(s.Passed, func(passed string) bool {
		renamed := step.Mark == "x" && !step.isEnd && strings.HasSuffix(passed, step.work[len(p.key()):])
		return renamed || passed == step.work
	})
}

// give finds the steps that can begin, and the first one that is the identity's own.
func (p Plan) give(s *mind.State, places int, pass *Pass) (own Step) {
	var busy []string
	for _, child := range s.Working() {
		busy = append(busy, strings.Fields(child.Step)...)
	}
	for _, step := range p.ready() {
		files := strings.Fields(step.work)[1:] // the same step of another plan meets it
		meets := slices.ContainsFunc(files, func(name string) bool {
			return slices.ContainsFunc(busy, func(other string) bool { return in(name, other) || in(other, name) })
		})
		switch {
		case step.Worker == "" || p.Workers < 1:
			if own.What == "" {
				own = step
			}
		case len(pass.Give) < places && !meets:
			pass.Give, busy = append(pass.Give, step), append(busy, files...)
		}
	}
	return own
}

// in reports whether a file is another one, or below that.
func in(file, other string) bool {
	rel, err := filepath.Rel(other, file)
	return err == nil && filepath.IsLocal(rel)
}

// Ask is the call that gives a step to a worker.
func (p Plan) Ask(step Step) mind.Ask {
	number := step.Number()
	soul := doesStep + number + ofPlan + p.Name + ": " + p.Goal
	if step.Person+step.Judge != "" {
		soul += "\nIt is done when: " + step.Rule
	}
	args := map[string]string{
		"brief": step.Brief(), "soul": soul, "check": step.Check,
		"files": cmp.Or(strings.Join(namesIn(step.files), " "), os.DevNull), "model": strings.TrimPrefix(step.Worker, "yes"),
	}
	if p.USD > 0 {
		args["usd"] = fmt.Sprintf("%.6f", p.Price(1))
	}
	text, _ := json.Marshal(args) // cannot fail
	return mind.Ask{Call: p.Signer(), Tool: "SPAWN", Args: string(text), Step: step.work}
}

// The soul of a worker begins with these, the number of its step, and the name of its plan.
const (
	doesStep = "Your work is step "
	ofPlan   = " of the plan " + Dir + "/"
)

// Gave returns the Told of the step that a child was given, by its directory and the gist of its brief, and the name that
// its plan had.
func Gave(child, brief string) (told, plan string) {
	soul, _ := os.ReadFile(filepath.Join(child, "SOUL.md"))
	number, text, _ := strings.Cut(strings.TrimPrefix(string(soul), doesStep), ofPlan)
	plan, _, _ = strings.Cut(text, ".md: ")
	return number + " " + brief, plan + ".md"
}

// Told is what the files of its worker tell of the step, whatever name its plan has.
func (s Step) Told() string { return s.Number() + " " + blobs.Gist(s.Brief()) }

// Price is what workers cost at most, in USD.
func (p Plan) Price(workers int) float64 { return p.USD / float64(max(1, p.Most)) * float64(workers) }

// Gate names what people confirm: the bounds of a plan; and all its steps, where more workers would begin than these allow.
func (p Plan) Gate(s *mind.State) string {
	begun, text, given := s.Given[p.key()], "", p.given(s)
	for _, step := range p.Steps {
		_, isGiven := given[step.Key]
		if text += step.line + "\n"; step.Mark == " " && !step.isEnd && !isGiven {
			begun++
		}
	}
	times := max(0, begun-1) / max(1, p.Most)
	if times == 0 {
		text = ""
	}
	sum := blake3.Sum256(fmt.Appendln(nil, s.Self, p.Name, p.Bounds, times, text))
	return hex.EncodeToString(sum[:8])
}

// Confirmation is the file in a home with which a person lets a plan go on, as its Gate has it.
func (p Plan) Confirmation(home string, s *mind.State) string {
	return filepath.Join(home, "allowed", "plan-"+p.Gate(s))
}

// paused is the file in a home that holds the plan, whatever the plan says itself: an identity does not reach it.
func (p Plan) paused(home string, s *mind.State) string {
	sum := blake3.Sum256(fmt.Appendln(nil, s.Self, p.key()))
	return filepath.Join(home, "allowed", "paused-"+hex.EncodeToString(sum[:8]))
}

// Pause holds the plan until a person confirms it. It is durable when Pause returns. A dropped one stays dropped.
func (p Plan) Pause(home string, s *mind.State) error {
	if p.isDropped(home, s) {
		return nil
	}
	return p.leave(p.paused(home, s), "")
}

// dropped ends the file paused of a plan that a person has set aside.
const dropped = " dropped\n"

func (p Plan) isDropped(home string, s *mind.State) bool {
	text, _ := os.ReadFile(p.paused(home, s))
	return strings.HasSuffix(string(text), dropped)
}

// Inherits reports whether workers of a dropped plan still leave that had the same steps, or p's name: they are not p's,
// and p goes on without them.
func (p Plan) Inherits(home string, s *mind.State) bool {
	for _, child := range p.given(s) {
		was, _, _ := strings.Cut(child.Step, "/")
		isLeaving := was != p.key() && (Plan{Name: was}).isDropped(home, s)
		if isLeaving || (Plan{Name: child.Step}).isDropped(home, s) {
			return true
		}
	}
	return false
}

// leave makes a file in allowed/ that has the plan's name.
func (p Plan) leave(file, why string) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(file, []byte(p.Name+cmp.Or(why, "\n")), 0o600)
}

// Waits reports whether nothing of the plan may begin before a person confirms it.
func (p Plan) Waits(home string, s *mind.State) bool {
	_, err := os.Lstat(p.paused(home, s))
	return !p.Broken && (p.Held || err == nil || p.Unconfirmed(home, s)) // nobody can confirm a broken one
}

// Begins reports whether a step that was given may begin: a plan still has it, and waits for nobody.
func Begins(home, workspace string, s *mind.State, step string) bool {
	plans, _ := Steps(workspace)
	return slices.ContainsFunc(plans, func(p Plan) bool {
		return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.work == step }) && !p.Waits(home, s)
	})
}

// Unconfirmed reports whether people have still to say yes to the plan as its Gate has it.
func (p Plan) Unconfirmed(home string, s *mind.State) bool {
	_, err := os.Lstat(p.Confirmation(home, s))
	return p.Most > 0 && err != nil && !slices.Contains(s.Passed, p.Gate(s))
}
