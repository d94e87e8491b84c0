package doctor_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// Each promise of the page names tests, and each of them is in the tree.
func TestGuaranteesAreTested(t *testing.T) {
	named := regexp.MustCompile("`([a-z/-]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+|txtar)`")
	page, _, _ := strings.Cut(lethetest.Page(t, "guarantees.md"), "\n## What is not ")
	has := tests(t)
	page, promises := page[strings.Index(page, "\n## "):], 0
	for _, item := range strings.Split(page, "\n- ")[1:] {
		promise, shown, _ := strings.Cut(item, "Shown")
		names := named.FindAllStringSubmatch(shown, -1)
		if len(names) == 0 {
			t.Errorf("nothing shows: %s", promise)
		}
		promises++
		for _, m := range names {
			dir, test := m[1], m[2]
			if test == "txtar" {
				lethetest.Read(t, filepath.Join(lethetest.Root(t), "cmd/lethe/testdata/script", dir+".txtar"))
				continue
			}
			if !has[dir+"."+test] {
				t.Errorf("%s has no %s", dir, test)
			}
		}
	}
	if promises < 50 {
		t.Errorf("the page has %d promises", promises)
	}
}

// tests returns the tests of the tree, as package.Test, by each end of a package's path: cmd/lethe/check.TestX is also
// check.TestX.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	all, root := map[string]bool{}, lethetest.Root(t)
	lethetest.Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		for _, m := range declared.FindAllStringSubmatch(lethetest.Read(t, path), -1) {
			for end, more := dir, true; more; _, end, more = strings.Cut(end, "/") {
				all[end+"."+m[1]] = true
			}
		}
		return nil
	}))
	return all
}

// The table of formats has each file of the home.
func TestFormatsAreListed(t *testing.T) {
	formats := lethetest.Page(t, "formats.md")
	home, _, _ := strings.Cut(strings.SplitN(lethetest.Page(t, "design.md"), "## The home", 2)[1], "## ")
	for _, name := range regexp.MustCompile(`(?m)^ *([a-zA-Z-]+(?:\.[a-z]+|/|`+
		`\b)).*  `).FindAllStringSubmatch(strings.Split(home, "```")[1], -1) {
		if !strings.Contains(formats, name[1]) {
			t.Errorf("formats.md does not tell of %s", name[1])
		}
	}
}
