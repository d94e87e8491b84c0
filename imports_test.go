package lethe

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed lists, for each package, what it may import of ours. It is the map of
// the code: what a package is not given here it has to do without.
var allowed = map[string][]string{
	"lethe":                  {},
	"lethe/internal/durable": {},
	"lethe/internal/sandbox": {},
	"lethe/internal/must":    {},
	"lethe/internal/secret":  {},
	lazy:                     {},
	"lethe/internal/redact":  {"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/life", "lethe/life/event"},
	"lethe/internal/child":   {},
	"lethe/internal/status":  {"lethe/budget", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret"},
	"lethe/blobs":            {"lethe/internal/durable"},
	"lethe/proof":            {"lethe/internal/durable"},
	"lethe/life":             {"lethe/blobs", "lethe/internal/durable", "lethe/proof"},
	"lethe/life/event":       {"lethe/blobs", "lethe/life"},
	"lethe/chat":             {"lethe/internal/durable"},
	"lethe/budget":           {"lethe/internal/durable", "lethe/life/event"},
	"lethe/mind":             {"lethe/blobs", "lethe/budget", "lethe/chat", "lethe/life", "lethe/life/event"}, // the pure parts of them
	"lethe/compactor":        {"lethe/blobs", "lethe/life/event", "lethe/mind"},
	"lethe/llm":              {},
	"lethe/llm/rehearsal":    {"lethe/compactor", "lethe/mind"},
	"lethe/tools":            {"lethe/internal/durable", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/trigger"},
	"lethe/trigger":          {"lethe/chat"}, // the pure parts of it
	"lethe/recall":           {"lethe/blobs", "lethe/recall/index", "lethe/recall/text"},
	"lethe/recall/index":     {"lethe/blobs", "lethe/internal/durable", "lethe/life", "lethe/life/event", "lethe/mind", "lethe/recall/text"},
	"lethe/recall/text":      {"lethe/blobs", "lethe/chat", "lethe/mind"},
	"lethe/agent": {"lethe", "lethe/blobs", "lethe/budget", "lethe/chat", "lethe/compactor", "lethe/internal/durable", "lethe/internal/redact", "lethe/internal/secret", "lethe/internal/status",
		"lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind", "lethe/proof", "lethe/recall", "lethe/tools", "lethe/trigger"},
	"lethe/check":   {"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/life", "lethe/life/event", "lethe/mind", "lethe/proof"},
	"lethe/archive": {"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/check", "lethe/internal/durable", "lethe/life", "lethe/life/event", "lethe/mind", "lethe/proof"},
	"lethe/erase":   {"lethe/agent", "lethe/blobs", "lethe/bridge/health", "lethe/check", "lethe/internal/durable", "lethe/internal/redact", "lethe/life", "lethe/life/event", "lethe/mind"},
	"lethe/config":  {"lethe/agent", "lethe/budget", "lethe/chat", "lethe/internal/durable", "lethe/llm", "lethe/mind", "lethe/tools"},
	"lethe/host": {"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/config", "lethe/events", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/life", "lethe/llm", "lethe/llm/rehearsal",
		"lethe/mind", "lethe/tools"},
	"lethe/doctor": {"lethe/agent", "lethe/bridge", "lethe/config", "lethe/host", "lethe/internal/durable", "lethe/internal/sandbox", "lethe/life", "lethe/llm", "lethe/tools"},
	"lethe/events": {"lethe/blobs", "lethe/chat", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind"},
	"lethe/internal/replay": {"lethe", "lethe/agent", "lethe/blobs", "lethe/chat", "lethe/compactor", "lethe/life/event",
		"lethe/llm", "lethe/llm/rehearsal", "lethe/mind", "lethe/recall/text", "lethe/tools"},
	"lethe/internal/eval": {"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind",
		"lethe/recall", "lethe/recall/text", "lethe/tools"},
	"lethe/internal/bench": {"lethe/blobs", "lethe/chat", "lethe/internal/must", "lethe/life", "lethe/life/event", "lethe/recall"},
	"lethe/report": {"lethe/agent", "lethe/blobs", "lethe/budget", "lethe/chat", "lethe/internal/durable", "lethe/internal/status", "lethe/life", "lethe/life/event",
		"lethe/mind", "lethe/recall", "lethe/tools", "lethe/trigger"},
	"lethe/bridge/serve/backend":    {"lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret", "lethe/life", "lethe/report"},
	"lethe/bridge":                  {"lethe/blobs", "lethe/bridge/health", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret", "lethe/internal/status"},
	"lethe/bridge/serve/api":        {"lethe", "lethe/agent", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/budget", "lethe/chat", "lethe/events", "lethe/llm", "lethe/report"},
	"lethe/bridge/serve/openai/sdk": {}, // tests alone
	"lethe/bridge/serve/page":       {"lethe/agent", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/budget", "lethe/chat", "lethe/events", "lethe/internal/durable", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind", "lethe/report"},
	"lethe/bridge/serve/openai":     {"lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/chat", "lethe/events", "lethe/life", "lethe/mind"},
	"lethe/bridge/acp": {"lethe", "lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/events", "lethe/host", "lethe/internal/durable",
		"lethe/internal/status"},
	"lethe/bridge/access":          {"lethe/chat", "lethe/internal/durable"},
	"lethe/bridge/health":          {"lethe/internal/durable"},
	"lethe/bridge/stdin":           {"lethe/blobs", "lethe/budget", "lethe/chat", "lethe/events", "lethe/internal/secret", "lethe/internal/status", "lethe/life", "lethe/report"},
	"lethe/bridge/telegram":        {"lethe/blobs", "lethe/bridge", "lethe/bridge/access", "lethe/bridge/telegram/markup", "lethe/chat", "lethe/internal/durable", "lethe/internal/status"},
	"lethe/bridge/telegram/markup": {},
	"lethe/bridge/serve":           {"lethe/agent", "lethe/bridge", "lethe/bridge/health", "lethe/internal/status", "lethe/life", "lethe/mind", "lethe/trigger", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret", "lethe/report"},
	"lethe/bridge/serve/guard":     {},
	"lethe/deploy":                 {},
	"lethe/internal/demo":          {"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/internal/must", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/mind"},
	"lethe/cmd/lethe": {"lethe", "lethe/agent", "lethe/archive", "lethe/blobs", "lethe/bridge", "lethe/bridge/access", "lethe/bridge/acp", "lethe/bridge/health", "lethe/bridge/serve", "lethe/bridge/serve/api", "lethe/bridge/serve/backend", "lethe/bridge/serve/openai", "lethe/bridge/serve/page", "lethe/bridge/stdin", "lethe/bridge/telegram", "lethe/chat", "lethe/check", "lethe/config", "lethe/doctor", "lethe/erase", "lethe/events", "lethe/host",
		"lethe/internal/bench", "lethe/internal/child", "lethe/internal/demo", "lethe/internal/durable", "lethe/internal/eval", "lethe/internal/replay", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/llm", "lethe/llm/rehearsal", "lethe/mind", "lethe/proof", "lethe/report", "lethe/tools"},

	"lethe/internal/lethetest": {"lethe/internal/durable"},                                                                                                                                         // for tests
	"lethe/internal/crashdisk": {"lethe/internal/durable"},                                                                                                                                         // for tests
	"lethe/internal/servetest": {"lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/chat", "lethe/internal/lethetest", "lethe/report"}, // for tests
	"lethe/internal/botapi":    {},                                                                                                                                                                 // for tests
}

// lazy may be imported by all.
const lazy = "lethe/internal/lazy"

// only lists libraries that belong to one package each, or what is under it; the test server
// of the Bot API speaks with the same types as the bridge.
var only = map[string]string{
	"github.com/coder/acp-go-sdk":         "lethe/bridge/acp",
	"github.com/cohesion-org/deepseek-go": "lethe/llm",
	"github.com/fsnotify/fsnotify":        "lethe/chat",
	"github.com/go-telegram/bot":          "lethe/bridge/telegram",
	"github.com/blevesearch/snowballstem": "lethe/recall/text",
	"filippo.io/age":                      "lethe/archive",
	"github.com/klauspost/compress":       "lethe/archive",
}

func TestImportsRunDownwards(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "docs") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		path := "lethe"
		if dir != "." {
			path += "/" + filepath.ToSlash(dir)
		}
		seen[path] = true
		check(t, path, pkg.Imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range allowed {
		if !seen[path] {
			t.Errorf("%s is on the map and not in the tree", path)
		}
	}
}

func check(t *testing.T, path string, imports []string) {
	may, known := allowed[path]
	if !known {
		t.Errorf("%s is not on the map of packages: add it, with what it may import", path)
	}
	for _, imp := range may {
		if !slices.Contains(imports, imp) {
			t.Errorf("%s may import %s, and does not: take it out of the map", path, imp)
		}
	}
	for _, imp := range imports {
		if (imp == "lethe" || strings.HasPrefix(imp, "lethe/")) && imp != lazy && !slices.Contains(may, imp) {
			t.Errorf("%s imports %s, which the map does not allow", path, imp)
		}
		for lib, owner := range only {
			if strings.HasPrefix(imp, lib) && path != owner && path != "lethe/internal/botapi" && !strings.HasPrefix(path, owner+"/") {
				t.Errorf("%s imports %s, which belongs to %s", path, imp, owner)
			}
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
