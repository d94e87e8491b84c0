package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// A file that was asked for whole is shown whole where a cut would save little, and the header of its page names the
// lines that follow, whatever the limit is.
func TestFileAskedForWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("compare them", calls("READ_FILE", `{"path":"one.txt"}`, "READ_FILE", `{"path":"two.txt"}`)),
		on("now the large one", calls("READ_FILE", `{"path":"large.txt"}`)))
	id := w.boot("ada", "dev")
	work := w.own(id, "workspace")
	lethetest.Must(t, os.MkdirAll(work, 0o700))
	line := strings.Repeat("y", 68)
	for name, lines := range map[string]int{"one.txt": 55, "two.txt": 50, "large.txt": 400} {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, "%03d%s\n", i+1, line)
		}
		w.write(work+"/"+name, text.String())
	}
	r := w.run(id, func(c *Config) { c.ContextLimit, c.Params.MaxTokens = 15000, 2000 })
	r.ask("compare them")
	r.ask("now the large one")
	r.stop()
	var shown []string
	for _, m := range w.fold(id).Messages("") {
		if m.Role == "tool" {
			shown = append(shown, m.Content.String())
		}
	}
	equal(t, "results", len(shown), 3)
	for i, page := range shown {
		head, body, _ := strings.Cut(page, "\n")
		var name string
		var first, last, of int
		fmt.Sscanf(strings.ReplaceAll(head[1:], ":", " "), "%s lines %d-%d of %d", &name, &first, &last, &of)
		if n := strings.Count(body, line+"\n"); strings.Contains(body, "◳") || n != last-first+1 || n*(len(line)+4) != len(body) {
			t.Errorf("%s, and %d lines follow", head, n)
		}
		if whole := last == of; whole != (i < 2) {
			t.Errorf("of file %d: %s", i, head)
		}
	}
	contains(t, shown[2], "; next page: offset ")
}

// Many small files that are asked for at once are no more than a reply may show.
func TestManyPages(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 40 {
		list = append(list, "READ_FILE", fmt.Sprintf(`{"path":"f%d.txt"}`, i))
	}
	w := newWorld(t, on("read all", calls(list...)))
	id := w.boot("ada", "dev")
	work := w.own(id, "workspace")
	lethetest.Must(t, os.MkdirAll(work, 0o700))
	for i := range 40 {
		w.write(fmt.Sprintf("%s/f%d.txt", work, i), strings.Repeat(strings.Repeat("y", 79)+"\n", 20))
	}
	r := w.run(id, func(c *Config) { c.ContextLimit, c.Params.MaxTokens = 15000, 2000 })
	r.ask("read all")
	r.stop()
	equal(t, "fades before they were seen", len(w.events(id, "fade")), 0)
}
