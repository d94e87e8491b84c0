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
	"lethe": {},
	"lethe/agent": {
		"lethe", "lethe/blobs", "lethe/agent/branch", "lethe/chat", "lethe/compactor", "lethe/agent/beside", "lethe/agent/crew",
		"lethe/agent/gate", "lethe/agent/home", "lethe/agent/hook", "lethe/internal/durable", "lethe/internal/panics",
		"lethe/internal/picture", "lethe/internal/secret", "lethe/agent/status", "lethe/agent/journal", "lethe/life",
		"lethe/life/event", "lethe/agent/llm", "lethe/mind/message", "lethe/mind", "lethe/agent/outside", "lethe/agent/reach", "lethe/compactor/recall",
		"lethe/agent/hint", "lethe/agent/request", "lethe/agent/spend", "lethe/agent/spend/wallet", "lethe/agent/tools", "lethe/agent/wake",
	},
	"lethe/cmd/lethe/archive": {
		"lethe/blobs", "lethe/chat", "lethe/cmd/lethe/check", "lethe/agent/home", "lethe/internal/durable", "lethe/internal/must",
		"lethe/internal/secret", "lethe/agent/journal", "lethe/life/event", "lethe/mind", "lethe/life/proof",
	},
	"lethe/blobs": {"lethe/internal/durable"},
	"lethe/agent/branch": {
		"lethe/blobs", "lethe/agent/home", "lethe/agent/journal", "lethe/life/event", "lethe/agent/llm", "lethe/mind", "lethe/agent/request",
	},
	"lethe/bridge": {
		"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret", "lethe/agent/status",
	},
	"lethe/bridge/access": {"lethe/chat", "lethe/internal/durable"},
	"lethe/bridge/acp": {
		"lethe", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/agent/events", "lethe/agent/home", "lethe/agent/host",
		"lethe/internal/durable", "lethe/agent/status", "lethe/bridge/report",
	},
	"lethe/bridge/mcp": {
		"lethe", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/chat", "lethe/agent/events", "lethe/agent/home", "lethe/agent/host",
		"lethe/internal/secret", "lethe/agent/reach", "lethe/bridge/report", "lethe/agent/wake",
	},
	"lethe/bridge/serve": {
		"lethe/bridge", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/bridge/serve/push",
		"lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/internal/secret", "lethe/agent/status",
		"lethe/mind", "lethe/bridge/report", "lethe/agent/share/hosts", "lethe/agent/wake/trigger",
	},
	"lethe/bridge/serve/api": {
		"lethe/blobs", "lethe/bridge/serve/backend", "lethe/chat", "lethe/agent/events", "lethe/agent/home", "lethe/bridge/report",
	},
	"lethe/bridge/serve/backend": {
		"lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/agent/events", "lethe/agent/home",
		"lethe/internal/media", "lethe/internal/secret", "lethe/life", "lethe/bridge/report",
	},
	"lethe/bridge/serve/guard": {},
	"lethe/bridge/serve/openai": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/chat", "lethe/agent/events", "lethe/agent/home",
		"lethe/agent/host", "lethe/life", "lethe/mind",
	},
	"lethe/bridge/serve/page": {
		"lethe", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/bridge/serve/push", "lethe/chat", "lethe/agent/config",
		"lethe/agent/events", "lethe/agent/home", "lethe/agent/host", "lethe/internal/durable", "lethe/internal/lazy",
		"lethe/internal/markdown", "lethe/internal/picture", "lethe/agent/status", "lethe/life", "lethe/life/event",
		"lethe/agent/llm", "lethe/mind", "lethe/bridge/report", "lethe/agent/request", "lethe/agent/wake/trigger",
	},
	"lethe/bridge/serve/push": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/chat", "lethe/internal/durable", "lethe/bridge/report",
	},
	"lethe/bridge/telegram": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/access", "lethe/bridge/telegram/markup", "lethe/chat",
		"lethe/internal/durable", "lethe/agent/status",
	},
	"lethe/bridge/telegram/markup": {"lethe/internal/markdown"},
	"lethe/bridge/terminal": {
		"lethe/blobs", "lethe/chat", "lethe/agent/events", "lethe/internal/markdown", "lethe/internal/secret",
		"lethe/agent/status", "lethe/life",
	},
	"lethe/agent/tools/catalogue": {"lethe/blobs", "lethe/compactor/recall/text"},
	"lethe/chat":                  {"lethe/internal/durable"},
	"lethe/cmd/lethe/check": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/journal", "lethe/life",
		"lethe/life/event", "lethe/mind", "lethe/life/proof", "lethe/agent/spend",
	},
	"lethe/cmd/lethe": {
		"lethe", "lethe/agent", "lethe/cmd/lethe/archive", "lethe/blobs", "lethe/bridge", "lethe/bridge/access",
		"lethe/bridge/acp", "lethe/bridge/mcp", "lethe/bridge/serve", "lethe/bridge/serve/api",
		"lethe/bridge/serve/backend", "lethe/bridge/serve/openai", "lethe/bridge/serve/page",
		"lethe/bridge/telegram", "lethe/bridge/terminal", "lethe/chat", "lethe/cmd/lethe/check", "lethe/agent/config",
		"lethe/deploy", "lethe/cmd/lethe/doctor", "lethe/cmd/lethe/erase", "lethe/agent/events", "lethe/agent/home", "lethe/agent/host",
		"lethe/internal/child", "lethe/cmd/lethe/demo", "lethe/internal/durable", "lethe/internal/media",
		"lethe/internal/must", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/agent/journal", "lethe/life",
		"lethe/life/event", "lethe/agent/llm", "lethe/agent/llm/rehearsal", "lethe/agent/tools/mcp", "lethe/mind", "lethe/life/proof",
		"lethe/bridge/report", "lethe/agent/request", "lethe/agent/share/hosts", "lethe/agent/tools/skills", "lethe/agent/tools",
	},
	"lethe/compactor": {"lethe/blobs", "lethe/chat", "lethe/life/event", "lethe/mind/message", "lethe/mind"},
	"lethe/agent/beside": {
		"lethe/compactor", "lethe/internal/panics", "lethe/internal/secret", "lethe/life/event", "lethe/agent/llm",
		"lethe/agent/spend/wallet",
	},
	"lethe/agent/config": {
		"lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/internal/secret", "lethe/agent/llm", "lethe/agent/tools/mcp",
		"lethe/agent/share/hosts", "lethe/agent/spend", "lethe/agent/tools", "lethe/agent/tools/web",
	},
	"lethe/agent/crew": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/panics", "lethe/agent/status", "lethe/mind",
		"lethe/agent/tools",
	},
	"lethe/deploy":               {},
	"lethe/agent/tools/document": {"lethe/internal/lazy", "lethe/internal/worker"},
	"lethe/cmd/lethe/doctor": {
		"lethe/bridge", "lethe/agent/config", "lethe/agent/home", "lethe/agent/hook", "lethe/agent/host", "lethe/internal/durable",
		"lethe/internal/sandbox", "lethe/agent/llm", "lethe/mind", "lethe/agent/share", "lethe/agent/share/streams", "lethe/agent/tools",
	},
	"lethe/cmd/lethe/erase": {
		"lethe/blobs", "lethe/bridge", "lethe/cmd/lethe/check", "lethe/agent/home", "lethe/internal/durable",
		"lethe/agent/redact", "lethe/life", "lethe/life/event", "lethe/mind",
	},
	"lethe/agent/events": {
		"lethe/blobs", "lethe/chat", "lethe/agent/status", "lethe/life", "lethe/life/event", "lethe/agent/llm", "lethe/mind",
	},
	"lethe/agent/gate": {"lethe/blobs", "lethe/mind", "lethe/agent/tools"},
	"lethe/agent/home": {
		"lethe", "lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/internal/must",
		"lethe/agent/redact", "lethe/internal/secret", "lethe/life", "lethe/life/event", "lethe/mind",
	},
	"lethe/agent/hook": {"lethe/internal/sandbox"},
	"lethe/agent/host": {
		"lethe/agent", "lethe/blobs", "lethe/agent/tools/catalogue", "lethe/chat", "lethe/agent/config", "lethe/agent/crew", "lethe/agent/events",
		"lethe/agent/gate", "lethe/agent/home", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/life", "lethe/agent/llm",
		"lethe/agent/llm/rehearsal", "lethe/agent/tools/mcp", "lethe/mind", "lethe/agent/share/hosts", "lethe/agent/tools/skills", "lethe/agent/tools",
		"lethe/agent/wake",
	},
	"lethe/internal/child":    {},
	"lethe/cmd/lethe/demo":    {"lethe/chat", "lethe/internal/must", "lethe/agent/status"},
	"lethe/internal/durable":  {},
	lazy:                      {},
	"lethe/internal/markdown": {"lethe/chat"},
	"lethe/internal/media":    {},
	"lethe/internal/must":     {},
	"lethe/internal/panics":   {},
	"lethe/internal/picture":  {},
	"lethe/agent/redact":      {"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/life", "lethe/life/event"},
	"lethe/internal/sandbox":  {},
	"lethe/internal/secret":   {},
	"lethe/agent/status": {
		"lethe/chat", "lethe/internal/durable", "lethe/internal/lazy", "lethe/internal/secret", "lethe/agent/spend",
	},
	"lethe/internal/test/botapi":    {},
	"lethe/internal/test/crashdisk": {"lethe/internal/durable"},
	"lethe/internal/test/dialect":   {},
	"lethe/internal/test/lethetest": {"lethe/internal/durable"},
	"lethe/internal/test/memstore":  {"lethe/agent/share"},
	"lethe/internal/test/oauthtest": {},
	"lethe/internal/test/rehearsal": {"lethe/agent/llm/rehearsal"},
	"lethe/internal/test/servetest": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/chat",
		"lethe/agent/home", "lethe/internal/test/lethetest", "lethe/bridge/report",
	},
	"lethe/internal/test/sharetest": {"lethe/internal/test/lethetest", "lethe/agent/share"},
	"lethe/internal/worker":         {"lethe/internal/sandbox"},
	"lethe/agent/journal": {
		"lethe/blobs", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/redact", "lethe/internal/secret",
		"lethe/life", "lethe/life/event", "lethe/mind", "lethe/life/proof", "lethe/agent/spend", "lethe/agent/tools",
	},
	"lethe/cmd/lab": {"lethe/agent/host", "lethe/cmd/lab/bench", "lethe/cmd/lab/eval", "lethe/cmd/lab/replay", "lethe/cmd/lab/vitals"},
	"lethe/cmd/lab/bench": {
		"lethe/blobs", "lethe/chat", "lethe/internal/must", "lethe/life", "lethe/life/event", "lethe/compactor/recall",
	},
	"lethe/cmd/lab/eval": {
		"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/status",
		"lethe/life", "lethe/life/event", "lethe/agent/llm", "lethe/mind", "lethe/compactor/recall", "lethe/compactor/recall/text", "lethe/agent/tools",
	},
	"lethe/cmd/lab/replay": {
		"lethe", "lethe/blobs", "lethe/chat", "lethe/compactor", "lethe/life/event", "lethe/agent/llm", "lethe/mind/message",
		"lethe/agent/llm/rehearsal", "lethe/mind", "lethe/compactor/recall/text", "lethe/agent/tools",
	},
	"lethe/cmd/lab/size":        {},
	"lethe/cmd/lab/vitals":      {"lethe/cmd/lab/bench", "lethe/cmd/lab/eval", "lethe/cmd/lab/replay", "lethe/cmd/lab/size"},
	"lethe/life":                {"lethe/blobs", "lethe/internal/durable", "lethe/life/proof"},
	"lethe/life/event":          {"lethe/blobs", "lethe/chat", "lethe/life"},
	"lethe/agent/llm":           {"lethe/internal/picture", "lethe/internal/secret", "lethe/mind/message"},
	"lethe/mind/message":        {},
	"lethe/agent/llm/rehearsal": {"lethe/compactor", "lethe/mind", "lethe/compactor/recall/text"},
	"lethe/agent/tools/mcp": {"lethe/internal/lazy",
		"lethe/blobs", "lethe/agent/tools/catalogue", "lethe/internal/durable", "lethe/internal/sandbox", "lethe/internal/secret",
	},
	"lethe/mind": {"lethe/blobs", "lethe/chat", "lethe/life", "lethe/life/event", "lethe/mind/message"},
	"lethe/agent/outside": {
		"lethe/blobs", "lethe/agent/tools/catalogue", "lethe/internal/durable", "lethe/internal/sandbox", "lethe/agent/journal",
		"lethe/life/event", "lethe/mind",
	},
	"lethe/life/proof": {"lethe/internal/durable"},
	"lethe/agent/reach": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/picture", "lethe/life/event", "lethe/mind",
		"lethe/compactor/recall", "lethe/agent/hint", "lethe/agent/tools", "lethe/agent/wake",
	},
	"lethe/compactor/recall": {"lethe/blobs", "lethe/internal/panics", "lethe/compactor/recall/index", "lethe/compactor/recall/text"},
	"lethe/agent/hint":       {"lethe/blobs", "lethe/chat", "lethe/mind", "lethe/compactor/recall", "lethe/agent/tools"},
	"lethe/compactor/recall/index": {
		"lethe/blobs", "lethe/internal/durable", "lethe/life", "lethe/life/event", "lethe/mind", "lethe/compactor/recall/text",
	},
	"lethe/compactor/recall/text": {"lethe/blobs", "lethe/chat", "lethe/mind"},
	"lethe/bridge/report": {
		"lethe/blobs", "lethe/agent/branch", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/status",
		"lethe/life", "lethe/life/event", "lethe/agent/llm", "lethe/mind", "lethe/compactor/recall", "lethe/agent/request", "lethe/agent/spend",
		"lethe/agent/spend/wallet", "lethe/agent/tools", "lethe/agent/wake/trigger",
	},
	"lethe/agent/request": {"lethe/compactor", "lethe/agent/home", "lethe/life", "lethe/agent/llm", "lethe/mind", "lethe/agent/outside"},
	"lethe/agent/share":   {"lethe/internal/durable", "lethe/internal/secret"},
	"lethe/agent/share/hosts": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/journal", "lethe/life",
		"lethe/life/event", "lethe/mind", "lethe/life/proof", "lethe/agent/share", "lethe/agent/share/lives", "lethe/agent/share/rooms",
		"lethe/agent/share/streams", "lethe/agent/spend",
	},
	"lethe/agent/share/lives": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/agent/status", "lethe/life",
		"lethe/mind", "lethe/agent/share", "lethe/agent/share/streams",
	},
	"lethe/agent/share/rooms":   {"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/agent/share", "lethe/agent/share/streams"},
	"lethe/agent/share/streams": {"lethe/blobs", "lethe/internal/durable", "lethe/internal/secret", "lethe/agent/share"},
	"lethe/agent/tools/skills":  {"lethe/agent/tools/catalogue", "lethe/internal/durable", "lethe/internal/lazy", "lethe/internal/sandbox"},
	"lethe/agent/spend":         {"lethe/internal/durable", "lethe/life", "lethe/life/event"},
	"lethe/agent/spend/wallet":  {"lethe/blobs", "lethe/agent/home", "lethe/life/event", "lethe/agent/llm", "lethe/agent/spend"},
	"lethe/agent/tools": {
		"lethe/blobs", "lethe/agent/tools/catalogue", "lethe/chat", "lethe/agent/tools/document", "lethe/internal/durable", "lethe/internal/media",
		"lethe/internal/picture", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/agent/wake/trigger", "lethe/agent/tools/web",
	},
	"lethe/agent/wake/trigger": {"lethe/chat"},
	"lethe/agent/wake": {
		"lethe/blobs", "lethe/chat", "lethe/agent/home", "lethe/internal/durable", "lethe/internal/secret",
		"lethe/agent/status", "lethe/agent/journal", "lethe/life/event", "lethe/mind", "lethe/agent/tools", "lethe/agent/wake/trigger",
	},
	"lethe/agent/tools/web": {"lethe/agent/tools/document", "lethe/internal/lazy", "lethe/internal/secret", "lethe/internal/worker"},
}

