package work_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/work"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// What a person has paused, or dropped, stays so, although the identity takes the line out of its file, until a person
// confirms it. A crash at any step leaves it held, or the person is told that it is not.
func TestPauseHolds(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n"
	s, home, dir := &mind.State{}, "", ""
	obey := func(verb string) error {
		_, err := work.Obey(home, dir, s, verb, "p")
		return err
	}
	begin := func() {
		home = t.TempDir()
		dir = filepath.Join(home, "workspace")
		lethetest.Write(t, filepath.Join(dir, "work/p.md"), text)
		lethetest.Must(t, obey("confirm"))
	}
	waits := func() bool { // when the identity has had its way with the file
		name := filepath.Join(dir, "work/p.md")
		there, err := os.ReadFile(name)
		lethetest.Must(t, err)
		lethetest.Write(t, name, strings.ReplaceAll(string(there), "held: lethe work confirm\n", ""))
		lethetest.Holds(t, name, text)
		return read(t, dir).Waits(home, s)
	}
	// killed obeys, and dies at a step. lifted says that the pause had gone by then.
	killed := func(step int, verb string) (died, lifted bool, err error) {
		defer func() { durable.Fault = nil }()
		durable.Fault = func(stage durable.Stage, op, path string) error {
			if isPause := strings.Contains(path, "paused-"); isPause && op == "remove" && stage == durable.After {
				lifted = true
			}
			if step--; step < 0 {
				died = true
				return errors.New("the disk")
			}
			return nil
		}
		err = obey(verb)
		return died, lifted, err
	}
	steps := 0
	for died := true; died; steps++ {
		begin()
		if waits() {
			t.Fatal("it waits, and a person has confirmed it")
		}
		var err error
		died, _, err = killed(steps, "pause")
		if err == nil && !waits() {
			t.Errorf("step %d: it is said to be paused, and goes on", steps)
		}
		lethetest.Must(t, obey("pause"))
		if !waits() {
			t.Errorf("step %d: it goes on", steps)
		}
	}
	for step, died := 0, true; died; step++ {
		begin()
		lethetest.Must(t, obey("pause"))
		var lifted bool
		var err error
		died, lifted, err = killed(step, "confirm")
		if waits() == lifted || err == nil && !lifted {
			t.Errorf("step %d: it waits: %v, the pause is lifted: %v, %v", step, waits(), lifted, err)
		}
		lethetest.Must(t, obey("confirm"))
		if waits() {
			t.Errorf("step %d: it is confirmed, and waits", step)
		}
		steps++
	}
	s.Children = []mind.Child{{Step: "p.md/1 word ", Room: "task-1", Work: mind.Work{Given: 1}}}
	for step, died := 0, true; died; step++ {
		begin()
		name, room := filepath.Join(dir, "work/p.md"), filepath.Join(home, "chats/task-1.md")
		lethetest.Write(t, room, "[AGENT:ada] say hello\n")
		var err error
		died, _, err = killed(step, "drop")
		_, isThere := os.Stat(name)
		if err == nil && isThere == nil {
			t.Errorf("step %d: it is said to be dropped, and stays", step)
		}
		if isThere == nil {
			lethetest.Must(t, obey("drop"))
		}
		said, err := os.ReadFile(room)
		if err != nil || strings.Count(string(said), "/stop") != 1 {
			t.Errorf("step %d: %v: %s", step, err, said)
		}
		lethetest.Write(t, name, text) // by the identity, or lethe files --restore
		if !waits() {
			t.Errorf("step %d: what a person has dropped goes on", step)
		}
		lethetest.Must(t, obey("confirm"))
		if steps++; waits() {
			t.Errorf("step %d: it is confirmed, and waits", step)
		}
	}
	if steps < 20 {
		t.Errorf("only %d steps were tried", steps)
	}
}

