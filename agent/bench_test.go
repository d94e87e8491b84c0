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
	"lethe/llm/rehearsal"
)

// BenchmarkResume shows that opening an identity costs its epoch, not its life.
func BenchmarkResume(b *testing.B) {
	for _, size := range []int64{1 << 20, 200 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			w := newWorld(b)
			id := w.boot("ada", "dev")
			r := w.run(id)
			w.ask("dev", "hello")
			r.finish()
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
		chunk[i] = life.New(time.Now(), "stopped", nil, "why", strings.Repeat("x", 900))
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
	id := w.boot("ada", "dev")
	r := w.run(id)
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
	w.ask("dev", "hello")
	r.settled()
	seen := func() string {
		var b strings.Builder
		for _, name := range []string{"LIFE.md", "status.json", "context.md", "live.md", "lock"} {
			fi, err := os.Stat(w.own(id, name))
			lethetest.Must(t, err)
			fmt.Fprintln(&b, name, fi.Size(), fi.ModTime())
		}
		return b.String()
	}
	// The last writes wake it once more.
	before, since := seen(), time.Now()
	w.eventually("nothing is written for 300 ms", func() bool {
		if now := seen(); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
	used := cpu(t)
	<-time.After(time.Second)
	if took := cpu(t) - used; took > 100*time.Millisecond {
		t.Errorf("an idle second took %v of processor time", took)
	}
	equal(t, "files after an idle second", seen(), before)
	equal(t, "model calls", len(w.asked()), 1)
	r.stop()
}

func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	lethetest.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
