package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/lethetest"
)

// Each row that promises something names tests, and each of them is in the tree.
func TestGuaranteesAreTested(t *testing.T) {
	named, rows := regexp.MustCompile("`([a-z/-]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+|txtar)`"), 0
	promises := false
	for line := range strings.Lines(lethetest.Page(t, "guarantees.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what happens") || strings.HasPrefix(line, "| who |") {
			promises = strings.HasPrefix(line, "| what") || promises && strings.HasPrefix(line, "|-")
			continue
		}
		tests := named.FindAllStringSubmatch(line[strings.LastIndex(strings.TrimRight(line, "| \n"), "|"):], -1)
		if promises && len(tests) == 0 {
			t.Errorf("nothing shows: %s", line)
		}
		for rows++; len(tests) > 0; tests = tests[1:] {
			dir, test := tests[0][1], tests[0][2]
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
	if rows < 50 {
		t.Errorf("the page has %d rows", rows)
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