// lazy may be imported by all.
const lazy = "lethe/internal/lazy"

// only lists libraries that belong to one package each, or what is under it; the test server
// of the Bot API speaks with the same types as the bridge.
var only = map[string]string{
	"github.com/coder/acp-go-sdk":         "lethe/bridge/acp",
	"github.com/cohesion-org/deepseek-go": "lethe/agent/llm",
	"github.com/fsnotify/fsnotify":        "lethe/chat",
	"github.com/go-telegram/bot":          "lethe/bridge/telegram",
	"github.com/blevesearch/snowballstem": "lethe/compactor/recall/text",
	"github.com/minio/minio-go":           "lethe/agent/share",
	"github.com/nats-io/nats.go":          "lethe/agent/share",
	"github.com/nats-io/nats-server":      "lethe/internal/test/sharetest",
	"golang.org/x/image":                  "lethe/internal/picture",
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
	design, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for path := range allowed {
		if !seen[path] {
			t.Errorf("%s is on the map and not in the tree", path)
		}
		name, ours := strings.CutPrefix(path, "lethe/")
		if ours && name != "deploy" && !strings.Contains(string(design), "`"+name+"`") {
			t.Errorf("%s is not in docs/design.md", name)
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
			if strings.HasPrefix(imp, lib) && path != owner && path != "lethe/internal/test/botapi" && !strings.HasPrefix(path, owner+"/") {
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
