package agent

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/work"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// A plan that says how often is named to the identity at the end of a turn, once for each state of it. Where nothing is
// ready, nothing is asked; a plan that does not say so is left alone, as is a home without one.
func TestPlanIsDriven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, append(says("hello", "well"), always("more"))...)
	id := w.boot("ada", "dev")
	const plan = "# Goal: x\nevery: 1h\n- [ ] 1 ask · asked nobody\n- [ ] 2 tell · after 1\n"
	path := w.planned(id, strings.Replace(plan, "every", "Every", 1))
	r := w.run(id)
	r.tell("hi")
	equal(t, "requests", len(w.requests()), 1)
	w.write(path, plan)
	r.tell("now")
	w.eventually("it is named", func() bool { return len(w.events(id, "fired")) == 1 })
	w.eventually("it hears that", func() bool { return strings.Contains(w.prompt(), "Go on with work/move.md. Next: 1 ask") })
	r.settled()
	requests := len(w.requests())
	r.tell("and?")
	r.finish()
	r = w.run(id)
	r.settled()
	equal(t, "requests over a restart", len(w.requests()), requests+1)
	w.has(id, 1, "fired", "by", "work-move")
	w.write(path, strings.Replace(plan, "1 ask", "1 ask (again)", 1))
	r.tell("and what?")
	r.settled()
	w.has(id, 1, "fired") // its words drive nothing
	w.write(path, strings.Replace(plan, "[ ] 1", "[?] 1", 1))
	r.tell("and now?")
	w.has(id, 1, "fired")
	w.write(path, strings.Replace(plan, "[ ] 1", "[x] 1", 1)) // which is noticed
	w.eventually("the next is named", func() bool { return len(w.events(id, "fired")) == 2 })
	r.settled()
	for _, text := range []string{plan, strings.Replace(plan, "[ ] 1", "[x] 1", 1)} { // steps that alternate
		w.write(path, text)
		r.tell("and again?")
	}
	w.has(id, 2, "fired")
	w.eventually("it is asked", func() bool { return strings.Contains(w.prompt(), "Next: 2 tell") })
	r.checked()
}

// Steps with a worker are given to children, as their files and what they wait for allow; a child writes its files alone. The
// identity hears of it once, when nothing is left to give.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	lethetest.Must(t, os.MkdirAll(w.own(id, "workspace"), 0o700))
	w.write(w.own(id, "workspace/b"), "")
	w.write(w.own(id, "workspace/other"), "")
	path := w.planned(id, "# Goal: x\nbounds: 9 steps, 1 USD, 3 workers\n"+
		"- [ ] 1 write one to a · check: `test -s a` · files: a · worker: yes\n"+
		"- [ ] 2 run echo two > b; echo bad > other · check: `test -s b` · files: b · worker: yes\n"+
		"- [ ] 3 run cat a >> b · check: `grep one b` · files: b · after 1 · worker:\n"+
		"- [ ] 4 say hello · after 3 · worker: yes\n"+
		"- [ ] 5 run false · check: `false` · worker: yes\n")
	w.ask("dev", "hello")
	w.idle(id)
	w.has(id, 0, "asked")
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("the identity hears of it", func() bool { return len(w.events(id, "fired")) == 1 })
	w.eventually("it is settled", func() bool { return len(w.fold(id).Children) == 0 })
	w.idle(id)
	for n, mark := range "xxxx!" {
		contains(t, w.read(path), fmt.Sprintf("[%c] %d", mark, n+1))
	}
	equal(t, "b", w.read(w.own(id, "workspace/b")), "two\none")
	equal(t, "other", w.read(w.own(id, "workspace/other")), "")
	contains(t, strings.Join(w.said("dev"), "\n"), "Go on with work/move.md. 5 failed: ")
	w.has(id, 5, "run")
	equal(t, "children", len(w.fold(id).Children), 0)
	s.end()
}

