package doctor

import (
	"os"
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
	page, promises := page[strings.Index(page, "\n## "):], 0
	for _, item := range strings.Split(page, "\n- ")[1:] {
		promise, shown, _ := strings.Cut(item, "Shown")
		tests := named.FindAllStringSubmatch(shown, -1)
		if len(tests) == 0 {
			t.Errorf("nothing shows: %s", promise)
		}
		promises++
		for _, m := range tests {
			dir, test := m[1], m[2]
			if test == "txtar" {
				lethetest.Read(t, filepath.Join(lethetest.Root(t), "cmd/lethe/testdata/script", dir+".txtar"))
				continue
			}
			files, _ := filepath.Glob(filepath.Join(lethetest.Root(t), dir, "*_test.go"))
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				lethetest.Must(t, err)
				found = found || strings.Contains(string(text), "\nfunc "+test+"(")
			}
			if !found {
				t.Errorf("%s has no %s", dir, test)
			}
		}
	}
	if promises < 50 {
		t.Errorf("the page has %d promises", promises)
	}
}

// The table of formats has each file of the home.
func TestFormatsAreListed(t *testing.T) {
	formats := lethetest.Page(t, "formats.md")
	home, _, _ := strings.Cut(strings.SplitN(lethetest.Page(t, "design.md"), "## The home", 2)[1], "## ")
	for _, name := range regexp.MustCompile(`(?m)^ *([a-zA-Z-]+(?:\.[a-z]+|/|\b)).*  `).FindAllStringSubmatch(strings.Split(home, "```")[1], -1) {
		if !strings.Contains(formats, name[1]) {
			t.Errorf("formats.md does not tell of %s", name[1])
		}
	}
}
