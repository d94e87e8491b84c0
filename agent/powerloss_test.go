package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

// survivesAll tries the whole life, and states of it at random moments.
func (l *recorded) survivesAll(r *rand.Rand, states int) {
	second := newWorld(l, powerScript(true)...)
	second.conf.Forgetting.Mechanical = true
	for i := range states {
		n, keep := r.IntN(len(l.ops)+1), []float64{0, 1, 0.5, 0.8}[r.IntN(4)]
		if i == 0 {
			n, keep = len(l.ops), 1
		}
		if problems := l.survives(n, keep, r, second); len(problems) > 0 {
			last := l.ops[max(0, n-1)]
			l.Errorf("power loss after operation %d, %s %s, keep %v: %d problems, the first: %.3000s", n, last.Kind, last.Path, keep, len(problems), problems[0])
		}
	}
}

// TestPowerLossIsFound leaves syncs out of the record, one kind at a time, as a
// program would that forgot them: states are found in which something is wrong.
func TestPowerLossIsFound(t *testing.T) {
	t.Parallel()
	l := recordLife(t, nil)
	l.limit = 5 * time.Second
	second := newWorld(t, powerScript(true)...)
	second.conf.Forgetting.Mechanical = true
	tried := 0
	for name, forgotten := range map[string]func(durable.Op) bool{
		"the bytes of a blob": func(op durable.Op) bool { return op.Kind == "sync" && strings.HasPrefix(op.Path, "blobs/") },
		"the name of a blob":  func(op durable.Op) bool { return op.Kind == "syncdir" && strings.HasPrefix(op.Path, "blobs/") },
		"the log":             func(op durable.Op) bool { return op.Kind == "sync" && strings.HasSuffix(op.Path, "/LIFE.md") },
		"the name of the log": func(op durable.Op) bool { return op.Kind == "syncdir" && op.Path == "agents/"+l.id.Self },
		"a post":              func(op durable.Op) bool { return op.Kind == "sync" && op.Path == "chats/ops.md" },
		"a view": func(op durable.Op) bool {
			return op.Kind == "sync" && slices.ContainsFunc(l.ops, func(o durable.Op) bool { return o.Path == op.Path && (o.Kind == "exchange" || o.Kind == "link") })
		},
		"a subscription": func(op durable.Op) bool { return op.Kind == "syncdir" && strings.HasSuffix(op.Path, "/subs") },
	} {
		if tried++; tried > lethetest.Sample(1, 2, 7) { // which ones is left to the map
			break
		}
		bad := l.in(l.world)
		bad.ops, bad.edited = nil, 0
		var after []int // where a sync was forgotten
		for i, op := range l.ops {
			if i == l.edited {
				bad.edited = len(bad.ops)
			}
			if forgotten(op) {
				after = append(after, len(bad.ops))
			} else {
				bad.ops = append(bad.ops, op)
			}
		}
		r := rand.New(rand.NewPCG(5, 6))
		var found []string
		for try := 0; len(found) == 0; try++ {
			if try == 200 {
				t.Fatalf("nobody finds out that %s is not synced", name)
			}
			n := min(len(bad.ops), after[r.IntN(len(after))]+r.IntN(20))
			found = slices.DeleteFunc(bad.survives(n, []float64{0, 0.5}[try%2], r, second), func(p string) bool {
				return strings.HasPrefix(p, "waited") // perhaps the machine is busy
			})
		}
		t.Logf("%s: %.100s", name, found[0])
	}
}

// A boot that fails at any step leaves nothing that looks like an identity, or a whole
// one. When it is repeated there is one identity, also after a power loss.
func TestBootSurvives(t *testing.T) {
	t.Parallel()
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for n := 1; ; n += lethetest.Sample(9, 5, 1) {
			l := &recorded{world: newWorld(t), rooms: t.TempDir()}
			lethetest.Must(t, removeAllIn(l.home.Dir))
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