// A worker that has no brief yet would not hear that it is to stop: it is told behind its brief. One of a plan that had another
// name is stopped with the plan, one of another plan with the same step is not.
func TestDropStopsItsWorkers(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n"
	home := t.TempDir()
	dir := filepath.Join(home, "workspace")
	lethetest.Write(t, filepath.Join(dir, "work/old.md"), text)
	given := read(t, dir)
	step := given.Ask(given.Steps[0]).Step
	s := &mind.State{}
	s.Children = []mind.Child{
		{Step: strings.Replace(step, "old.md", "new.md", 1), Room: "task-1", Work: mind.Work{Given: 1}},
		{Step: step, Room: "task-2", Work: mind.Work{Given: 1}},
		{Step: strings.Replace(step, "old.md", "twin.md", 1), Room: "task-3", Work: mind.Work{Given: 1}},
	}
	lethetest.Must(t, os.Rename(filepath.Join(dir, "work/old.md"), filepath.Join(dir, "work/new.md")))
	lethetest.Write(t, filepath.Join(dir, "work/twin.md"), text)
	stops := func(number string) int {
		said, _ := os.ReadFile(filepath.Join(home, "chats/task-"+number+".md"))
		return strings.Count(string(said), "/stop")
	}
	begin := func(number string) {
		lethetest.Write(t, filepath.Join(home, "chats/task-"+number+".md"), "[AGENT:ada] say hello\n")
	}
	lethetest.Write(t, filepath.Join(home, "chats/task-1.md"), "")
	begin("2")
	begin("3")
	_, err := work.Obey(home, dir, s, "drop", "new")
	lethetest.Must(t, err)
	if stops("1") != 0 || stops("2") != 1 || stops("3") != 0 {
		t.Errorf("%d %d %d", stops("1"), stops("2"), stops("3"))
	}
	begin("1")
	for range 2 {
		work.Settle(home, home, s)
	}
	if stops("1") != 1 || stops("2") != 1 || stops("3") != 0 {
		t.Errorf("%d %d %d", stops("1"), stops("2"), stops("3"))
	}
}

// A plan that gets another name before its step has the mark of a worker keeps the worker, whose work is not begun again; a plan
// beside it with the same step has one of its own.
func TestKeepsItsWorkers(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 2 workers\n- [ ] 1 say hello · worker: yes\n"
	dir := at(t, map[string]string{"work/old plan.md": text})
	given := read(t, dir)
	child := mind.Child{Step: given.Ask(given.Steps[0]).Step, Call: "q1", Room: "task-1", Work: mind.Work{Given: 1}}
	s := &mind.State{}
	s.Children = []mind.Child{child}
	pass := func() work.Pass {
		plans, err := work.Steps(dir)
		lethetest.Must(t, err)
		return plans[0].Pass(s, 8, time.Time{})
	}
	lethetest.Write(t, filepath.Join(dir, "work/new.md"), text)
	if p := pass(); len(p.Marks) > 0 {
		t.Errorf("it is another plan's: %+v", p)
	}
	lethetest.Must(t, os.Remove(filepath.Join(dir, "work/old plan.md")))
	if p := pass(); p.Marks[0] != ">" || len(p.Give) > 0 {
		t.Errorf("its worker is gone: %+v", p)
	}
	s.Children[0].Work = mind.Work{Given: 1, Ended: 1, How: mind.WorkDone}
	if p := pass(); p.Marks[0] != "x" || len(p.Give) > 0 {
		t.Errorf("its worker has done it: %+v", p)
	}
	lethetest.Write(t, filepath.Join(dir, "work/new.md"), strings.Replace(text, "hello", "more", 1))
	if p := pass(); len(p.Give) != 1 {
		t.Errorf("another step has another worker: %+v", p)
	}
}

