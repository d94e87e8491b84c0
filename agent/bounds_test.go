package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// What a round costs, in what does not depend on the machine: the answer with a call is recorded, then the result, and
// the next request is encoded. None of it grows with the context. The test is not parallel: it counts allocations.
func TestRoundStaysSmall(t *testing.T) {
	lethetest.Unraced(t)
	type cost struct{ syncs, bytes, allocations int }
	most := cost{6, 1_000, 485} // among them what it takes to see that there are no hooks and no rules of others
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // to count syncs, no disk has to do them
	}
	w := newWorld(t)
	w.conf.ContextLimit = 10_000_000
	for n := range 1 << 12 { // as where some have lived: a directory of texts that is new takes a sync more
		lethetest.Must(t, os.MkdirAll(filepath.Join(w.home.Blobs(), fmt.Sprintf("%03x", n)), 0o700))
	}
	a, err := Open(w.boot("ada", "dev"), w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	var used cost
	traces.Store(w.home.Dir, func(op durable.Op) {
		if strings.HasPrefix(op.Kind, "sync") {
			used.syncs++
		}
		used.bytes += len(op.Data)
	})
	defer traces.Delete(w.home.Dir)
	preset, _ := llm.Preset("deepseek")
	n := 0
	round := func() {
		n++
		reply := llm.Reply{Model: "m", Finish: "tool_calls",
			Calls: []llm.ToolCall{{ID: "c", Name: "LIST", Arguments: fmt.Sprintf(`{"path":"%d"}`, n)}}}
		lethetest.Must(t, a.recordReply(w.Context(), thought{reply: reply}, hook.Verdict{}))
		result := outcome{state: mind.OK, Result: tools.Result{Body: fmt.Appendf(nil, "[result %d]", n)}}
		lethetest.Must(t, a.view.Commit(a.caller.ofReply()[0].ends(a.view.State.Turn+1, result)))
		_, err := preset.Body(a.thinker.request())
		lethetest.Must(t, err)
	}
	for _, before := range []int{10, 2_000} {
		for n < before {
			round()
		}
		const rounds = 20
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		used = cost{}
		for range rounds {
			round()
		}
		runtime.ReadMemStats(&to)
		got := cost{used.syncs / rounds, used.bytes / rounds, int(to.Mallocs-from.Mallocs) / rounds}
		t.Logf("a round behind %d: %+v", before, got)
		if got.syncs > most.syncs || got.bytes > most.bytes || got.allocations > most.allocations {
			t.Errorf("a round behind %d others costs %+v, at most %+v are meant", before, got, most)
		}
	}
}
