package check_test

import (
	"slices"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// BenchmarkFsck checks a home of 100,000 blobs of 4 KB, which one life refers to.
func BenchmarkFsck(b *testing.B) {
	const count, size = 100_000, 4096
	w := open(b, b.TempDir())
	id, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada"})
	lethetest.Must(b, err)
	log, err := life.Open(id.LIFE())
	lethetest.Must(b, err)
	text, at := make([]byte, size-250), time.Now()
	parent, err := blobs.ParseHash(id.Self)
	lethetest.Must(b, err)
	var lines []life.Event
	for n := range count {
		copy(text, time.Duration(n).String())
		parent, err = w.store.Put(blobs.Meta{At: at, Gist: "one of many", Life: id.Self, Parent: parent}, text)
		lethetest.Must(b, err)
		lines = append(lines, event.Line(at, event.Stopped{Why: "done"}, blobs.Ref{Hash: parent.String()[:16]}))
	}
	for part := range slices.Chunk(lines, 1000) {
		lethetest.Must(b, log.Append(part...))
	}
	lethetest.Must(b, log.Close())
	b.Run("fsck", func(b *testing.B) {
		b.SetBytes(count * size)
		for b.Loop() {
			r, err := check.Home(w.home, w.store, check.Options{})
			if err != nil || r.Blobs != count+1 || len(r.Findings) > 0 {
				b.Fatalf("%+v, %v", r.Findings, err)
			}
		}
	})
}