// A person says in a room how the plans go on, and nobody else.
func TestPlansAreCommanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	path := w.planned(id, "bounds: 9 steps, 3 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n")
	says := func(who, line string) string {
		n := len(w.said("dev"))
		w.say("dev", who, line)
		return w.answered("dev", n+1)
	}
	w.ask("dev", "hello")
	w.eventually("it is asked", func() bool { return len(w.said("dev")) == 2 })
	contains(t, says("bob", "/work"), "move.md: 0 done, 0 at work, 1 waiting, 0 asked, 0 failed")
	equal(t, "bob", says("bob", "/work confirm move"), "Only ann may change my plans.")
	contains(t, says("ann", "/work confirm other"), "Not done: find plan \"other\"")
	equal(t, "pause", says("ann", "/work pause move"), "move.md: pause.")
	contains(t, w.read(path), "held: lethe work confirm\n")
	equal(t, "confirm", says("ann", "/work confirm move.md"), "move.md: confirm.")
	w.eventually("the identity hears of it", func() bool { return len(w.events(id, "fired")) == 1 })
	w.eventually("it is done", func() bool {
		return strings.HasPrefix(w.read(path), "bounds") && strings.Contains(w.read(path), "[x] 1")
	})
	n := len(w.said("dev"))
	w.say("dev", "ann", "/work drop move")
	w.eventually("it is dropped", func() bool { return slices.Contains(w.said("dev")[n:], "move.md: drop.") })
	contains(t, w.read(path+".dropped"), "[x] 1")
	s.end()
}

// idle waits until an identity and its children have nothing to do.
func (w *world) idle(id home.Identity) {
	w.Helper()
	w.eventually("nothing is left to do", func() bool {
		s, err := status.Read(id.Dir)
		return err == nil && s.State == status.Idle && w.quiet(id) && len(w.fold(id).Working()) == 0
	})
}

// confirms says yes to the plan of an identity.
func (w *world) confirms(id home.Identity) {
	w.Helper()
	plans, err := work.Steps(w.own(id, "workspace"))
	lethetest.Must(w, err)
	_, err = work.Obey(w.home.Dir, w.own(id, "workspace"), w.fold(id), "confirm", plans[0].Name)
	lethetest.Must(w, err)
}

// Thirty steps, four workers, and everything dies with the disk at one durable step after the other: no step is begun twice,
// none is lost, and afterwards nothing is asked.
func TestWorkersOverKills(t *testing.T) {
	slow(t)
	steps, most := lethetest.Sample(6, 12, 30), lethetest.Sample(40, 60, 25)
	w := newWorld(t)
	id := w.boot("ada", "dev")
	lethetest.Must(t, os.MkdirAll(w.own(id, "workspace"), 0o700))
	plan := fmt.Sprintf("# Goal: x\nbounds: %d steps, 1 USD, 4 workers\n", steps)
	for n := range steps {
		plan += fmt.Sprintf("- [ ] %d run echo x >> f%d; echo hello · files: f%d · worker: yes\n", n, n, n)
		w.write(w.own(id, fmt.Sprint("workspace/f", n)), "")
	}
	path := w.planned(id, plan)
	w.confirms(id)
	w.say("dev", "ann", "hello")
	disk, rnd, kills := &badDisk{}, rand.New(rand.NewPCG(5, 6)), 0
	defer disk.put(w)()
	isDone := func() bool { return strings.Count(w.read(path), "- [x]") == steps && len(w.fold(id).Working()) == 0 }
	for stuck, was := 0, 0; !isDone(); stuck++ {
		if now := len(w.workrooms()) + strings.Count(w.read(path), "- [x]"); now > was {
			stuck, was = 0, now
		}
		left := 15 + rnd.IntN(most)*(1+stuck)
		disk.set(func() {
			disk.fails = func(stage durable.Stage, op, path string) error {
				if left--; left > 0 {
					return nil
				}
				disk.dead = true
				return syscall.EIO
			}
		})
		s := w.supervise(id)
		w.eventually("it dies", func() bool { return disk.isDead() || isDone() && w.quiet(id) })
		s.end()
		disk.restart()
		if kills++; stuck > 50 {
			t.Fatalf("nothing goes on: %s\n%s", w.read(path), w.dump())
		}
	}
	disk.set(func() { disk.fails = nil })
	s := w.supervise(id)
	w.eventually("the identity hears of it", func() bool { return len(w.events(id, "fired")) > 0 })
	w.idle(id)
	asked := len(w.requests())
	s.end()
	s = w.supervise(id)
	w.idle(id)
	s.end()
	equal(t, "requests afterwards", len(w.requests()), asked)
	t.Logf("%d kills, %d requests", kills, asked)
	w.has(id, steps, "asked")
	for n := range steps {
		if ran := w.read(w.own(id, fmt.Sprint("workspace/f", n))); len(ran) > 2 {
			t.Errorf("step %d ran %q", n, ran)
		}
	}
	rooms := w.workrooms()
	equal(t, "children", len(rooms), steps)
	for _, room := range rooms {
		equal(t, "lines in "+room, len(w.said(room)), 2)
	}
	w.conserved(id)
}

