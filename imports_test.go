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
		"lethe", "lethe/blobs", "lethe/branch", "lethe/chat", "lethe/compactor", "lethe/compactor/beside", "lethe/crew",
		"lethe/gate", "lethe/home", "lethe/hook", "lethe/internal/durable", "lethe/internal/panics",
		"lethe/internal/picture", "lethe/internal/secret", "lethe/internal/status", "lethe/journal", "lethe/life",
		"lethe/life/event", "lethe/llm", "lethe/llm/message", "lethe/mind", "lethe/outside", "lethe/reach", "lethe/recall",
		"lethe/recall/hint", "lethe/request", "lethe/spend", "lethe/spend/wallet", "lethe/tools", "lethe/wake",
	},
	"lethe/archive": {
		"lethe/blobs", "lethe/chat", "lethe/check", "lethe/home", "lethe/internal/durable", "lethe/internal/must",
		"lethe/internal/secret", "lethe/journal", "lethe/life/event", "lethe/mind", "lethe/proof",
	},
	"lethe/blobs": {"lethe/internal/durable"},
	"lethe/branch": {
		"lethe/blobs", "lethe/home", "lethe/journal", "lethe/life/event", "lethe/llm", "lethe/mind", "lethe/request",
	},
	"lethe/bridge": {
		"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/internal/secret", "lethe/internal/status",
	},
	"lethe/bridge/access": {"lethe/chat", "lethe/internal/durable"},
	"lethe/bridge/acp": {
		"lethe", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/events", "lethe/home", "lethe/host",
		"lethe/internal/durable", "lethe/internal/status", "lethe/report",
	},
	"lethe/bridge/mcp": {
		"lethe", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/chat", "lethe/events", "lethe/home", "lethe/host",
		"lethe/internal/secret", "lethe/reach", "lethe/report", "lethe/wake",
	},
	"lethe/bridge/serve": {
		"lethe/bridge", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/bridge/serve/push",
		"lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/secret", "lethe/internal/status",
		"lethe/mind", "lethe/report", "lethe/share/hosts", "lethe/trigger",
	},
	"lethe/bridge/serve/api": {
		"lethe/blobs", "lethe/bridge/serve/backend", "lethe/chat", "lethe/events", "lethe/home", "lethe/report",
	},
	"lethe/bridge/serve/backend": {
		"lethe/agent", "lethe/blobs", "lethe/bridge", "lethe/chat", "lethe/events", "lethe/home",
		"lethe/internal/media", "lethe/internal/secret", "lethe/life", "lethe/report",
	},
	"lethe/bridge/serve/guard": {},
	"lethe/bridge/serve/openai": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/chat", "lethe/events", "lethe/home",
		"lethe/host", "lethe/life", "lethe/mind",
	},
	"lethe/bridge/serve/page": {
		"lethe", "lethe/blobs", "lethe/bridge/serve/backend", "lethe/bridge/serve/push", "lethe/chat", "lethe/config",
		"lethe/events", "lethe/home", "lethe/host", "lethe/internal/durable", "lethe/internal/lazy",
		"lethe/internal/markdown", "lethe/internal/picture", "lethe/internal/status", "lethe/life", "lethe/life/event",
		"lethe/llm", "lethe/mind", "lethe/report", "lethe/request", "lethe/trigger",
	},
	"lethe/bridge/serve/push": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/chat", "lethe/internal/durable", "lethe/report",
	},
	"lethe/bridge/telegram": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/access", "lethe/bridge/telegram/markup", "lethe/chat",
		"lethe/internal/durable", "lethe/internal/status",
	},
	"lethe/bridge/telegram/markup": {"lethe/internal/markdown"},
	"lethe/bridge/terminal": {
		"lethe/blobs", "lethe/chat", "lethe/events", "lethe/internal/markdown", "lethe/internal/secret",
		"lethe/internal/status", "lethe/life",
	},
	"lethe/catalogue": {"lethe/blobs", "lethe/recall/text"},
	"lethe/chat":      {"lethe/internal/durable"},
	"lethe/check": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/journal", "lethe/life",
		"lethe/life/event", "lethe/mind", "lethe/proof", "lethe/spend",
	},
	"lethe/cmd/lethe": {
		"lethe", "lethe/agent", "lethe/archive", "lethe/blobs", "lethe/bridge", "lethe/bridge/access",
		"lethe/bridge/acp", "lethe/bridge/mcp", "lethe/bridge/serve", "lethe/bridge/serve/api",
		"lethe/bridge/serve/backend", "lethe/bridge/serve/openai", "lethe/bridge/serve/page",
		"lethe/bridge/telegram", "lethe/bridge/terminal", "lethe/chat", "lethe/check", "lethe/config",
		"lethe/deploy", "lethe/doctor", "lethe/erase", "lethe/events", "lethe/home", "lethe/host",
		"lethe/internal/child", "lethe/internal/demo", "lethe/internal/durable", "lethe/internal/media",
		"lethe/internal/must", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/journal", "lethe/life",
		"lethe/life/event", "lethe/llm", "lethe/llm/rehearsal", "lethe/mcp", "lethe/mind", "lethe/proof",
		"lethe/report", "lethe/request", "lethe/share/hosts", "lethe/skills", "lethe/tools",
	},
	"lethe/compactor": {"lethe/blobs", "lethe/chat", "lethe/life/event", "lethe/llm/message", "lethe/mind"},
	"lethe/compactor/beside": {
		"lethe/compactor", "lethe/internal/panics", "lethe/internal/secret", "lethe/life/event", "lethe/llm",
		"lethe/spend/wallet",
	},
	"lethe/config": {
		"lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/secret", "lethe/llm", "lethe/mcp",
		"lethe/share/hosts", "lethe/spend", "lethe/tools", "lethe/web",
	},
	"lethe/crew": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/panics", "lethe/internal/status", "lethe/mind",
		"lethe/tools",
	},
	"lethe/deploy":   {},
	"lethe/document": {"lethe/internal/lazy", "lethe/internal/worker"},
	"lethe/doctor": {
		"lethe/bridge", "lethe/config", "lethe/home", "lethe/hook", "lethe/host", "lethe/internal/durable",
		"lethe/internal/sandbox", "lethe/llm", "lethe/mind", "lethe/share", "lethe/share/streams", "lethe/tools",
	},
	"lethe/erase": {
		"lethe/blobs", "lethe/bridge", "lethe/check", "lethe/home", "lethe/internal/durable",
		"lethe/internal/redact", "lethe/life", "lethe/life/event", "lethe/mind",
	},
	"lethe/events": {
		"lethe/blobs", "lethe/chat", "lethe/internal/status", "lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind",
	},
	"lethe/gate": {"lethe/blobs", "lethe/mind", "lethe/tools"},
	"lethe/home": {
		"lethe", "lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/internal/must",
		"lethe/internal/redact", "lethe/internal/secret", "lethe/life", "lethe/life/event", "lethe/mind",
	},
	"lethe/hook": {"lethe/internal/sandbox"},
	"lethe/host": {
		"lethe/agent", "lethe/blobs", "lethe/catalogue", "lethe/chat", "lethe/config", "lethe/crew", "lethe/events",
		"lethe/gate", "lethe/home", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/life", "lethe/llm",
		"lethe/llm/rehearsal", "lethe/mcp", "lethe/mind", "lethe/share/hosts", "lethe/skills", "lethe/tools",
		"lethe/wake",
	},
	"lethe/internal/child":    {},
	"lethe/internal/demo":     {"lethe/chat", "lethe/internal/must", "lethe/internal/status"},
	"lethe/internal/durable":  {},
	lazy:                      {},
	"lethe/internal/markdown": {"lethe/chat"},
	"lethe/internal/media":    {},
	"lethe/internal/must":     {},
	"lethe/internal/panics":   {},
	"lethe/internal/picture":  {},
	"lethe/internal/redact":   {"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/life", "lethe/life/event"},
	"lethe/internal/sandbox":  {},
	"lethe/internal/secret":   {},
	"lethe/internal/status": {
		"lethe/chat", "lethe/internal/durable", "lethe/internal/lazy", "lethe/internal/secret", "lethe/spend",
	},
	"lethe/internal/test/botapi":    {},
	"lethe/internal/test/crashdisk": {"lethe/internal/durable"},
	"lethe/internal/test/dialect":   {},
	"lethe/internal/test/lethetest": {"lethe/internal/durable"},
	"lethe/internal/test/memstore":  {"lethe/share"},
	"lethe/internal/test/oauthtest": {},
	"lethe/internal/test/rehearsal": {"lethe/llm/rehearsal"},
	"lethe/internal/test/servetest": {
		"lethe/blobs", "lethe/bridge", "lethe/bridge/serve/backend", "lethe/bridge/serve/guard", "lethe/chat",
		"lethe/home", "lethe/internal/test/lethetest", "lethe/report",
	},
	"lethe/internal/test/sharetest": {"lethe/internal/test/lethetest", "lethe/share"},
	"lethe/internal/worker":         {"lethe/internal/sandbox"},
	"lethe/journal": {
		"lethe/blobs", "lethe/home", "lethe/internal/durable", "lethe/internal/redact", "lethe/internal/secret",
		"lethe/life", "lethe/life/event", "lethe/mind", "lethe/proof", "lethe/spend", "lethe/tools",
	},
	"lethe/lab": {"lethe/host", "lethe/lab/bench", "lethe/lab/eval", "lethe/lab/replay", "lethe/lab/vitals"},
	"lethe/lab/bench": {
		"lethe/blobs", "lethe/chat", "lethe/internal/must", "lethe/life", "lethe/life/event", "lethe/recall",
	},
	"lethe/lab/eval": {
		"lethe/agent", "lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/status",
		"lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind", "lethe/recall", "lethe/recall/text", "lethe/tools",
	},
	"lethe/lab/replay": {
		"lethe", "lethe/blobs", "lethe/chat", "lethe/compactor", "lethe/life/event", "lethe/llm", "lethe/llm/message",
		"lethe/llm/rehearsal", "lethe/mind", "lethe/recall/text", "lethe/tools",
	},
	"lethe/lab/size":      {},
	"lethe/lab/vitals":    {"lethe/lab/bench", "lethe/lab/eval", "lethe/lab/replay", "lethe/lab/size"},
	"lethe/life":          {"lethe/blobs", "lethe/internal/durable", "lethe/proof"},
	"lethe/life/event":    {"lethe/blobs", "lethe/chat", "lethe/life"},
	"lethe/llm":           {"lethe/internal/picture", "lethe/internal/secret", "lethe/llm/message"},
	"lethe/llm/message":   {},
	"lethe/llm/rehearsal": {"lethe/compactor", "lethe/mind", "lethe/recall/text"},
	"lethe/mcp": {"lethe/internal/lazy",
		"lethe/blobs", "lethe/catalogue", "lethe/internal/durable", "lethe/internal/sandbox", "lethe/internal/secret",
	},
	"lethe/mind": {"lethe/blobs", "lethe/chat", "lethe/life", "lethe/life/event", "lethe/llm/message"},
	"lethe/outside": {
		"lethe/blobs", "lethe/catalogue", "lethe/internal/durable", "lethe/internal/sandbox", "lethe/journal",
		"lethe/life/event", "lethe/mind",
	},
	"lethe/proof": {"lethe/internal/durable"},
	"lethe/reach": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/picture", "lethe/life/event", "lethe/mind",
		"lethe/recall", "lethe/recall/hint", "lethe/tools", "lethe/wake",
	},
	"lethe/recall":      {"lethe/blobs", "lethe/internal/panics", "lethe/recall/index", "lethe/recall/text"},
	"lethe/recall/hint": {"lethe/blobs", "lethe/chat", "lethe/mind", "lethe/recall", "lethe/tools"},
	"lethe/recall/index": {
		"lethe/blobs", "lethe/internal/durable", "lethe/life", "lethe/life/event", "lethe/mind", "lethe/recall/text",
	},
	"lethe/recall/text": {"lethe/blobs", "lethe/chat", "lethe/mind"},
	"lethe/report": {
		"lethe/blobs", "lethe/branch", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/status",
		"lethe/life", "lethe/life/event", "lethe/llm", "lethe/mind", "lethe/recall", "lethe/request", "lethe/spend",
		"lethe/spend/wallet", "lethe/tools", "lethe/trigger",
	},
	"lethe/request": {"lethe/compactor", "lethe/home", "lethe/life", "lethe/llm", "lethe/mind", "lethe/outside"},
	"lethe/share":   {"lethe/internal/durable", "lethe/internal/secret"},
	"lethe/share/hosts": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/journal", "lethe/life",
		"lethe/life/event", "lethe/mind", "lethe/proof", "lethe/share", "lethe/share/lives", "lethe/share/rooms",
		"lethe/share/streams", "lethe/spend",
	},
	"lethe/share/lives": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/status", "lethe/life",
		"lethe/mind", "lethe/share", "lethe/share/streams",
	},
	"lethe/share/rooms":   {"lethe/blobs", "lethe/chat", "lethe/internal/durable", "lethe/share", "lethe/share/streams"},
	"lethe/share/streams": {"lethe/blobs", "lethe/internal/durable", "lethe/internal/secret", "lethe/share"},
	"lethe/skills":        {"lethe/catalogue", "lethe/internal/durable", "lethe/internal/lazy", "lethe/internal/sandbox"},
	"lethe/spend":         {"lethe/internal/durable", "lethe/life", "lethe/life/event"},
	"lethe/spend/wallet":  {"lethe/blobs", "lethe/home", "lethe/life/event", "lethe/llm", "lethe/spend"},
	"lethe/tools": {
		"lethe/blobs", "lethe/catalogue", "lethe/chat", "lethe/document", "lethe/internal/durable", "lethe/internal/media",
		"lethe/internal/picture", "lethe/internal/sandbox", "lethe/internal/secret", "lethe/trigger", "lethe/web",
	},
	"lethe/trigger": {"lethe/chat"},
	"lethe/wake": {
		"lethe/blobs", "lethe/chat", "lethe/home", "lethe/internal/durable", "lethe/internal/secret",
		"lethe/internal/status", "lethe/journal", "lethe/life/event", "lethe/mind", "lethe/tools", "lethe/trigger",
	},
	"lethe/web": {"lethe/document", "lethe/internal/lazy", "lethe/internal/secret", "lethe/internal/worker"},
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
	"github.com/minio/minio-go":           "lethe/share",
	"github.com/nats-io/nats.go":          "lethe/share",
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
