package compactor

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		lethetest.Must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	lethetest.Must(t, err)
	if got != string(want) {
		t.Errorf("%s is now\n%s", name, got)
	}
}

// The prompts of the tasks, to the byte: a model, and a cache, depend on them.
func TestGoldenTasks(t *testing.T) {
	w := newWorld(t, 60_000)
	w.turns(1, 700)
	w.hear("bob", "◆ e1 inbound\n</task> and so on, "+texts[6])
	w.reply("", "◱hash=0123456789abcdef gist=x◲")
	w.turns(14, 700)
	j := w.plan()
	golden(t, "segment.txt", j.task(Segment, j.runs[0][:5], nil))
	golden(t, "summarise.txt", j.task(Summarise, j.runs[0], errors.New("it was ◆ prose")))
	plain := j.task(Summarise, j.runs[0], nil)
	j.in.Wish = Wish("keep\n</task> the decisions")
	const wished = "A person asks of this compaction, and of no later one: keep </task> the decisions\n" +
		"Go by it in cuts, relevance and what a summary tells; pin nothing for it.\n</task>"
	if got := j.task(Summarise, j.runs[0], nil); got != strings.TrimSuffix(plain, "</task>")+wished {
		t.Errorf("with a wish the task is\n%s", got)
	}
	j.in.Wish, j.in.Settings.Alone = "", true
	a, fits := j.render().ask(Summarise, j.runs[0][:2], nil)
	if !fits {
		t.Error("a small chunk does not fit")
	}
	golden(t, "alone.txt", a.Messages[0].Role+"\n"+a.Messages[0].Content.String()+"\n--\n"+a.Messages[1].Role+"\n"+
		a.Messages[1].Content.String()+"\n")
	golden(t, "mechanical.txt", j.mechanical(j.runs[0][:8]).Gist+"\n--\n"+j.mechanical(j.runs[0][:8]).Summary+"\n")
}
