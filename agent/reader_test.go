package agent

import (
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/lethetest"
	"lethe/life"
	"lethe/llm"
	"lethe/mind"
)

// docs/reader.py makes the same notes at the end of a request, also where the limit is small and only a part of them has room.
func TestReaderOfTail(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	_ = lethetest.Page(t, "reader.py") // so that go test takes no result from before it changed
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	w := newWorld(t)
	w.conf.Params.Order = mind.OrderTail
	id := w.boot("ada", "dev")
	r := w.run(id)
	r.ask("hello")
	r.finish()
	log, err := life.View(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	preset, _ := llm.Preset("deepseek")
	for _, limit := range []int{21_000, 100_000, 13_000, 24_500, 30_000}[:lethetest.Sample(2, 2, 5)] {
		for _, memory := range []string{strings.Repeat("wörds 漢字 🙂\n", 300), "short ◆", "", " \n", strings.Repeat("x", 7000)}[:lethetest.Sample(2, 2, 5)] {
			w.write(filepath.Join(w.home.Dir, "config.toml"), fmt.Sprintf("[context]\nlimit = %d # tokens\n\n[life]\nlines = 9\n", limit))
			w.write(w.own(id, "MEMORY.md"), memory)
			s := w.fold(id)
			a := &Agent{
				id: id, state: s, estimate: estimator(s), log: journal{Log: log}, cfg: Config{ContextLimit: limit, LifeLines: 9},
				files: ownFiles{dir: id.Dir, log: slog.New(slog.DiscardHandler)},
			}
			want, err := preset.Body(a.request())
			lethetest.Must(t, err)
			got, err := exec.Command(python, "-B", filepath.Join(lethetest.Root(t), "docs", "reader.py"), w.home.Dir, "ada").Output()
			if err != nil || strings.TrimSuffix(string(got), "\n") != string(want) {
				t.Fatalf("limit %d, MEMORY of %d bytes, %v:\n%s\nwant\n%s", limit, len(memory), err, got, want)
			}
		}
	}
}

var began = regexp.MustCompile(`this context began \d{4}-\d\d-\d\d`)

// The program opens the lives of docs/vectors, and what it sends first begins with the bytes that are recorded with them.
func TestVectorsAreSent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"approvals", "faded", "torn", "boot", "rooms", "calls", "cut", "notes", "edited", "questions"} {
		w := newWorld(t)
		w.conf.Recall.NoHints = true
		lethetest.Unpack(t, filepath.Join(lethetest.Root(t), "docs", "vectors", name+".tar.gz"), w.home.Dir)
		id, err := w.home.Find("lethe")
		lethetest.Must(t, err)
		r := w.run(id)
		r.ask("what is 12*7?")
		r.stop()
		want, _, _ := strings.Cut(w.read(filepath.Join(w.home.Dir, "requests", "lethe.deepseek.json")), `],"model":`)
		got := string(w.asked()[0].Body)
		today := began.FindString(got) // of the epoch that it opens
		if today == "" || !strings.HasPrefix(got, began.ReplaceAllString(want, today)+`,{"role":"user"`) {
			t.Errorf("%s: the program sends\n%s\nwant first\n%s", name, got, want)
		}
	}
}
