package events_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"lethe/agent/events"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// A hundred streams that follow one log take little memory, since they share what they have read. Each gets every event
// once and in order, also one that was slow, and falls behind what is kept for it.
func TestHundredStreams(t *testing.T) {
	store, logs := recorded(t)
	data, err := os.ReadFile(logs[0].Path)
	lethetest.Must(t, err)
	lines := slices.Collect(splitLines(data))
	half := len(lines) / 2
	log := events.Log{Path: filepath.Join(t.TempDir(), "LIFE.md"), Name: "ada"}
	lethetest.Must(t, os.WriteFile(log.Path, slices.Concat(lines[:half]...), 0o600))
	after, err := events.End(log.Path)
	lethetest.Must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watcher := chat.NewWatcher(20*time.Millisecond, nil)
	var all sync.WaitGroup
	all.Go(func() { _ = watcher.Run(ctx) })
	got, release := make([]chan string, 100), make(chan struct{})
	before := heap()
	for i := range got {
		got[i] = make(chan string, 10_000)
		s, err := events.Open(store, log, after)
		lethetest.Must(t, err)
		all.Go(func() {
			defer s.Close()
			lethetest.Must(t, s.Follow(ctx, watcher, func(e events.Event) error {
				if i == 0 {
					<-release
				}
				got[i] <- e.ID
				return nil
			}))
		})
	}
	time.Sleep(500 * time.Millisecond) // they have come to the end
	if now := heap(); now > before+2<<20+100*10_000*16 {
		t.Errorf("100 streams take %d bytes", now-before-100*10_000*16)
	}
	f, err := os.OpenFile(log.Path, os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	defer f.Close()
	for _, line := range lines[half:] {
		_, err := f.Write(line)
		lethetest.Must(t, err)
	}
	time.Sleep(200 * time.Millisecond)
	close(release)
	want := read(t, store, log, after, 10_000)
	for i := range got {
		for _, e := range want {
			select {
			case id := <-got[i]:
				if id != e.ID {
					t.Fatalf("stream %d: %s, want %s", i, id, e.ID)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("stream %d: %s did not come", i, e.ID)
			}
		}
	}
	cancel()
	all.Wait()
}

func splitLines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			end := slices.Index(data, '\n') + 1
			if !yield(data[:end:end]) {
				return
			}
			data = data[end:]
		}
	}
}

// heap returns the bytes of live memory.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