// What a worker has done is not given to another one because it does not pass now: a person looks.
func TestDoneIsNotPaidAgain(t *testing.T) {
	dir := at(t, map[string]string{"work/a.md": "bounds: 9 steps\n- [x] 1 say hello · files: h · check: `grep -q fine` · worker: yes\n"})
	given := read(t, dir)
	s := &mind.State{}
	s.Passed = []string{given.Ask(given.Steps[0]).Step}
	e := &work.Examiner{Home: dir, Workspace: dir, State: s, Log: slog.New(slog.DiscardHandler), Stopped: new(bool)}
	e.Run = func(string, []string, time.Duration) (string, bool, error) { return "it ended with exit 1", true, nil }
	e.MayAsk = func(string) bool { return true }
	why, _, err := e.Examine(time.Minute)
	lethetest.Must(t, err)
	lethetest.Words(t, why, `has step "1 say hello" as done, but it ended with exit 1`, "has the mark ! where a worker did it")
	lethetest.Equal(t, "its mark", read(t, dir).Steps[0].Mark, "!")
}

// The workers of a dropped plan are no copy's, which waits until they have gone; and a daemon that sees one stopped at that
// moment does not make of the drop a pause.
func TestCopyOfADroppedPlan(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 2 workers\n- [ ] 1 say hello · worker: yes\n"
	dir := at(t, map[string]string{"work/old.md": text, "work/copy.md": text})
	plans, err := work.Steps(dir)
	lethetest.Must(t, err)
	old, s := plans[1], &mind.State{}
	stopped := mind.Work{Given: 1, Ended: 1, How: mind.WorkStopped}
	s.Children = []mind.Child{{Step: old.Ask(old.Steps[0]).Step, Call: "q1", Room: "task-1", Work: stopped}}
	inherits := func() bool {
		plans, err := work.Steps(dir)
		lethetest.Must(t, err)
		return plans[0].Inherits(dir, s)
	}
	lethetest.Equal(t, "beside the other it has", inherits(), false)
	_, err = work.Obey(dir, dir, s, "drop", "old")
	lethetest.Must(t, err)
	lethetest.Must(t, old.Pause(dir, s))
	lethetest.Equal(t, "while they go it waits", inherits(), true)
	s.Children = nil // their rooms are left
	lethetest.Equal(t, "then it waits", inherits(), false)
}

// A plan that the daemon marks while a person confirms it is confirmed; one whose bounds change then is not.
func TestConfirmedMeanwhile(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n"
	for change, want := range map[string]string{"[ ]>[?]": "", "1 USD>9 USD": "no longer as you saw it"} {
		home := t.TempDir()
		dir := filepath.Join(home, "workspace")
		name := filepath.Join(dir, "work/p.md")
		lethetest.Write(t, name, "held: lethe work confirm\n"+text)
		from, to, _ := strings.Cut(change, ">")
		changed := strings.Replace(text, from, to, 1)
		durable.Fault = func(stage durable.Stage, op, path string) error {
			if changed != "" && stage == durable.After && strings.Contains(path, "allowed") {
				lethetest.Write(t, name, "held: lethe work confirm\n"+changed)
				changed = ""
			}
			return nil
		}
		_, err := work.Obey(home, dir, &mind.State{}, "confirm", "p")
		durable.Fault = nil
		if changed != "" || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
		if waits := read(t, dir).Waits(home, &mind.State{}); waits != (want != "") {
			t.Errorf("%s: it waits: %t", change, waits)
		}
	}
}

