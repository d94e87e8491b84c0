package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// copied is a home of its own with what another one holds, for an identity that
// is opened and does not run.
func (w *world) copied(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	lethetest.Must(t, err)
	lethetest.Must(t, os.CopyFS(filepath.Join(dir, "home"), os.DirFS(w.home.Dir)))
	c := &world{TB: t, limit: w.limit, conf: w.conf, rooms: map[string]parsed{}, lives: map[string]lived{}}
	c.home, err = home.Open(filepath.Join(dir, "home"))
	lethetest.Must(t, err)
	c.store, err = blobs.Open(c.home.Blobs())
	lethetest.Must(t, err)
	c.conf.Home, c.conf.Store, c.conf.Tools = c.home, c.store, tools.Config{Bash: tools.BashOff}
	return c
}

// TestEveryStepOfASwapFails breaks each durable step of a compaction, lost and
// persisted: what is opened afterwards is the old epoch or the new one, whole.
func TestEveryStepOfASwapFails(t *testing.T) {
	t.Parallel()
	base := forgetful(t, 30_000, always("noted"))
	base.conf.Forgetting.Mechanical, base.conf.Tools.Bash = true, tools.BashOff
	id := base.boot("ada", "dev")
	base.write(base.own(id, "MEMORY.md"), "a note")
	r := base.run(id)
	base.talk(12, 60)
	r.finish()
	before := base.fold(id)

	swap := func(t *testing.T, n int, stage durable.Stage) int {
		w := base.copied(t)
		id, err := w.home.Find("ada")
		lethetest.Must(t, err)
		disk := nth(n, stage, syscall.EIO)
		compact := func(disk *badDisk) error {
			a, err := Open(id, w.conf)
			lethetest.Must(t, err)
			mended := disk.put(w)
			err = a.Compact(t.Context(), "")
			mended()
			lethetest.Must(t, a.Close())
			w.conserved(id)
			return err
		}
		err = compact(disk)
		// A context.md that cannot be written is only logged: it is a view.
		if (err != nil) != (disk.failed != "" && filepath.Base(disk.failed) != home.ContextFile) || err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("step %d of %d, %s, failed at %q: %v", n, disk.steps, stage, disk.failed, err)
		}
		s := w.fold(id)
		switch s.Epoch {
		case before.Epoch:
			equal(t, "ranges in the old epoch", len(s.Faded), len(before.Faded))
			equal(t, "live entries in the old epoch", len(s.Live), len(before.Live))
			equal(t, "stable parts of the old epoch", s.Stable.Past, before.Stable.Past)
		case before.Epoch + 1:
			if len(s.Faded) == 0 || len(s.Live) >= len(before.Live) {
				t.Errorf("step %d, %s: the new epoch has %d ranges and %d entries", n, stage, len(s.Faded), len(s.Live))
			}
		default:
			t.Errorf("step %d, %s: epoch %d follows %d", n, stage, s.Epoch, before.Epoch)
		}
		lethetest.Must(t, compact(nil)) // and it goes on from there
		if s := w.fold(id); s.Epoch <= before.Epoch || len(s.Faded) == 0 {
			t.Errorf("step %d, %s: afterwards it is in epoch %d with %d ranges", n, stage, s.Epoch, len(s.Faded))
		}
		return disk.steps
	}
	total := swap(t, 0, durable.Before)
	if total < 20 {
		t.Fatalf("a swap has only %d durable steps", total)
	}
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= total && !t.Failed(); n += lethetest.Sample(25, 7, 1) {
				lethetest.Tried(t, 1)
				swap(t, n, stage)
			}
		})
	}
}

// That lines are no longer pinned is told in the append that unpins them.
func TestUnpinnedIsTold(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 30_000, always("noted"))
	w.conf.Forgetting.Mechanical = true
	r := w.run(w.boot("ada", "dev"))
	w.talk(12, 60)
	r.finish()
	a, err := Open(r.id, w.conf)
	lethetest.Must(t, err)
	for i := range 200 {
		a.view.State.Pins = append(a.view.State.Pins, mind.Pin{From: 1, To: 1, Text: fmt.Sprintf("ann: never touch button %d", i), Weight: 3})
	}
	lethetest.Must(t, a.Compact(t.Context(), ""))
	lethetest.Must(t, a.Close())
	last := ""
	for _, e := range w.life(r.id) {
		if e.Kind == "epoch" && e.Get("why") == byPerson {
			equal(t, "before the epoch", last, "note")
		}
		last = e.Kind
	}
	w.has(r.id, 1, "note", "why", "forgotten")
	w.conserved(r.id)
}

// TestAnyLife does what comes to mind, in any order, with a disk and a summariser
// that fail now and then.
func TestAnyLife(t *testing.T) {
	slow(t)
	deeds := lethetest.Sample(20, 30, 60)
	for life := range lethetest.Sample(2, 2, 12) {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			t.Parallel()
			anyLife(t, rand.New(rand.NewPCG(uint64(life), 7)), deeds)
		})
	}
}

func anyLife(t *testing.T, rnd *rand.Rand, deeds int) {
	w := forgetful(t, 16_000)
	mended := func() {}
	r := w.run(w.boot("ada", "dev"))
	id := r.id
	settle := func() {
		w.eventually("it rests or has failed", func() bool { return r.ended() || r.idle() })
		if r.ended() {
			mended()
			r = w.run(id)
			r.settled()
		}
	}
	for i := range deeds {
		switch rnd.IntN(11) {
		case 0:
			_ = home.Ask(id, home.WishCompact) // the disk may fail for this, too
		case 1:
			if fades := w.fold(id).Faded; len(fades) > 0 {
				w.say("dev", "ann", "uncompact hash="+fades[rnd.IntN(len(fades))].Original.Short)
			}
		case 2:
			w.say("dev", "ann", "compact")
		case 3:
			r.cancel()
			_ = r.wait()
		case 4:
			mended = nth(1+rnd.IntN(120), durable.Before, syscall.EIO).put(w)
		case 5:
			steps := []rehearsal.Step{
				{Answer: text(" \n")}, {Answer: cut(`{"chunks":`)}, {Fault: rehearsal.Truncate}, {Fault: rehearsal.Hang},
				{Status: 200, Body: "<!DOCTYPE html>\n<html></html>"},
			}
			step := steps[rnd.IntN(len(steps))]
			step.Task = []string{"segment", "summarise"}[rnd.IntN(2)]
			w.model.Push(step)
		case 6: // not waited for
			w.say("dev", "ann", remark(i, 40), remark(i, 10))
			continue
		default:
			w.say("dev", "ann", chores(rnd, i))
		}
		settle()
	}
	mended()
	w.say("dev", "ann", "good night") // which one that has just failed does not hear
	settle()
	r.checked()
	var said []string
	for _, l := range w.lines("dev") {
		if !l.Agent {
			said = append(said, l.Text)
		}
	}
	equalSlices(t, "heard", w.heard(id, "dev"), said)
	equal(t, "owes", w.owes(id), false)
}
