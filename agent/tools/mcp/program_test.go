package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// A program below a person's home needs its installation, and no more of the home.
func TestUnreadable(t *testing.T) {
	home := lethetest.Dir(t)
	t.Setenv("HOME", home)
	put := func(path, text string) {
		path = filepath.Join(home, path)
		lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		lethetest.Must(t, os.WriteFile(path, []byte(text), 0o700))
	}
	link := func(target, path string) {
		path = filepath.Join(home, path)
		lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		lethetest.Must(t, os.Symlink(target, path))
	}
	node := ".nvm/versions/node/v20"
	put(node+"/bin/node", "ELF")
	put(node+"/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env -S node --no-warnings\n")
	link("../lib/node_modules/npm/bin/npx-cli.js", node+"/bin/npx")
	put(".pyenv/shims/pytool", "#!/usr/bin/env sh\n")
	put(".pyenv/libexec/pyenv", "")
	put(".local/share/uv/python/cpython-3.12/bin/python3.12", "ELF")
	put(".local/share/uv/python/cpython-3.12/lib/x", "")
	put(".local/share/uv/tools/mcp/pyvenv.cfg", "")
	link(home+"/.local/share/uv/python/cpython-3.12/bin/python3.12", ".local/share/uv/tools/mcp/bin/python")
	put(".local/share/uv/tools/mcp/bin/mcp", "#!"+home+"/.local/share/uv/tools/mcp/bin/python\n")
	link(home+"/.local/share/uv/tools/mcp/bin/mcp", ".local/bin/mcp")
	put(".local/lib/x", "")
	put(".cargo/bin/rust-mcp", "ELF")
	put(".cargo/credentials.toml", "")
	put("brew/Cellar/tool/1.0/bin/tool", "ELF")
	link("../Cellar/tool/1.0/bin/tool", "brew/bin/tool")
	put("work/server", "#!/bin/sh\n")
	var dirs []string
	for _, dir := range []string{node + "/bin", ".pyenv/shims", ".local/bin", ".cargo/bin", "brew/bin"} {
		dirs = append(dirs, filepath.Join(home, dir))
	}
	t.Setenv("PATH", strings.Join(dirs, ":")+":"+os.Getenv("PATH"))
	for command, want := range map[string][]string{
		"npx": {node}, "pytool": {".pyenv"}, "rust-mcp": {".cargo/bin"}, "tool": {"brew"},
		"mcp":                 {".local/bin", ".local/share/uv/tools/mcp", ".local/share/uv/python/cpython-3.12"},
		home + "/work/server": {"work/server"}, "sh": nil, "no-such-program": nil,
	} {
		for i := range want {
			want[i] = filepath.Join(home, want[i])
		}
		server := Server{Command: []string{command}}
		if got := server.Unreadable(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
		server.Read = want
		if got := server.Unreadable(); len(got) > 0 {
			t.Errorf("%s, which may read %q: %q", command, want, got)
		}
	}
}

// The error of a program that may not be read says what to write.
func TestUnreadableTold(t *testing.T) {
	confined(t)
	home := lethetest.Dir(t)
	program := filepath.Join(home, "server")
	lethetest.Must(t, os.WriteFile(program, []byte("#!/bin/sh\nexec cat\n"), 0o700))
	s := servers(t, t.TempDir(), map[string]Server{"own": {Command: []string{program}}})
	lethetest.Words(t, use(s, "own/echo", "{}"), "it may not read its program: put read = ["+`"`+program+`"] into [mcp.own]`)
}