// People are asked once before workers begin, and again only when the plan would go beyond what they confirmed.
func TestPlanIsConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	const step = "- [ ] %d say hello · worker: yes\n"
	plan := "# Goal: x\nbounds: 2 steps, 3 USD, 1 workers\n" + fmt.Sprintf(step, 1)
	path := w.planned(id, plan)
	ended := func(n int) func() bool {
		return func() bool { return strings.Count(w.read(path), "- [x]") == n && len(w.events(id, "fired")) == n }
	}
	w.ask("dev", "hello")
	w.ask("dev", "hello")
	q := w.question("dev", 1)
	contains(t, q.Text, "Its bounds: 2 steps, 3 USD, 1 workers; 0 began, 1 are left for workers, for at most 1.50 USD. Steps: 1 say hello")
	w.say("dev", "bob", q.ID+" yes")
	w.has(id, 1, "asked")
	w.say("dev", "ann", q.ID+" yes")
	w.eventually("it is done", ended(1))
	w.has(id, 0, "asked", "call", "work-none")
	w.appendTo(path, fmt.Sprintf(step, 2))
	w.ask("dev", "hello")
	w.eventually("it is done", ended(2))
	w.idle(id)
	w.has(id, 3, "asked") // with two steps
	w.appendTo(path, fmt.Sprintf(step, 3))
	w.ask("dev", "hello")
	w.eventually("it is asked", func() bool { return len(w.events(id, "asked")) == 4 })
	w.say("dev", "ann", w.question("dev", 2).ID+" no")
	w.ask("dev", "hello")
	w.ask("dev", "hello")
	w.has(id, 4, "asked")
	contains(t, w.read(path), "[ ] 3")
	w.write(path, strings.Replace(w.read(path), "2 steps", "20 steps", 1)) // is another plan
	w.ask("dev", "hello")
	w.eventually("it is asked", func() bool { return len(w.events(id, "asked")) == 5 })
	s.end()
	w.has(id, 2, "run")
}

// A /stop stops the workers, and nothing else begins before a person lets the plan go on.
func TestWorkersAreStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	path := w.planned(id, "bounds: 9 steps, 3 USD, 1 workers\n- [ ] 1 run sleep 600 · worker: yes\n- [ ] 2 say hello · worker: yes\n")
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("it works", func() bool { return strings.Contains(w.read(path), "[>] 1") })
	w.say("dev", "ann", "/stop")
	w.eventually("it is held", func() bool { return strings.HasPrefix(w.read(path), "held: lethe work confirm\nbounds") })
	w.ask("dev", "hello")
	contains(t, w.read(path), "[!] 1")
	contains(t, w.read(path), "[ ] 2")
	w.write(path, strings.TrimPrefix(w.read(path), "held: lethe work confirm\n")) // no way around a person
	w.ask("dev", "hello")
	w.ask("dev", "hello") // between the two it has looked
	contains(t, w.read(path), "[ ] 2")
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("it goes on", func() bool { return strings.Contains(w.read(path), "[x] 2") })
	w.eventually("the identity hears of it", func() bool { return len(w.events(id, "fired")) == 1 })
	w.eventually("it is said", func() bool { return strings.Contains(strings.Join(w.said("dev"), "\n"), "1 stopped") })
	s.end()
}

