package agent

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// Hints and RECALL name a file that an original shows and that reads otherwise by now, and no other one.
func TestFileChangedSince(t *testing.T) {
	slow(t)
	w := forgetful(t, 60_000,
		on("colour of the hall", calls("READ_FILE", `{"path":"paint.md"}`, "READ_FILE", `{"path":"floor.md"}`,
			"WRITE_FILE", `{"path":"doors.md","content":"hall: oyster doors\nkey: ◆ brass\n"}`,
			"WRITE_FILE", `{"path":"windows.md","content":"hall: oyster windows\n"}`,
			"WRITE_FILE", `{"path":"windows.md/no","content":"hall: oyster nothing\n"}`)),
		rehearsal.Step{Contains: "please search", Times: -1, Answer: calls("RECALL", `{"query":"colour hall oyster"}`)})
	all := 0.0
	w.conf.Forgetting.Target, w.conf.Forgetting.Mechanical, w.conf.Recall.HintTime = &all, true, time.Minute
	r := w.run(w.boot("ada", "dev"))
	file := filepath.Join(r.agent.view.Tools.Workspace, "paint.md")
	lethetest.Write(t, file, "hall: oyster white\n")
	lethetest.Write(t, filepath.Join(filepath.Dir(file), "floor.md"), "hall: oak\n")
	r.ask("the fog has lifted") // what is said first is in the summary
	r.ask("which is the colour of the hall, oyster or grey?")
	r.work(6)
	r.compact()
	r.indexed()
	found := func() string {
		t.Helper()
		r.ask("please search")
		results := w.results(r.id)
		return results[len(results)-1].text
	}
	now := found()
	if !strings.Contains(now, "oyster") || strings.Contains(now, "changed since") {
		t.Error(now)
	}
	lethetest.Write(t, file, "hall: light grey\n")
	lethetest.Write(t, filepath.Join(filepath.Dir(file), "doors.md"), "hall: oyster doors\nkey: ◆ iron\n")
	const mark = ", doors.md changed since, paint.md changed since) "
	contains(t, found(), mark)
	r.work(6)
	r.compact()
	r.indexed()
	r.ask("the colour of the hall, was it oyster or grey?")
	hints := w.events(r.id, mind.Hint)
	contains(t, w.body(hints[len(hints)-1], 0), strings.TrimSpace(mark)+"\n")
	r.stop()
}
