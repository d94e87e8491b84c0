package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
)

// TestPowerLoss records lives, on a good disk and on ones that fail between kills,
// and lets each go on from states that a power loss may leave of it.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	lives, states := lethetest.Sample(2, 3, 100), lethetest.Sample(3, 6, 100)
	for i := range lives {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			recordLife(t, diskOf(i)).survivesAll(rand.New(rand.NewPCG(1, uint64(i))), states)
		})
	}
}

// diskOf is the disk of the i-th life.
func diskOf(i int) *badDisk {
	switch i {
	case 0:
		return nil
	case 1: // a kill between the append of a post and its sync
		return once(syscall.EIO, func(stage durable.Stage, op, path string) bool {
			return stage == durable.After && op == "append" && strings.HasSuffix(path, "chats/ops.md")
		})
	}
	return failing(rand.New(rand.NewPCG(2, uint64(i))), 0.02)
}

// survivesAll lets the identity go on from the end of its life, and from states that a
// power loss may leave after any operation, and looks for what is wrong then.
func (l *recorded) survivesAll(r *rand.Rand, states int) {
	second := newWorld(l, powerScript(true)...)
	second.conf.Forgetting.Mechanical = true
	second.home = l.home
	judge := &recorded{world: second, id: l.id, log: l.log, rooms: l.rooms, ops: l.ops, sent: l.sent, edited: l.edited}
	for i := range states {
		n, keep := r.IntN(len(l.ops)+1), []float64{0, 1, 0.5, 0.8}[r.IntN(4)]
		if i == 0 {
			n, keep = len(l.ops), 1
		}
		last := l.ops[max(0, n-1)]
		l.Logf("a power loss after operation %d, %s %s, keeps %v", n, last.Kind, last.Path, keep)
		left, all := judge.lose(n, keep, r)
		if r.IntN(4) == 0 && left["agents/"+l.id.Self].Dir { // an old request to stop, that the disk did not forget
			lethetest.Must(l, Stop(l.id))
		}
		if judge.resume(n, left, all); l.Failed() {
			return
		}
	}
}

// A boot that fails at any step leaves nothing that looks like an identity, or a whole
// one. When it is repeated there is one identity, also after a power loss.
func TestBootSurvives(t *testing.T) {
	t.Parallel()
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for n := 1; ; n += lethetest.Sample(9, 5, 1) {
			l := &recorded{world: newWorld(t), rooms: t.TempDir()}
			lethetest.Must(t, empty(l.home.Dir))
			traces.Store(l.home.Dir, func(op durable.Op) { l.ops = append(l.ops, op) })
			_, err := OpenHome(l.home.Dir)
			lethetest.Must(t, err)
			mended := nth(n, stage, syscall.EIO).put(l.world)
			_, err = Boot(l.home, l.store, BootOptions{Name: "ada", Rooms: []string{"dev"}})
			mended()
			was, lerr := l.home.List()
			lethetest.Must(t, lerr)
			for _, id := range was {
				_, err := Fold(id, l.store)
				lethetest.Must(t, err)
			}
			id := l.rebirth(func() {}, "ada", "dev")
			traces.Delete(l.home.Dir)
			if len(was) > 1 || len(was) == 1 && was[0] != id {
				t.Fatalf("step %d, %s: there were %v, and then %v", n, stage, was, id)
			}
			equal(t, "first event", l.life(id)[0].Kind, "boot")
			l.lose(len(l.ops), 0, nil)
			all, lerr := l.home.List()
			lethetest.Must(t, lerr)
			if len(all) != 1 || all[0] != id {
				t.Fatalf("step %d, %s: a power loss left %v of %v", n, stage, all, id)
			}
			_, lerr = Fold(id, l.store)
			lethetest.Must(t, lerr)
			l.run(id).stop()
			if err == nil { // it has no more steps
				break
			}
		}
	}
}
