package agent

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/work"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// schedule is what a person does to a plan while its daemon writes, and when the daemon dies. Each act stands between two
// durable steps of the daemon, which waits there.
type schedule struct {
	*world
	id   home.Identity
	rnd  *rand.Rand
	name string // of the plan
	runs *supervised
	told []string // what was done

	left      atomic.Int64 // durable steps before the next act
	acts      atomic.Bool  // the person does something
	dead      atomic.Bool
	reached   chan bool
	goOn      chan bool
	isSettled bool // a person has confirmed the plan, and since then nobody has changed anything
	isDropped bool
}

const ofSchedule = "# Goal: x\nbounds: 4 steps, 1 USD, 2 workers\n" +
	"- [ ] 1 say one · worker: yes\n- [ ] 2 run sleep .1; echo x >>f; echo two · files: f · worker: yes\n" +
	"- [ ] 3 say three · after 1 · worker: yes\n- [ ] 4 run sleep .1; echo four · check: `grep four` · worker: yes\n"

func (s *schedule) disk(durable.Stage, string, string) error {
	switch {
	case s.acts.Load():
		return nil
	case s.dead.Load():
		return syscall.EIO
	case s.left.Add(-1) == 0:
		s.reached <- true
		<-s.goOn
		if s.dead.Load() {
			return syscall.EIO
		}
	}
	return nil
}

// next does something at a moment that nobody chose.
func (s *schedule) next(act string) {
	s.Helper()
	waits := false
	if s.runs != nil {
		s.left.Store(1 + s.rnd.Int64N(60))
		select {
		case <-s.reached:
			waits = true
		case <-time.After(time.Second):
			if s.left.Swap(0) <= 0 { // at this moment it was reached
				<-s.reached
				waits = true
			}
		}
	}
	s.told = append(s.told, act)
	s.acts.Store(true)
	s.do(act)
	s.acts.Store(false)
	s.dead.Store(act == "kill")
	if waits {
		s.goOn <- true
	}
	if act == "kill" && s.runs != nil {
		s.runs.end()
		s.runs = nil
		s.dead.Store(false)
	}
	if act == "start" && s.runs == nil {
		s.runs = s.supervise(s.id)
	}
}

func (s *schedule) do(act string) {
	s.Helper()
	path := s.own(s.id, "workspace/work/"+s.name+".md")
	switch act {
	case "rename", "replace":
		s.name = map[string]string{"move": "other", "other": "move"}[s.name]
		lethetest.Must(s, os.Rename(path, s.own(s.id, "workspace/work/"+s.name+".md")))
		s.isSettled = false
		if act == "replace" { // another plan, whose first step is another one
			s.write(path, "bounds: 2 steps, 1 USD, 2 workers\n- [ ] 1 say no · worker: yes\n- [ ] 2 say nothing · files: f · worker: yes\n")
		}
	case "confirm", "pause", "drop":
		_, err := work.Obey(s.home.Dir, s.own(s.id, "workspace"), s.fold(s.id), act, s.name)
		if err != nil && strings.Contains(err.Error(), "changed meanwhile") {
			s.told = append(s.told, "("+err.Error()+")")
			return
		}
		lethetest.Must(s, err)
		s.isSettled, s.isDropped = act == "confirm", act == "drop"
	}
}

// Whatever a person does with a plan, and whenever its daemon dies: no step is begun twice, and each step of a plan that a
// person has confirmed last ends without further help.
func TestPlansAnyhow(t *testing.T) {
	for seed := range uint64(lethetest.Sample(3, 12, 300)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			anyhow(t, seed)
		})
	}
}

func anyhow(t *testing.T, seed uint64) {
	s := &schedule{world: newWorld(t), rnd: rand.New(rand.NewPCG(seed, 47)), name: "move",
		reached: make(chan bool), goOn: make(chan bool)}
	s.id = s.boot("ada", "dev")
	s.planned(s.id, ofSchedule)
	s.write(s.own(s.id, "workspace/f"), "")
	lethetest.Break(s, s.home.Dir, s.disk)
	s.say("dev", "ann", "hello")
	s.next("confirm")
	s.next("start")
	acts := []string{"kill", "kill", "start", "start", "confirm", "confirm", "pause", "rename", "replace"}
	for range 3 + s.rnd.IntN(6) {
		s.next(acts[s.rnd.IntN(len(acts))])
	}
	if s.rnd.IntN(6) == 0 {
		s.next("drop")
	}
	s.next("start")
	if !s.isSettled && !s.isDropped {
		s.next("confirm")
	}
	path := s.own(s.id, "workspace/work/"+s.name+".md")
	isOver := func() bool {
		text, _ := os.ReadFile(path)
		isDone := !strings.Contains(string(text), "[ ]") && !strings.Contains(string(text), "[>]")
		return s.works(s.id) == 0 && (isDone || s.isDropped)
	}
	for deadline := time.Now().Add(s.limit); !isOver(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("steps wait for ever:\n%s%s", s.read(path), strings.Join(s.told, ", "))
		}
	}
	s.idle(s.id)
	s.runs.end()
	briefs := map[string]int{}
	for _, room := range s.workrooms() {
		for _, line := range s.said(room)[:1] {
			briefs[line]++
		}
	}
	for brief, n := range briefs {
		if n > 1 {
			t.Errorf("%q began %d times: %s", brief, n, strings.Join(s.told, ", "))
		}
	}
	if ran := s.read(s.own(s.id, "workspace/f")); len(ran) > 2 {
		t.Errorf("step 2 ran: %q", ran)
	}
}