// A /stop takes a step from a worker that has not begun: it stays so, and nothing else begins before a person lets the
// plan go on. Whether the /stop comes while a hook looks at the call, or behind a kill there.
func TestStoppedBeforeItBegins(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		id := w.boot("ada", "dev")
		path := w.planned(id, "bounds: 9 steps, 3 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n- [ ] 2 say more · worker: yes\n")
		w.confirms(id)
		free := w.own(id, "workspace/free")
		w.hook("call/slow", fmt.Sprintf(`grep -q '"tool_name":"SPAWN"' || exit 0; echo >>%s.seen; test -e %[1]s || sleep 600`, free))
		disk := &badDisk{}
		defer disk.put(w)()
		s := w.supervise(id)
		w.say("dev", "ann", "hello")
		w.eventually("the hook looks", func() bool { _, err := os.Stat(free + ".seen"); return err == nil })
		w.has(id, 1, "asked")
		if killed {
			disk.set(func() { disk.dead, disk.fails = true, func(durable.Stage, string, string) error { return syscall.EIO } })
			s.end()
			disk.restart()
			disk.set(func() { disk.fails = nil })
		}
		w.say("dev", "ann", "/stop")
		if killed {
			s = w.supervise(id)
		}
		w.eventually("it is held", func() bool { return strings.HasPrefix(w.read(path), "held: lethe work confirm\nbounds") })
		contains(t, w.read(path), "[!] 1")
		w.write(free, "")
		w.ask("dev", "hello")
		w.ask("dev", "hello")
		w.has(id, 1, "asked")
		w.has(id, 0, "run")
		contains(t, w.read(path), "[ ] 2")
		w.confirms(id)
		w.ask("dev", "hello")
		w.eventually("it goes on", func() bool { return strings.Contains(w.read(path), "[x] 2") })
		w.eventually("the identity hears of it", func() bool {
			return strings.Contains(strings.Join(w.said("dev"), "\n"), "1 stopped") && w.works(id) == 0
		})
		s.end()
		contains(t, w.read(path), "[!] 1")
		w.has(id, 2, "asked")
	}
}

// Who drops or pauses a plan while its daemon gives a step is obeyed, although that was not to be seen yet: while a hook looks
// at the call, behind a kill there, or when the worker has just begun. What was paused begins once, when it is confirmed, also
// under another name.
func TestHeldWhileItIsGiven(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"hook", "killed", "begun"} {
		for _, verb := range []string{"drop", "pause", "rename"} {
			t.Run(moment+" "+verb, func(t *testing.T) { held(t, moment, verb) })
		}
	}
}

func held(t *testing.T, moment, verb string) {
	w := newWorld(t)
	id := w.boot("ada", "dev")
	path := w.planned(id, "bounds: 1 steps, 3 USD, 1 workers\n- [ ] 1 run sleep 2; echo >>done · worker: yes · files: done\n")
	done, free := w.own(id, "workspace/done"), w.own(id, "workspace/free")
	w.write(done, "")
	w.confirms(id)
	before := w.fold(id)
	w.hook("call/slow", fmt.Sprintf(`grep -q '"tool_name":"SPAWN"' || exit 0; echo >>%s.seen
until test -e %[1]s; do sleep .05; done`, free))
	if moment == "begun" {
		w.write(free, "")
	}
	disk := &badDisk{}
	defer disk.put(w)()
	s := w.supervise(id)
	w.say("dev", "ann", "hello")
	w.eventually("a hook looks", func() bool { _, err := os.Stat(free + ".seen"); return err == nil })
	switch moment {
	case "begun":
		w.eventually("it works", func() bool { return strings.Contains(w.read(path), "[>]") && w.works(id) == 1 })
	case "killed":
		disk.set(func() { disk.dead, disk.fails = true, func(durable.Stage, string, string) error { return syscall.EIO } })
		s.end()
		disk.restart()
		disk.set(func() { disk.fails = nil })
	}
	_, err := work.Obey(w.home.Dir, w.own(id, "workspace"), before, strings.Replace(verb, "rename", "pause", 1), "move") // as of before
	lethetest.Must(t, err)
	name := "move"
	if verb == "rename" {
		name = "other"
		other := strings.Replace(path, "move", name, 1)
		lethetest.Must(t, os.Rename(path, other))
		path = other
	}
	before = w.fold(id)
	w.write(free, "")
	if moment == "killed" {
		s = w.supervise(id)
	}
	w.idle(id)
	w.ask("dev", "hello")
	w.idle(id)
	if moment != "begun" {
		w.has(id, 0, "run")
		equal(t, "given", len(w.fold(id).Approved), 0)
	}
	if verb == "drop" {
		w.eventually("the room is left", func() bool { return len(w.fold(id).Children) == 0 })
		equal(t, "done", w.read(done), "")
		for _, room := range w.workrooms() {
			equal(t, "stops in "+room, strings.Count(w.read(w.path(room)), "[USER:work-move "), 1)
		}
		s.end()
		return
	}
	if moment != "begun" {
		contains(t, w.read(path), "[ ] 1")
	}
	_, err = work.Obey(w.home.Dir, w.own(id, "workspace"), before, "confirm", name) // by who did not see yet what has not begun
	lethetest.Must(t, err)
	w.eventually("it is done", func() bool { return strings.Contains(w.read(path), "[x] 1") })
	w.idle(id)
	s.end()
	w.has(id, 1, "run")
	equal(t, "done", w.read(done), "\n")
}