// A plan that is dropped stops its own workers, and holds no other plan that has got its old name, nor stops that one's.
func TestDropBesideItsOldName(t *testing.T) {
	const text = "bounds: 2 steps\n- [ ] 1 say hello · worker: yes\n"
	home := t.TempDir()
	dir := filepath.Join(home, "workspace")
	lethetest.Write(t, filepath.Join(dir, "work/old.md"), text)
	mine := read(t, dir)
	lethetest.Write(t, filepath.Join(dir, "work/old.md"), strings.Replace(text, "hello", "more", 1))
	lethetest.Write(t, filepath.Join(dir, "work/new.md"), text)
	plans, err := work.Steps(dir)
	lethetest.Must(t, err)
	s := &mind.State{}
	s.Children = []mind.Child{
		{Step: mine.Ask(mine.Steps[0]).Step, Room: "task-1", Work: mind.Work{Given: 1}},
		{Step: plans[1].Ask(plans[1].Steps[0]).Step, Room: "task-2", Work: mind.Work{Given: 1}},
	}
	stops := func() (n [2]int) {
		for i := range n {
			said, _ := os.ReadFile(filepath.Join(home, fmt.Sprintf("chats/task-%d.md", i+1)))
			n[i] = strings.Count(string(said), "/stop")
		}
		return n
	}
	lethetest.Write(t, filepath.Join(home, "chats/task-2.md"), "[AGENT:ada] say more\n")
	for _, change := range [][2]string{{"confirm", "old"}, {"drop", "new"}} {
		_, err := work.Obey(home, dir, s, change[0], change[1])
		lethetest.Must(t, err)
	}
	lethetest.Write(t, filepath.Join(home, "chats/task-1.md"), "[AGENT:ada] say hello\n")
	for range 2 {
		work.Settle(home, home, s)
	}
	lethetest.Equal(t, "stops", stops(), [2]int{1, 0})
	old := read(t, dir)
	if old.Waits(home, s) || old.Inherits(home, s) {
		t.Error("another plan waits for a worker that is not its own")
	}
	s.Children = s.Children[:1]
	if !old.Inherits(home, s) {
		t.Error("the worker of another plan counts for this one's step while it leaves")
	}
	_, err = work.Obey(home, dir, s, "confirm", "old")
	lethetest.Must(t, err)
}

// The daemon watches plans, and not what holds them: a plan is touched once nothing holds it, or it would wait for minutes.
func TestConfirmedIsHeard(t *testing.T) {
	dir := at(t, map[string]string{"work/p.md": "bounds: 2 steps\n- [ ] 1 say hello · worker: yes\n"})
	name := filepath.Join(dir, "work/p.md")
	_, err := work.Obey(dir, dir, &mind.State{}, "pause", "p")
	lethetest.Must(t, err)
	isFree := false
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage == durable.After && op == "remove" && strings.Contains(path, "paused-") {
			isFree = true
			return os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0))
		}
		return nil
	}
	_, err = work.Obey(dir, dir, &mind.State{}, "confirm", "p")
	durable.Fault = nil
	lethetest.Must(t, err)
	info, err := os.Stat(name)
	lethetest.Must(t, err)
	if !isFree || info.ModTime().Equal(time.Unix(1, 0)) {
		t.Errorf("nothing changed after the hold ended: %t, %v", isFree, info.ModTime())
	}
}

