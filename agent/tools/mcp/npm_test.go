package mcp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/tools/catalogue"
	"lethe/internal/test/lethetest"
)

// npm returns a server from npm, or skips the test.
func npm(t *testing.T, name string, args ...string) Server {
	t.Helper()
	lethetest.Unraced(t)
	confined(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install it, and run npm ci in internal/test/js")
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(lethetest.Root(t), "internal/test/js/node_modules"))
	program := filepath.Join(modules, "@modelcontextprotocol/server-"+name, "dist/index.js")
	if _, missing := os.Stat(program); err != nil || missing != nil {
		t.Skip("the package @modelcontextprotocol/server-" + name + " is missing: run npm ci in internal/test/js")
	}
	return Server{Command: append([]string{node, program}, args...), Read: []string{modules}}
}

// The reference server for files reads and writes where its table lets it, and nowhere else.
func TestFilesystem(t *testing.T) {
	dir, hidden := t.TempDir(), t.TempDir()
	server := npm(t, "filesystem", dir, hidden)
	lethetest.Write(t, dir+"/a.txt", "the first note")
	lethetest.Write(t, hidden+"/b.txt", "not for it")
	server.Write = []string{dir}
	s := servers(t, t.TempDir(), map[string]Server{"notes": server})
	if items := s.Ask(t.Context()); !strings.Contains(names(items), "notes/read_text_file") {
		t.Fatal(items)
	}
	if got := use(s, "notes/read_text_file", `{"path":"`+dir+`/a.txt"}`); got != "the first note" {
		t.Error(got)
	}
	use(s, "notes/write_file", `{"path":"`+dir+`/c.txt","content":"new"}`)
	lethetest.Holds(t, dir+"/c.txt", "new")
	if got := use(s, "notes/read_text_file", `{"path":"`+hidden+`/b.txt"}`); strings.Contains(got, "not for it") {
		t.Error(got)
	}
}

// What the memory server was told is there after it was started again.
func TestMemory(t *testing.T) {
	server := npm(t, "memory")
	file := t.TempDir()
	server.Write, server.Env = []string{file}, map[string]string{"MEMORY_FILE_PATH": file + "/graph.jsonl"}
	home := t.TempDir()
	s := servers(t, home, map[string]Server{"memory": server})
	use(s, "memory/create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["likes tea"]}]}`)
	s.Close()
	again := servers(t, home, map[string]Server{"memory": server})
	lethetest.Words(t, use(again, "memory/search_nodes", `{"query":"tea"}`), "Ada", "likes tea")
}

// The server that tries clients gives each kind of content, over standard input and output.
func TestEverything(t *testing.T) {
	s := servers(t, t.TempDir(), map[string]Server{"all": npm(t, "everything")})
	listed := names(s.Ask(t.Context()))
	lethetest.Words(t, listed, "all/echo", "all/get-tiny-image")
	lethetest.Words(t, use(s, "all/echo", `{"message":"hello"}`), "hello")
	if got := use(s, "all/echo", `{}`); !strings.HasPrefix(got, "failed: ") && !strings.HasPrefix(got, "error: ") {
		t.Error(got)
	}
	a, err := s.Use(t.Context(), "all/get-tiny-image", json.RawMessage("{}"), catalogue.Call{})
	lethetest.Must(t, err)
	if len(a.Files) != 1 || a.Files[0].Type != "image/png" || len(a.Files[0].Data) < 100 {
		t.Errorf("%+v", a)
	}
}