// An earlier text of a plan that lethe files --restore brings back begins nothing that is at work or was done when it was at
// work then.
func TestPlanIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	free := w.own(id, "workspace/free")
	path := w.planned(id, "bounds: 3 steps, 3 USD, 1 workers\n- [ ] 1 run until test -e free; do sleep .05; done · worker: yes\n")
	first := w.read(path)
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("it works", func() bool { return strings.Contains(w.read(path), "[>]") && w.works(id) == 1 })
	w.write(path, first)
	w.eventually("it is known", func() bool { return strings.Contains(w.read(path), "[>]") })
	atWork := w.read(path)
	w.write(free, "")
	w.eventually("it is done", func() bool { return strings.Contains(w.read(path), "[x]") && len(w.fold(id).Children) == 0 })
	w.write(path, atWork)
	w.eventually("it is done again", func() bool { return strings.Contains(w.read(path), "[x]") })
	w.ask("dev", "hello")
	w.has(id, 1, "asked")
	s.end()
}

// Plans whose names differ by the case of letters alone, or that no room could bear, are plans of their own.
func TestPlansOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	path := w.planned(id, "bounds: 1 steps, 3 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n")
	names := []string{"move", "Move", "mové.2", "my plan", "\xff"}
	for _, name := range names {
		w.write(strings.Replace(path, "move", name, 1), w.read(path))
	}
	w.ask("dev", "hello")
	w.has(id, len(names), "asked")
	for n, name := range names {
		is := func(mark string) bool {
			text := w.read(strings.Replace(path, "move", name, 1))
			return strings.Contains(text, mark)
		}
		if utf8.ValidString(name) {
			w.say("dev", "ann", "/work confirm "+name)
		} else { // as lethe work confirm
			_, err := work.Obey(w.home.Dir, w.own(id, "workspace"), w.fold(id), "confirm", name)
			lethetest.Must(t, err)
		}
		w.eventually(name+" is done", func() bool { return is("[x] 1") && len(w.events(id, "fired")) == n+1 })
		w.has(id, n+1, "run")
	}
	w.say("dev", "ann", "/work drop Move")
	w.eventually("it is dropped", func() bool { return slices.Contains(w.said("dev"), "Move.md: drop.") })
	contains(t, w.read(path), "[x] 1")
	s.end()
}

// Who drops a plan stops its workers. A plan that gets another name while workers are at its steps keeps them, and waits for a
// person like any other.
func TestPlanGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	const two = "bounds: 9 steps, 3 USD, 2 workers\n- [ ] 1 run sleep 600 · worker: yes\n- [ ] 2 run sleep 601 · worker: yes\n"
	path := w.planned(id, two)
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("they work", func() bool { return strings.Count(w.read(path), "[>]") == 2 && w.works(id) == 2 })
	lethetest.Must(t, os.Rename(path, strings.Replace(path, "move", "other", 1)))
	other := strings.Replace(path, "move", "other", 1)
	w.write(other, two) // the same steps, open
	w.eventually("they are known", func() bool { return strings.Count(w.read(other), "[>]") == 2 })
	w.confirms(id)
	w.ask("dev", "hello")
	w.ask("dev", "hello")
	w.has(id, 2, "asked") // while they are at work
	equal(t, "at work", w.works(id), 2)
	lethetest.Must(t, os.Remove(other))
	w.write(path, two)
	w.eventually("they are known again", func() bool { return strings.Count(w.read(path), "[>]") == 2 })
	n := len(w.said("dev"))
	w.say("dev", "ann", "/work drop move")
	w.eventually("it is dropped", func() bool { return slices.Contains(w.said("dev")[n:], "move.md: drop.") })
	w.eventually("they are stopped", func() bool { return w.works(id) == 0 })
	for _, room := range w.workrooms() {
		contains(t, w.read(w.path(room)), "[USER:work-move ")
		w.eventually("it ends", func() bool { return strings.Contains(w.read(w.path(room)), "] Stopped.") })
	}
	w.ask("dev", "hello")
	w.has(id, 2, "asked")
	s.end()
}

