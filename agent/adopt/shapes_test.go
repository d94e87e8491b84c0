package adopt_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lethe/agent/adopt"
)

// changed is a fixture whose files of lines went through change.
func changed(t *testing.T, agent string, change func(text string) string) fstest.MapFS {
	t.Helper()
	out, source := fstest.MapFS{}, os.DirFS("testdata/"+agent)
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, name)
		if strings.HasSuffix(name, ".jsonl") {
			data = []byte(change(string(data)))
		}
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// said is what was read in any session: a fork whose parent is not there yet has what it copied.
func (c *collected) said() (all []string) {
	for _, line := range c.lines {
		_, said, _ := strings.Cut(line, " ")
		all = append(all, said)
	}
	slices.Sort(all)
	return all
}

var ofLines = []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "pi", "qwen-code"}

// However a program ends its lines, whatever it adds to them, and whatever stands between them, the same is read.
func TestShapesOfLines(t *testing.T) {
	shapes := map[string]func(string) string{
		"carriage returns and a mark": func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
		"no last newline":             func(text string) string { return strings.TrimRight(text, "\n") },
		"unknown fields": func(text string) string {
			return strings.ReplaceAll("\n"+text, "\n{", "\n{\"zz\":{\"text\":[\"other\",null]},")[1:]
		},
		"blank, torn and long lines between": func(text string) string {
			between := "\n\n \t\n{\"zz\":\"" + strings.Repeat("x", 200_000) + "\n"
			return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", between) + "\n"
		},
		"glued in pairs": func(text string) string {
			lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
			for i := 2; i < len(lines); i += 2 {
				lines[i-1] += lines[i]
				lines[i] = ""
			}
			return strings.Join(lines, "\n")
		},
	}
	for _, agent := range ofLines {
		whole, _ := fixture(t, agent)
		for name, change := range shapes {
			got, report := read(t, agent, changed(t, agent, change), adopt.Options{})
			if !slices.Equal(got.said(), whole.said()) {
				t.Errorf("%s, %s: %d lines of %d", agent, name, len(got.lines), len(whole.lines))
			}
			isTold := slices.ContainsFunc(report.Unknown, func(u adopt.Unknown) bool { return u.Kind == "torn line" })
			if isTold != strings.Contains(name, "torn") {
				t.Errorf("%s, %s: %+v", agent, name, report.Unknown)
			}
		}
	}
}

// A file that is read while it grows loses nothing: what a first run has not seen comes with a later one, and nothing
// that was whole comes twice.
func TestGrowingFiles(t *testing.T) {
	for _, agent := range ofLines {
		whole, _ := fixture(t, agent)
		for tenths := 1; tenths < 10; tenths += 2 {
			early := changed(t, agent, func(text string) string { return text[:len(text)*tenths/10] })
			first, _ := read(t, agent, early, adopt.Options{})
			taken := map[uint64]bool{}
			for _, entry := range first.entries {
				taken[entry.Key] = true
			}
			later, _ := read(t, agent, os.DirFS("testdata/"+agent), adopt.Options{Known: func(key uint64) bool { return taken[key] }})
			all := map[string]bool{}
			for _, line := range append(first.said(), later.said()...) {
				all[line] = true
			}
			for _, line := range whole.said() {
				if !all[line] {
					t.Errorf("%s, cut at %d tenths: it lacks %s", agent, tenths, line)
				}
			}
			if more := len(first.lines) + len(later.lines) - len(whole.lines); more > 2 {
				t.Errorf("%s, cut at %d tenths: %d come twice", agent, tenths, more)
			}
		}
	}
}
