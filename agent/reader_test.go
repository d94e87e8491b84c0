package agent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/mind"
)

// docs/reader.py makes the same notes at the end of a request, also where the limit is small and only a part of them has room.
func TestReaderOfTail(t *testing.T) {
	slow(t)
	_ = lethetest.Page(t, "reader.py") // so that go test takes no result from before it changed
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	w := newWorld(t)
	w.conf.Params.Order = mind.OrderTail
	id, r := w.ada()
	r.ask("hello")
	r.finish()
	log, err := life.View(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	preset, _ := llm.Preset("deepseek")
	for _, limit := range []int{21_000, 100_000, 13_000, 24_500, 30_000}[:lethetest.Sample(2, 2, 5)] {
		for _, memory := range []string{strings.Repeat("wörds 漢字 🙂\n", 300), "short ◆", "", " \n",
			strings.Repeat("x", 7000)}[:lethetest.Sample(2, 2, 5)] {
			w.write(filepath.Join(w.home.Dir, "config.toml"), fmt.Sprintf("[context]\nlimit = %d # tokens\n\n[life]\nlines = 9\n", limit))
			w.write(w.own(id, "MEMORY.md"), memory)
			s := w.fold(id)
			frame := prompt.Frame{ID: id, Life: log, Lines: 9, Limit: limit, Estimate: prompt.Estimator(s), Log: discard()}
			want, err := preset.Body(new(prompt.Rendering).Request(s, frame.Tail(s.Stable)))
			lethetest.Must(t, err)
			got, err := exec.Command(python, "-B", lethetest.Given(t, "docs", "reader.py"), w.home.Dir, "ada").Output()
			if err != nil || strings.TrimSuffix(string(got), "\n") != string(want) {
				t.Fatalf("limit %d, MEMORY of %d bytes, %v:\n%s\nwant\n%s", limit, len(memory), err, got, want)
			}
		}
	}
}

var began = regexp.MustCompile(`this context began (?:\w+ )?\d{4}-\d\d-\d\d(?: \d\d:\d\d [+-]\d\d:\d\d)?`)

// system is the first message, which a newer program writes anew.
var system = regexp.MustCompile(`\{"role":"system","content":"(?:[^"\\]|\\.)*"`)

// What is indented in the requests of an epoch that this version begins: notes, and summaries.
var quoting = regexp.MustCompile(`("content":"◆ e\d+ note\\n|◆ e\d+\.\.e\d+ summary [^◲]*◲)` +
	`((?:\\n[^◆"]|\\[^n]|[^"\\])*(?:\\n")?)`)

// The program opens the lives of docs/vectors, which earlier ones have lived, and what it sends first begins with the bytes that
// are recorded with them while their epochs go on. In the next epoch words of others are indented, and the system message is this
// version's.
func TestVectorsAreSent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"approvals", "faded", "torn", "boot", "rooms", "calls", "cut", "notes", "edited", "questions"} {
		for _, why := range []string{"the epoch goes on", "the next epoch"} {
			w := newWorld(t)
			w.conf.Recall.NoHints = true
			lethetest.Unpack(t, filepath.Join(lethetest.Root(t), "docs", "vectors", name+".tar.gz"), w.home.Dir)
			id, err := w.home.Find("lethe")
			lethetest.Must(t, err)
			want, _, _ := strings.Cut(w.read(filepath.Join(w.home.Dir, "requests", "lethe.deepseek.json")), `],"model":`)
			if s := w.fold(id); why == "the epoch goes on" {
				w.conf.Params = s.Stable.Params
				w.conf.Params.Model = s.Stable.Params.Asked
			}
			r := w.run(id)
			r.ask("what is 12*7?")
			r.stop()
			got := string(w.asked()[0].Body)
			if why == "the next epoch" {
				want = began.ReplaceAllString(want, began.FindString(got))
				want = strings.Replace(want, system.FindString(want), system.FindString(got), 1)
				want = quoting.ReplaceAllStringFunc(want, func(s string) string {
					m := quoting.FindStringSubmatch(s)
					return m[1] + strings.NewReplacer(`\n◳ `, `\n◳ `, `\n`, `\n    `, `\u2028`, `\n    `).Replace(m[2])
				})
			}
			if !strings.HasPrefix(got, want+`,{"role":"user"`) {
				t.Errorf("%s, %s: the program sends\n%s\nwant first\n%s", name, why, got, want)
			}
		}
	}
}
