package lethe_test

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors returns the floor of each room in a block of docs/design.md with the given name: 0 is the highest. Rooms between
// two arrows stand on one floor.
func floors(t *testing.T, name string) map[string]int {
	t.Helper()
	design, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(design), "\n```"+name+"\n")
	block, _, _ = strings.Cut(block, "\n```")
	rooms := map[string]int{}
	for n, floor := range strings.Split(block, "→") {
		for room := range strings.SplitSeq(floor, ",") {
			rooms[strings.TrimSpace(room)] = n
		}
	}
	if len(rooms) < 5 {
		t.Fatalf("docs/design.md has no %s", name)
	}
	return rooms
}

// only lists libraries that belong to some packages each, or what is under these; the test server
// of the Bot API speaks with the same types as the bridge.
var only = map[string]string{
	"github.com/coder/acp-go-sdk":         "bridge/acp",
	"github.com/cohesion-org/deepseek-go": "agent/llm",
	"github.com/fsnotify/fsnotify":        "chat",
	"github.com/go-telegram/bot":          "bridge/telegram",
	"github.com/blevesearch/snowballstem": "compactor/recall/text",
	"github.com/minio/minio-go":           "agent/share internal/buckets internal/storekeys",
	"github.com/nats-io/nats.go":          "agent/share internal/storekeys",
	"github.com/nats-io/nats-server":      "internal/test/sharetest",
	"golang.org/x/image":                  "internal/picture",
	"modernc.org/sqlite":                  "cmd/lethe-sqlite",
}

// A package imports rooms below its own, and its own. Tests and internal/test stand outside: nothing that is built imports
// internal/test.
func TestImportsRunDownwards(t *testing.T) {
	house, agent := floors(t, "house"), floors(t, "agent")
	design, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, imports := range packages(t) {
		measures := path == "internal/test/botapi" || strings.HasPrefix(path, "cmd/lab") // or plays what is measured
		if path != "" && !strings.Contains(string(design), "`"+path+"`") {
			t.Errorf("%s is not in docs/design.md", path)
		}
		for _, imp := range imports {
			for lib, owner := range only {
				owns := func(owner string) bool { return strings.HasPrefix(path+"/", owner+"/") }
				if !measures && strings.HasPrefix(imp, lib) && !slices.ContainsFunc(strings.Fields(owner), owns) {
					t.Errorf("%s imports %s, which belongs to %s", path, imp, owner)
				}
			}
			if imp == "lethe/agent" && path != "agent/host" && !strings.HasPrefix(path, "cmd/lab") {
				t.Errorf("%s imports the loop: agent/host is the door for programs", path)
			}
			if imp, ours := strings.CutPrefix(imp+"/", "lethe/"); ours {
				imp = strings.TrimSuffix(imp, "/")
				holds(t, path, imp, house, roomOf)
				if roomOf(path) == "agent" && roomOf(imp) == "agent" {
					holds(t, path, imp, agent, roomOfAgent)
				}
			}
		}
	}
}

// roomOf returns the folder at the root that holds a package, and "lethe" for the root itself.
func roomOf(path string) string {
	room, _, _ := strings.Cut(path, "/")
	if room == "" {
		return "lethe"
	}
	return room
}

// roomOfAgent returns the folder below agent that holds a package, and "loop" for agent itself.
func roomOfAgent(path string) string {
	path, below := strings.CutPrefix(path, "agent/")
	if !below {
		return "loop"
	}
	return roomOf(path)
}

// holds fails unless imp is of the same room as path, or of one on a lower floor.
func holds(t *testing.T, path, imp string, floor map[string]int, room func(string) string) {
	t.Helper()
	const outside = "internal/test/"
	if strings.HasPrefix(path, outside) {
		return
	}
	from, to := room(path), room(imp)
	for _, name := range []string{from, to} {
		if _, known := floor[name]; !known {
			t.Errorf("%s has no floor in docs/design.md", name)
		}
	}
	if strings.HasPrefix(imp, outside) || from != to && floor[from] >= floor[to] {
		t.Errorf("%s imports %s, which does not stand below it in docs/design.md", path, imp)
	}
}

// packages returns what each package of the tree imports, without its tests, by its path below the root.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if dir != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "docs" || name == "node_modules") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		all[strings.TrimPrefix(filepath.ToSlash(dir), ".")] = pkg.Imports
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatal(len(all), err)
	}
	return all
}

// The root holds the rooms of the house, what is no code, and files.
func TestRoot(t *testing.T) {
	house := floors(t, "house")
	house["docs"], house["findings"] = 0, 0
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		_, known := house[e.Name()]
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !known {
			t.Errorf("%s is no room of the house in docs/design.md", e.Name())
		}
	}
}

// Nobody else renames: what a crash leaves is decided in one package.
func TestOnlyDurableRenames(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if filepath.ToSlash(filepath.Dir(path)) == "internal/durable" {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "os.Rename(") {
			t.Errorf("%s renames: use internal/durable", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