// A worker has one step, whatever names its plan and copies of it have: its result is not taken twice, nor is its work begun
// again because another plan has the old name.
func TestOneStepOfAWorker(t *testing.T) {
	const text = "bounds: 2 steps, 1 USD, 2 workers\n- [ ] 1 say hello · worker: yes\n"
	const other = "bounds: 2 steps, 1 USD, 2 workers\n- [ ] 1 say more · worker: yes\n"
	marked := strings.Replace(text, "[ ]", "[>]", 1)
	given := read(t, at(t, map[string]string{"work/old.md": text}))
	ask := given.Ask(given.Steps[0])
	for name, test := range map[string]struct {
		plans map[string]string
		want  string // the mark of each plan, as it is and as it gets
		gives int
	}{
		"renamed":                 {map[string]string{"new": text}, "new >", 0},
		"copies of one that went": {map[string]string{"a": text, "b": text}, "a >", 0},
		"one shows the worker":    {map[string]string{"a": text, "b": marked}, "", 0},
		"both show it":            {map[string]string{"a": marked, "b": marked}, "b !", 0},
		"another has its name":    {map[string]string{"new": text, "old": other}, "new >", 1},
		"a copy has its name":     {map[string]string{"new": marked, "old": text}, "new !, old >", 0},
		"one has a worker":        {map[string]string{"a": text, "mine": text}, "a >, mine >", 0},
		"the later has a worker":  {map[string]string{"mine": text, "z": text}, "mine >, z >", 0},
		"its words were changed":  {map[string]string{"old": other}, "old >", 0},
		"none began it":           {map[string]string{"old": other}, "", 1},
		"beside one unread":       {map[string]string{"new": text, "old": strings.Repeat("x", 300<<10)}, "", 0},
	} {
		files := map[string]string{}
		for plan, text := range test.plans {
			files["work/"+plan+".md"] = text
		}
		dir, s := at(t, files), &mind.State{}
		s.Children = []mind.Child{{Step: ask.Step, Call: "q1", Room: "task-1", Work: mind.Work{Given: 1}}}
		if name == "none began it" {
			s.Children[0] = mind.Child{Step: ask.Step, Call: "q1", Work: mind.Work{How: mind.WorkFailed}}
		}
		if test.plans["mine"] != "" {
			own := mind.Child{Step: strings.Replace(ask.Step, "old", "mine", 1), Call: "q0", Room: "task-0", Work: mind.Work{Given: 1}}
			s.Children = append(s.Children, own)
		}
		plans, _ := work.Steps(dir)
		var marks []string
		gives := 0
		for _, plan := range plans {
			pass := plan.Pass(s, 8, time.Time{})
			gives += len(pass.Give)
			if mark := pass.Marks[0]; mark != "" {
				marks = append(marks, strings.TrimSuffix(plan.Name, ".md")+" "+mark)
			}
		}
		lethetest.Equal(t, name+": marks", strings.Join(marks, ", "), test.want)
		lethetest.Equal(t, name+": given", gives, test.gives)
	}
	confirmed := func(plan string) bool {
		dir := at(t, map[string]string{"work/old.md": plan})
		_, err := work.Obey(dir, dir, &mind.State{}, "confirm", "old")
		lethetest.Must(t, err)
		return work.Begins(dir, dir, &mind.State{}, ask.Step)
	}
	if !confirmed(text) || confirmed(other) {
		t.Error("a step begins where its plan has it, and not for another one of its name")
	}
}

// What a worker has done stays done, and is not paid again, when its plan has another name; what its workers have cost stands
// with one plan.
func TestRenamedWhenDone(t *testing.T) {
	const text = "bounds: 9 steps\n- [x] 1 say hello · check: `grep -q fine` · worker: yes\n"
	given := read(t, at(t, map[string]string{"work/old.md": text}))
	s := &mind.State{}
	ask := given.Ask(given.Steps[0])
	s.Passed = []string{ask.Step}
	dir := at(t, map[string]string{"work/new.md": text, "work/newer.md": text})
	e := &work.Examiner{Home: dir, Workspace: dir, State: s, Log: slog.New(slog.DiscardHandler), Stopped: new(bool)}
	e.Run = func(string, []string, time.Duration) (string, bool, error) { return "it ended with exit 1", true, nil }
	e.MayAsk = func(string) bool { return true }
	why, _, err := e.Examine(time.Minute)
	lethetest.Must(t, err)
	lethetest.Equal(t, "why not", why, "")
	plans, err := work.Steps(dir)
	lethetest.Must(t, err)
	lethetest.Equal(t, "its mark", plans[0].Steps[0].Mark, "x")
	lethetest.Write(t, filepath.Join(dir, "child/SOUL.md"), "Your work is step 1 of the plan work/old.md: a goal\n\nMore")
	told, plan := work.Gave(filepath.Join(dir, "child"), "say hello")
	lethetest.Equal(t, "its worker was told", told, plans[0].Steps[0].Told())
	lethetest.Equal(t, "for plan", plan, "old.md")
}
