package agent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// TestPowerLoss records lives, on a good disk and on ones that fail between kills,
// and lets each go on from states that a power loss may leave of it.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	lives, states := lethetest.Sample(2, 3, 100), lethetest.Sample(3, 6, 100)
	for i := range lives {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			l := recordLife(t, diskOf(i))
			if i%3 != 1 && i < 3 { // no text is without a line
				l.checkSnapshots()
				l.checkNames()
			}
			l.survivesAll(rand.New(rand.NewPCG(1, uint64(i))), states)
		})
	}
}

// checkNames: before a line is written, the names of all texts and their directories are durable that stand behind the line
// before it, also where the process that wrote it was killed.
func (l *recorded) checkNames() {
	unsynced, before := map[string]bool{}, map[string]bool{}
	for _, op := range l.ops {
		switch {
		case op.Kind == "mkdir" && strings.HasPrefix(op.Path, "blobs/"):
			unsynced[op.Path] = true
		case op.Kind == "syncdir":
			for name := range unsynced {
				if filepath.Dir(name) == op.Path {
					delete(unsynced, name)
					delete(before, name)
				}
			}
		case op.Kind == "write" && strings.HasSuffix(op.Path, "/LIFE.md"):
			if len(before) > 0 {
				l.Errorf("a line is written, and the names %v of the line before are not durable", slices.Collect(maps.Keys(before)))
			}
			before = maps.Clone(unsynced)
		}
	}
}

// checkSnapshots: what a snapshot alone names is durable before the line of its epoch, since no line tells that it is missing.
func (l *recorded) checkSnapshots() {
	unsynced, epochs := map[string]bool{}, 0
	for _, op := range l.ops {
		switch {
		case op.Kind == "rename" && strings.HasPrefix(op.To, "blobs/"):
			unsynced[op.To] = true
		case op.Kind == "sync":
			delete(unsynced, op.Path)
		case op.Kind == "write" && strings.HasSuffix(op.Path, "/LIFE.md") && strings.Contains(string(op.Data), " epoch "):
			if epochs++; len(unsynced) > 1 { // the snapshot itself
				l.Errorf("%d texts are not durable before the line of an epoch", len(unsynced))
			}
		}
	}
	if epochs == 0 {
		l.Error("no epoch was recorded")
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
	case 2: // a kill between an append to LIFE and the syncs of its texts, one in a directory that was made for it
		n, made := 0, false
		return once(syscall.EIO, func(stage durable.Stage, op, path string) bool {
			made = made || op == "mkdir" && strings.Contains(path, "/blobs/")
			if stage != durable.Before || op != "sync" || !strings.HasSuffix(path, "LIFE.md") {
				return false
			}
			if made {
				n++
			}
			made = false
			return n == 8
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
	judge := &recorded{world: second, id: l.id, log: l.log, rooms: l.rooms, ops: l.ops, sent: l.sent, saved: l.saved}
	var telling []int // a line is durable, and its texts or what was before it may not be
	for n, op := range l.ops {
		if op.Kind == "sync" && (strings.HasSuffix(op.Path, "LIFE.md") || strings.HasPrefix(op.Path, "chats/")) {
			telling = append(telling, n+1)
		}
	}
	lethetest.Tried(l, states)
	for i := range states {
		n, keep := r.IntN(len(l.ops)+1), []float64{0, 1, 0.5, 0.8}[r.IntN(4)]
		switch {
		case i == 0:
			n, keep = len(l.ops), 1
		case i%2 == 0 && len(telling) > 0:
			n, keep = telling[r.IntN(len(telling))], []float64{0, 0.5}[r.IntN(2)]
		}
		last := l.ops[max(0, n-1)]
		l.Logf("a power loss after operation %d, %s %s, keeps %v", n, last.Kind, last.Path, keep)
		left, all := judge.lose(n, keep, r)
		if r.IntN(4) == 0 && left["agents/"+l.id.Self].Dir { // an old request to stop, that the disk did not forget
			lethetest.Must(l, home.Ask(l.id, home.WishStop))
		}
		if judge.resume(left, all); l.Failed() {
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
			lethetest.Tried(t, 1)
			l := &recorded{world: newWorld(t), rooms: t.TempDir()}
			lethetest.Must(t, empty(l.home.Dir))
			traces.Store(l.home.Dir, func(op durable.Op) { l.ops = append(l.ops, op) })
			_, err := home.Open(l.home.Dir)
			lethetest.Must(t, err)
			mended := nth(n, stage, syscall.EIO).put(l.world)
			_, err = home.Boot(l.home, l.store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
			mended()
			was, lerr := l.home.List()
			lethetest.Must(t, lerr)
			for _, id := range was {
				_, err := home.Fold(id, l.store)
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
			_, lerr = home.Fold(id, l.store)
			lethetest.Must(t, lerr)
			l.run(id).stop()
			if err == nil { // it has no more steps
				break
			}
		}
	}
}
