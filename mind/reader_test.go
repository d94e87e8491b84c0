package mind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// save makes the files of the life in a home.
func (w *world) save(t testing.TB, home, name string) {
	for h, file := range w.files {
		lethetest.Write(t, filepath.Join(home, "blobs", h.String()[:3], h.String()[3:]), string(file))
	}
	path := filepath.Join(home, "agents", name, "LIFE.md")
	lethetest.Write(t, path, "")
	lethetest.Must(t, os.Remove(path))
	log, err := life.Create(path)
	lethetest.Must(t, err)
	defer log.Close()
	lethetest.Must(t, log.Append(w.lines...))
}

// body is the request of the life in the dialect of a preset, as package agent makes it.
func (w *world) body(t testing.TB, preset string) []byte {
	s, p := w.state, w.state.Stable.Params
	name := llm.ParseName(p.Model)
	r := llm.Request{Model: name.Model, Tools: json.RawMessage(s.Stable.Tools), MaxTokens: p.MaxTokens, Thinking: p.Thinking,
		Effort: cmp.Or(name.Effort, p.Effort), UserID: s.Self[:32], Messages: s.Messages(""), Spare: s.Stable.Spare}
	dialect, ok := llm.Preset(cmp.Or(name.Preset, preset))
	if !ok {
		t.Fatalf("no preset %s", preset)
	}
	body, err := dialect.Body(r)
	lethetest.Must(t, err)
	return body
}

// docs/reader.py, which is written from the pages, makes the same requests of lives of any shape, in each dialect.
func TestReaderOfThePages(t *testing.T) {
	_ = lethetest.Page(t, "reader.py") + lethetest.Page(t, "reader_checks.py") // so that go test takes no result from before they changed
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: what the pages say of a request is not tested")
	}
	lives := rapid.Custom(func(t *rapid.T) *world {
		w := newWorld(t)
		w.pictured = rapid.Bool().Draw(t, "pictured")
		w.model = rapid.SampledFrom([]string{"", "openrouter:qwen/qwen3:free@max", "qwen3:8b@high"}).Draw(t, "model")
		w.spare = rapid.Bool().Draw(t, "spare")
		w.renew("settings")
		if rapid.Bool().Draw(t, "older") {
			w.older()
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.step(t)
		}
		return w
	})
	presets := llm.Presets()
	for i := range lethetest.Sample(1, 1, 40) {
		for _, preset := range presets {
			home := lethetest.Dir(t)
			args := []string{lethetest.Given(t, "docs", "reader.py"), "--preset", preset, home}
			var want [][]byte
			for j := range lethetest.Sample(1, 1, 25) {
				w, name := lives.Example(i*1000+len(preset)*100+j), fmt.Sprintf("life%d", j)
				w.save(t, home, name)
				args, want = append(args, name), append(want, w.body(t, preset))
			}
			cmd := exec.Command(python, append([]string{"-B"}, args...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			got := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
			for j := range want {
				if j >= len(got) || !bytes.Equal(got[j], want[j]) {
					t.Fatalf("%s, life %d of %s:\n%s\nwant\n%s", preset, j, home, got[j], want[j])
				}
			}
		}
	}
}

// The example of docs/context.md is the request of the life of its other example.
func TestPageRequest(t *testing.T) {
	w := paged(t)
	w.state.Stable.Tools = someTools
	var pretty bytes.Buffer
	lethetest.Must(t, json.Indent(&pretty, w.body(t, "custom"), "", " "))
	if got, want := pretty.String()+"\n", lethetest.Blocks(t, "context.md", "request")[0]; got != want {
		t.Errorf("the program makes\n%s\nthe page has\n%s", got, want)
	}
}
