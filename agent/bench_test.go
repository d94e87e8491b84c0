package agent

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/internal/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm/rehearsal"
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
func (w *world) lengthen(id Identity, size int64) {
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
	w := newWorld(b, rehearsal.Step{Times: -1, Answer: text("yes")})
	posted := make(chan struct{}, 1)
	w.conf.Tell = func(_ Identity, e life.Event) {
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
		for _, name := range []string{"LIFE.md", "status.json", "context.md", "live.md", "lock"} {
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
