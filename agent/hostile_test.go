package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"lethe/llm"
)

// Pipes and links in the place of an identity's own files neither block it nor
// get anything read, and a pipe in the place of its context is replaced.
func TestOwnFilesThatAreNone(t *testing.T) {
	w := newWorld(t)
	id := w.boot("ada", "dev")
	secret := filepath.Join(t.TempDir(), "secret")
	memory, view := filepath.Join(id.Dir, "MEMORY.md"), filepath.Join(id.Dir, "context.md")
	for _, path := range []string{memory, view, filepath.Join(id.Dir, "SEGMENT.md")} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.WriteFile(secret, []byte("the-secret-word"), 0o600),
		os.Symlink(secret, memory),
		syscall.Mkfifo(view, 0o600),
		syscall.Mkfifo(filepath.Join(id.Dir, "SEGMENT.md"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	r := w.run(id)
	w.ask("dev", "hello")
	r.stop()
	if fi, err := os.Lstat(view); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("context.md: %v, %v", fi, err)
	}
	for _, r := range w.asked() {
		if strings.Contains(string(r.Body), "the-secret-word") {
			t.Fatal("a linked file was read into a request")
		}
	}
}

// parrot is a model that remembers nothing.
type parrot struct{}

func (parrot) Complete(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	return llm.Reply{Text: "noted", Reasoning: "a remark", Finish: "stop", Model: "parrot"}, nil
}

// What a turn leaves behind in memory is what it adds to the context.
func TestMemoryDoesNotGrowByTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector keeps memory of its own")
	}
	w := newWorld(t)
	w.run(w.boot("ada", "dev"), func(c *Config) {
		c.Model = parrot{} // the offline one keeps a cache of its own
		c.Forgetting.Mechanical = true
		c.ContextLimit = 16_000 // soon full: from then on the context does not grow
	})
	turns := 0
	heap := func(n int) uint64 {
		for range n {
			turns++
			w.ask("dev", "remark: "+strings.Repeat("the valve at the pump leaks a little. ", 20))
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(60)
	after := heap(60)
	if grown := int64(after) - int64(before); grown > 1<<20 {
		t.Errorf("the heap grew by %d KB in 60 turns", grown>>10)
	}
}
