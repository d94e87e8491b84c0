package config_test

import (
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

// A table is added and taken out again, and no byte beside it changes.
func TestEditServers(t *testing.T) {
	home := t.TempDir()
	path := config.File(home)
	text := func() string { return lethetest.Read(t, path) }
	notes := mcp.Server{Command: []string{"npx", "a \"b\"", "ü\t"}, Env: map[string]string{"B": "1", "A-B": "$X"}, Network: true}
	docs := mcp.Server{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "$DOCS"}}
	lethetest.Must(t, config.AddServer(home, "notes", notes)) // there is no file yet
	var s config.Settings
	lethetest.Must(t, config.Read(home, &s))
	if !reflect.DeepEqual(s.MCP["notes"], notes) {
		t.Errorf("read back: %+v from\n%s", s.MCP["notes"], text())
	}
	before := "# mine\nuser = \"eve\" # me\n\n[mcp.old] # kept\ncommand = [\n  \"x\",\n]\n[mcp.old.env]\nA = \"1\"\n\n" +
		"[tools]\nbash = \"off\"\n"
	lethetest.Must(t, os.WriteFile(path, []byte(before), 0o600))
	lethetest.Must(t, config.AddServer(home, "docs", docs))
	if !strings.HasPrefix(text(), before) {
		t.Errorf("added:\n%s", text())
	}
	if err := config.AddServer(home, "docs", notes); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("added twice: %v", err)
	}
	lethetest.Must(t, config.RemoveServer(home, "old"))
	want := "# mine\nuser = \"eve\" # me\n\n[tools]\nbash = \"off\"\n\n[mcp.docs]\nurl = \"https://example.com/mcp\"\n" +
		"[mcp.docs.headers]\nAuthorization = \"$DOCS\"\n"
	if text() != want {
		t.Errorf("removed:\n%s\nwant\n%s", text(), want)
	}
	for _, odd := range []string{"[mcp]\nnotes = { url = \"https://a.example\" }\n", "mcp.notes.url = \"https://a.example\"\n"} {
		lethetest.Must(t, os.WriteFile(path, []byte(odd), 0o600))
		if err := config.RemoveServer(home, "notes"); err == nil || !strings.Contains(err.Error(), "cannot be edited") || text() != odd {
			t.Errorf("removed from %q: %v", odd, err)
		}
	}
}

// A key never stands in config.toml: it is where keys are, and goes with its server.
func TestServersKeys(t *testing.T) {
	home := t.TempDir()
	lethetest.Must(t, config.SetKey(home, "MINE", "sk-mine-1"))
	lethetest.Must(t, config.AddServer(home, "git-hub", mcp.Server{
		Command: []string{"x"}, Env: map[string]string{"GITHUB_TOKEN": "ghp_123456789", "LANG": "de", "API_KEY": "$MINE", "NO_KEY": ""},
	}))
	lethetest.Must(t, config.AddServer(home, "far", mcp.Server{
		URL: "https://far.example", Headers: map[string]string{"Authorization": "Bearer far-123456789", "X-Org": "a b"},
	}))
	var s config.Settings
	lethetest.Must(t, config.Read(home, &s))
	want := map[string]mcp.Server{
		"git-hub": {Command: []string{"x"}, Env: map[string]string{"GITHUB_TOKEN": "$MCP_GIT_HUB_GITHUB_TOKEN", "LANG": "de",
			"API_KEY": "$MINE", "NO_KEY": ""}},
		"far": {URL: "https://far.example", Headers: map[string]string{"Authorization": "Bearer $MCP_FAR_AUTHORIZATION",
			"X-Org": "$MCP_FAR_X_ORG"}},
	}
	if !reflect.DeepEqual(s.MCP, want) {
		t.Errorf("%+v", s.MCP)
	}
	if secret.Value("MCP_FAR_AUTHORIZATION") != "far-123456789" || secret.Value("MCP_FAR_X_ORG") != "a b" {
		t.Error("the keys of far are not found")
	}
	lethetest.Must(t, config.RemoveServer(home, "far"))
	if keys := lethetest.Read(t, config.KeysFile(home)); keys != "MINE=sk-mine-1\nMCP_GIT_HUB_GITHUB_TOKEN=ghp_123456789\n" {
		t.Errorf("left:\n%s", keys)
	}
	if err := config.AddServer(home, "git-hub", mcp.Server{Command: []string{"x"},
		Env: map[string]string{"GITHUB_TOKEN": "another-1"}}); err == nil {
		t.Error("added twice")
	}
	if err := config.AddServer(home, "lines", mcp.Server{URL: "https://a.example", Headers: map[string]string{"A": "b\nc"}}); err == nil {
		t.Error("a key of two lines is taken")
	}
	lethetest.Must(t, config.RemoveServer(home, "git-hub"))
	if text := lethetest.Read(t, config.File(home)) + lethetest.Read(t, config.KeysFile(home)); strings.Contains(text, "ghp_") ||
		strings.Contains(text, "MCP_") {
		t.Error(text)
	}
}

