package lethe_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile("(?m)^#+ (.*)$")
	symbol  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// pages returns the text of each Markdown page of the tree by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir, file := filepath.Split(name)
		if d.IsDir() && (strings.HasPrefix(file, ".") && file != "." || file == "node_modules" || file == "testdata") {
			return filepath.SkipDir
		}
		known := dir == "" || strings.HasPrefix(name, "docs/") || file == "README.md"
		if filepath.Ext(name) != ".md" || !known {
			return nil
		}
		text, err := os.ReadFile(name)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil || len(all) < 40 {
		t.Fatal(len(all), err)
	}
	return all
}

// anchors returns the names by which links reach the headings of a page.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := symbol.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// Each link between pages leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			target := name
			if m[1] != "" {
				target = path.Join(path.Dir(name), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if m[2] != "" && !slices.Contains(anchors(all[target]), m[2]) {
				t.Errorf("%s: %s has no heading %q", name, target, m[2])
			}
		}
	}
}

// A reader's time is bounded: what a page gains, it or another loses.
func TestWords(t *testing.T) {
	readme, docs := 0, 0
	for name, text := range pages(t) {
		words := len(strings.Fields(text))
		if name == "README.md" {
			readme = words
		}
		if strings.HasPrefix(name, "docs/") && path.Dir(name) == "docs" {
			docs += words
		}
	}
	if readme == 0 || docs == 0 || readme > 750 || docs > 50_000 {
		t.Errorf("README.md has %d words of 750, docs/*.md %d of 50,000: say it shorter, on the page that has grown first", readme, docs)
	}
}

// docs/README.md leads to each page. Prose keeps to 120 characters a line, and a page that specifies no format to 200 lines.
func TestPages(t *testing.T) {
	all := pages(t)
	index := all["docs/README.md"]
	_, formats, _ := strings.Cut(index, "\n## Formats\n")
	for name, text := range all {
		short, inDocs := strings.CutPrefix(name, "docs/")
		if inDocs && short != "README.md" && !strings.Contains(index, "("+short) {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
		if !inDocs {
			continue
		}
		lines := strings.Count(text, "\n")
		if lines > 200 && !strings.Contains(formats, "("+short) && !strings.HasPrefix(short, "internals/") {
			t.Errorf("%s has %d lines", name, lines)
		}
		fenced := false
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if !fenced && utf8.RuneCountInString(line) > 120 {
				t.Errorf("%s:%d has %d characters", name, n+1, utf8.RuneCountInString(line))
			}
		}
	}
}
