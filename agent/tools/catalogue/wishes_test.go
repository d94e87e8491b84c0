package catalogue_test

import (
	"compress/gzip"
	"encoding/json"
	"lethe/agent/tools/catalogue"
	"os"
	"slices"
	"strings"
	"testing"
)

// real are the tools of servers from npm.
func real(tb testing.TB) (items []catalogue.Item) {
	tb.Helper()
	f, err := os.Open("testdata/servers.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var servers []struct {
		Server string
		Tools  []struct{ Name, Description string }
	}
	if err := json.NewDecoder(text).Decode(&servers); err != nil {
		tb.Fatal(err)
	}
	for _, s := range servers {
		for _, t := range s.Tools {
			items = append(items, catalogue.Item{Kind: catalogue.Tool, Name: s.Server + "/" + t.Name, About: t.Description})
		}
	}
	return items
}

// Find has a right tool first, and among the first eight, at least as often as it had when this was written. See
// testdata/README.md for what each file says.
func TestWishes(t *testing.T) {
	t.Parallel()
	items := real(t)
	for file, least := range map[string]struct{ first, shown int }{
		"wishes-first": {35, 40}, "wishes-tuned": {42, 49}, "wishes-unseen": {41, 46}, "wishes-later": {74, 89},
	} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		wishes := strings.Split(strings.TrimSpace(string(text)), "\n")
		first, shown := 0, 0
		for _, line := range wishes {
			wish, list, _ := strings.Cut(line, "\t")
			right := strings.Fields(list)
			for _, name := range right {
				if !slices.Contains(names(items), name) {
					t.Fatalf("there is no tool %s", name)
				}
			}
			found := names(catalogue.Find(items, wish, 8))
			place := slices.IndexFunc(found, func(name string) bool { return slices.Contains(right, name) })
			if place == 0 {
				first++
			} else if file != "wishes-unseen" && file != "wishes-later" { // nobody is to tune on those
				t.Logf("%q: place %d, first %v", wish, place+1, found[:min(3, len(found))])
			}
			if place >= 0 {
				shown++
			}
		}
		t.Logf("%s: of %d wishes over %d tools a right one is first for %d, among eight for %d", file, len(wishes), len(items), first, shown)
		if first < least.first || shown < least.shown {
			t.Errorf("%s: a right tool is first for %d and among eight for %d; at least %+v are meant", file, first, shown, least)
		}
	}
}