// Keys get values where people have written them, and no byte beside them changes; what cannot be edited so is refused.
func TestSet(t *testing.T) {
	home := t.TempDir()
	path := config.File(home)
	real := path + ".real" // people may keep the file elsewhere
	lethetest.Must(t, os.Symlink(real, path))
	lethetest.Write(t, real, "# mine\nuser = \"eve\"\n[budget] # dollars\nday_usd = 2.00 # enough\n[model]\n  name = \"a#b\" "+
		"# dear\nmax_tokens = 300\n[serve]\nname = 1")
	lethetest.Must(t, config.Set(home, map[string]any{
		"model.name": "gpt \"x\"", "model.preset": "openai", "model.max_tokens": 0, "budget.day_usd": 0.5, "context.limit": 30000,
		"default_identity": "ada",
	}))
	want := "default_identity = \"ada\"\n# mine\nuser = \"eve\"\n[budget] # dollars\nday_usd = 0.5 # enough\n[model]\npreset " +
		"= \"openai\"\nname = \"gpt \\\"x\\\"\" # dear\n[serve]\nname = 1\n\n[context]\nlimit = 30000\n"
	if got := lethetest.Read(t, real); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	lethetest.Must(t, config.Set(home, map[string]any{"budget.day_usd": 0.0, "model.preset": ""}))
	var s config.Settings
	lethetest.Must(t, config.Read(home, &s))
	if s.Budget.Day != 0 || s.Model.Preset != "" || s.Model.Name != `gpt "x"` || s.Context.Limit != 30000 {
		t.Errorf("read back: %+v", s)
	}
	for _, c := range []struct{ before, key, value, want string }{
		{"", "model.preset", "deep", `model.preset = "deep" is none of deepseek,`},
		{"model.name = 'x'\n", "model.name", "x", "cannot be edited here"},
		{"model = { preset = 'openai' }\n", "model.preset", "openai", "cannot be edited here"},
		{"[model]\nfallback = ['''\npreset = 1''']\n", "model.preset", "openai", "cannot be edited here"},
		{"user = 3\n", "model.name", "x", "read "}, {"", "model.nonsense", "x", "unknown key model.nonsense"},
		{"", "context.limit", "x", "has to be of type integer"},
	} {
		lethetest.Write(t, real, c.before)
		err := config.Set(home, map[string]any{c.key: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s in %q: %v", c.key, c.before, err)
		}
		lethetest.Holds(t, real, c.before)
	}
	mended := lethetest.Break(t, home, func(durable.Stage, string, string) error { return syscall.ENOSPC })
	if config.Set(home, map[string]any{"model.name": "x"}) == nil {
		t.Error("a full disk is not told")
	}
	mended()
	lethetest.Holds(t, real, "")
}
