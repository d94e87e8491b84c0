package agent

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life"
	"lethe/life/event"
)

// BenchmarkResume shows that opening an identity costs its epoch, not its life.
func BenchmarkResume(b *testing.B) {
	for _, size := range []int64{1 << 20, 200 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			w, id, r := start(b)
			r.ask("hello")
			r.stop()
			w.lengthen(id, size)
			b.ReportAllocs()
			for b.Loop() {
				a, err := Open(id, w.conf)
				lethetest.Must(b, err)
				lethetest.Must(b, a.Close())
			}
		})
	}
}

// lengthen grows a LIFE to a size and repeats its newest epoch at the end.
func (w *world) lengthen(id home.Identity, size int64) {
	w.Helper()
	epochs := w.events(id, "epoch")
	epoch := epochs[len(epochs)-1]
	log, err := life.Open(id.LIFE())
	lethetest.Must(w, err)
	defer log.Close()
	chunk := make([]life.Event, 5000)
	for i := range chunk {
		chunk[i] = event.Line(time.Now(), event.Stopped{Why: strings.Repeat("x", 900)})
	}
	for log.Size() < size {
		lethetest.Must(w, log.Append(chunk...))
	}
	epoch.At = time.Now()
	lethetest.Must(w, log.Append(epoch))
}

// BenchmarkTurn is one line, heard, answered by the rehearsal model and posted.
func BenchmarkTurn(b *testing.B) {
	w := newWorld(b, always("yes"))
	posted := make(chan struct{}, 1)
	w.conf.Tell = func(_ home.Identity, e life.Event) {
		if e.Kind == "posted" {
			posted <- struct{}{}
		}
	}
	r := w.run(w.boot("ada", "dev"))
	b.ReportAllocs()
	for b.Loop() {
		w.say("dev", "ann", "a line of ordinary length, as people write them")
		<-posted
	}
	r.stop()
}

// An idle identity asks nothing, writes nothing and takes no time. The test is not
// parallel: it looks at the process.
func TestIdleCostsNothing(t *testing.T) {
	w, id, r := start(t)
	r.ask("hello")
	seen := func() string {
		var b strings.Builder
		for _, name := range []string{"LIFE.md", "status.json", "context.md", "lock"} {
			fi, err := os.Stat(w.own(id, name))
			lethetest.Must(t, err)
			fmt.Fprintln(&b, name, fi.Size(), fi.ModTime())
		}
		return b.String()
	}
	used := func() time.Duration {
		var u syscall.Rusage
		lethetest.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	// The last writes wake it once more, so an idle second is waited for.
	before, since, processor := "", time.Now(), time.Duration(0)
	w.eventually("nothing is written for a second", func() bool {
		if now := seen(); now != before {
			before, since, processor = now, time.Now(), used()
		}
		time.Sleep(100 * time.Millisecond)
		return time.Since(since) > time.Second
	})
	if took := used() - processor; took > 100*time.Millisecond {
		t.Errorf("an idle second took %v of processor time", took)
	}
	equal(t, "model calls", len(w.asked()), 1)
	r.stop()
}

// However long a context is, its snapshots weigh no more in all than what has happened.
func TestSnapshotsWeighNoMoreThanEvents(t *testing.T) {
	slow(t)
	w := newWorld(t, rehearsal.Step{Times: 9, Answer: many(60, "LIST", `{"path":"."}`)}, always("done"))
	w.conf.ContextLimit = 1_000_000
	r := w.run(w.boot("ada", "dev"))
	r.ask("list a lot")
	written, counts := 0, w.having(r.id, "epoch", "why", "count")
	for _, e := range counts {
		written += len(w.body(e, 0))
	}
	last := len(w.body(counts[len(counts)-1], 0))
	if fi, err := os.Stat(r.id.LIFE()); err != nil || int64(written-last) > fi.Size() || last < 64<<10 {
		t.Errorf("%d snapshots have %d KB, the last of them %d KB, and LIFE %d KB, %v", len(counts), written>>10, last>>10, fi.Size()>>10, err)
	}
	r.stop()
}

// BenchmarkCompaction is for how long a compaction of 100,000 tokens holds a turn: when it begins, and when
// what the summariser made beside the turns is put in place. Beside the time it has that of the processor,
// which other work on the machine and the disk do not lengthen; that of the snapshot, which is made while the disk
// syncs, is not in it.
func BenchmarkCompaction(b *testing.B) {
	w := newWorld(b)
	w.conf.ContextLimit = 200_000
	r := w.run(w.boot("ada", "dev"))
	for tokens := 0; tokens < 100_000; {
		w.talk(10, 30)
		r.settled()
		s, err := status.Read(r.id.Dir)
		lethetest.Must(b, err)
		tokens = s.ContextTokens - s.ContextAnswer
	}
	r.stop()
	a, err := Open(r.id, w.conf)
	lethetest.Must(b, err)
	defer a.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, took := *a.view.State, map[string][]time.Duration{}
	measure := func(what string, f func() error) {
		var used, since unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &since)
		began := time.Now()
		lethetest.Must(b, f())
		took[what+"-ms"] = append(took[what+"-ms"], time.Since(began))
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
		took[what+"-cpu-ms"] = append(took[what+"-cpu-ms"], time.Duration(used.Nano()-since.Nano()))
	}
	for b.Loop() {
		state := before
		a.view.State, *a.forgetter = &state, forgetter{View: a.view, cfg: a.cfg, thinker: a.thinker}
		a.thinker.contextTokens() // which has the request rendered already, in a life
		measure("begin", func() error { return a.forgetter.beginJob(b.Context(), byPerson) })
		<-a.forgetter.job.Done
		measure("swap", func() error { return a.forgetter.finish(a.forgetter.job) })
	}
	for what, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, what)
	}
}