// works counts the workers of an identity that owe it a result.
func (w *world) works(id home.Identity) int { return len(w.fold(id).Working()) }

// The pause of a person outlasts what the identity does to its file, and an answer to the question about its bounds.
func TestPauseIsAPersons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	w.ask("dev", "hello")
	const plan = "bounds: 9 steps, 3 USD, 1 workers\n- [ ] 1 say hello · check: `true` · worker: yes\n"
	path := w.planned(id, plan)
	says := func(line, want string) { // the answer to an earlier line may come between
		t.Helper()
		n := len(w.said("dev"))
		w.say("dev", "ann", line)
		w.eventually(line, func() bool { return strings.Contains(strings.Join(w.said("dev")[n:], "\n"), want) })
	}
	says("/work pause move", "move.md: pause.")
	w.write(path, plan)
	w.ask("dev", "hello")
	q := w.question("dev", 1)
	contains(t, q.Text, "A yes here does not end its pause, as /work confirm does. May I go on with work/move.md? ")
	contains(t, q.Text, "Steps: 1 say hello · check: `true`")
	w.say("dev", "ann", q.ID+" yes")
	w.eventually("it is answered", func() bool { return len(w.fold(id).Questions) == 0 })
	w.ask("dev", "hello")
	w.ask("dev", "hello")
	w.has(id, 0, "run")
	says("/work", "It waits for /work confirm move: ")
	says("/work confirm move", "move.md: confirm.")
	w.eventually("it is done", func() bool { return strings.Contains(w.read(path), "[x] 1") })
	s.end()
}

// A kill between the mark and the question leaves a step as asked that nobody is asked about: the next answer settles it.
func TestAskedIsSettled(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "done", "well", "so it is")
	path := w.planned(id, "- [?] 1 make it · check: `test -e made`\n- [?] 2 ask\n")
	r.ask("work")
	contains(t, w.read(path), "[ ] 1")
	contains(t, w.read(path), "[?] 2")
	w.write(path, strings.Replace(w.read(path), "[ ] 1", "[?] 1", 1))
	w.write(w.own(id, "workspace/made"), "")
	r.ask("and now?")
	contains(t, w.read(path), "[x] 1")
	r.checked()
}

// A hook may refuse the call that gives a step to a worker, as it may refuse each other SPAWN.
func TestHookOfWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook("call/no-spawn", `grep -q '"tool_name":"SPAWN"' || exit 0; echo "no workers" >&2; exit 2`)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	path := w.planned(id, "bounds: 2 steps, 1 USD, 1 workers\n- [ ] 1 say hello · worker: yes\n")
	w.confirms(id)
	w.ask("dev", "hello")
	w.eventually("the identity hears of it", func() bool { return len(w.events(id, "fired")) == 1 })
	w.idle(id)
	s.end()
	contains(t, w.read(path), "[!] 1")
	equal(t, "children", len(w.workrooms()), 0)
}

// The check of a step is no way around a BASH that the identity does not have, or that people are asked about.
func TestChecksMayRun(t *testing.T) {
	t.Parallel()
	rule, err := tools.ParseRule("BASH")
	lethetest.Must(t, err)
	for _, change := range []func(c *Config){
		func(c *Config) { c.Tools.Bash = tools.BashOff },
		func(c *Config) { c.Tools.Only = []string{"READ_FILE", "WRITE_FILE"} },
		func(c *Config) { c.Tools.Ask = []tools.Rule{rule} },
	} {
		w := newWorld(t, always("done"))
		change(&w.conf)
		id := w.boot("ada", "dev")
		w.planned(id, "- [x] 1 make it · check: `touch made`\n")
		r := w.run(id)
		r.ask("work")
		r.finish()
		if _, err := os.Stat(w.own(id, "workspace/made")); err == nil {
			t.Error("its check has run")
		}
	}
}
