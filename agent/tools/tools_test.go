//go:build unix

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

var allNames = []string{"SAY", "JOIN", "LEAVE", "WAIT", "READ_FILE", "WRITE_FILE", "EDIT_FILE", "LIST", "BASH", "UNCOMPACT",
	"RECALL", "COMPACT", "SPAWN"}

func TestSchemasAreWhole(t *testing.T) {
	id := newIdentity(t, nil)
	var list []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct{ Type string }
		}
	}
	lethetest.Must(t, json.Unmarshal(id.Schemas(), &list))
	var names []string
	for _, e := range list {
		names = append(names, e.Function.Name)
		if e.Type != "function" || e.Function.Parameters.Type != "object" || len(e.Function.Description) < 80 ||
			strings.Contains(e.Function.Description, "{{") {
			t.Errorf("%s is not described: %+v", e.Function.Name, e)
		}
	}
	if !slices.Equal(names, allNames) || bytes.Contains(id.Schemas(), []byte(id.home)) {
		t.Errorf("names %v, or the schemas depend on where the home is", names)
	}
}

// Whoever has less gives less: a child that was given a tool when its parent had it keeps none that was taken since.
func TestNarrowed(t *testing.T) {
	for want, lists := range map[string][2][]string{
		"READ_FILE RECALL":          {{"RECALL", "READ_FILE"}, nil},
		"RECALL":                    {{"RECALL", "READ_FILE"}, {"BASH", "RECALL"}},
		"BASH":                      {nil, {"BASH"}},
		"":                          {{"SPAWN"}, {"BASH"}},
		strings.Join(allNames, " "): {},
	} {
		id := newIdentity(t, func(c *Config) { *c = c.Narrowed(lists[0]).Narrowed(lists[1]) })
		if got := strings.Join(id.Names(), " "); got != want {
			t.Errorf("%q offers %q, want %q", lists, got, want)
		}
	}
}

func TestBashOffIsNotOffered(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashOff })
	if slices.Contains(id.Names(), "BASH") || bytes.Contains(id.Schemas(), []byte(`"name":"BASH"`)) {
		t.Error("BASH is offered")
	}
	id.fails([]string{"unknown tool"}, "BASH", "command", "true")
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	id := newIdentity(t, nil)
	for asked, want := range map[string]string{
		"read_file": "READ_FILE", "ReadFile": "READ_FILE", "WRITE": "WRITE_FILE", "bsh": "BASH", "SAYS": "SAY", "": "SAY",
		strings.Repeat("x", 10000): "SAY",
	} {
		id.fails([]string{"unknown tool", "did you mean " + want, strings.Join(allNames, ", ")}, asked)
	}
}

func TestPanicIsAResult(t *testing.T) {
	r := Run(func(context.Context, Call) Result { panic("no such thing") }).Do(t.Context(), Call{Name: "BREAK"})
	lethetest.Words(t, string(r.Body), "BREAK failed inside", "no such thing", "Effect unknown")
}

func TestArgumentsAreBounded(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"at most", "split"}, "WRITE_FILE", "path", "f", "content", strings.Repeat("x", MaxArgs))
	if _, err := os.Stat(filepath.Join(id.work, "f")); err == nil {
		t.Error("it was written all the same")
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	id := newIdentity(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := id.doCtx(ctx, "WRITE_FILE", "path", "f", "content", "x")
	if _, err := os.Stat(filepath.Join(id.work, "f")); !r.Err || err == nil {
		t.Errorf("%s", r.Body)
	}
	lethetest.Words(t, string(r.Body), "not started")
}

func TestStuckToolDoesNotHoldTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := Run(func(context.Context, Call) Result { <-release; return Result{} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		started := time.Now()
		r := hang.Do(ctx, Call{Name: "HANG"})
		if took := time.Since(started); took > time.Minute+2*time.Second || !r.Err {
			t.Errorf("took %v: %s", took, r.Body)
		}
		lethetest.Words(t, string(r.Body), "interrupted", "effect unknown")
		close(release)
		synctest.Wait()
	})
}

func TestConfigurationThatOpensTheHomeIsRefused(t *testing.T) {
	home := lethetest.Dir(t)
	dir := filepath.Join(home, "h", "agents", "51c0")
	lethetest.Must(t, os.MkdirAll(filepath.Join(home, "h", "agents", "other"), 0o700))
	lethetest.Must(t, os.MkdirAll(dir, 0o700))
	link := filepath.Join(lethetest.Dir(t), "link")
	lethetest.Must(t, os.Symlink(home, link))
	beside, aside := lethetest.Dir(t), filepath.Join(lethetest.Dir(t), "beside")
	lethetest.Must(t, os.Symlink(beside, aside))
	base := Config{Home: filepath.Join(home, "h"), AgentDir: dir}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"workspace is the home":        {func(c *Config) { c.Workspace = c.Home }, "contains the home"},
		"workspace contains the home":  {func(c *Config) { c.Workspace = home }, "contains the home"},
		"workspace is /":               {func(c *Config) { c.Workspace = "/" }, "contains the home"},
		"through a link":               {func(c *Config) { c.Workspace = link }, "contains the home"},
		"workspace is the agent's":     {func(c *Config) { c.Workspace = c.AgentDir }, "inside the home"},
		"workspace in another's":       {func(c *Config) { c.Workspace = filepath.Join(c.Home, "agents", "other") }, "inside the home"},
		"workspace in chats":           {func(c *Config) { c.Workspace = filepath.Join(c.Home, "chats") }, "inside the home"},
		"extra root contains the home": {func(c *Config) { c.ExtraRoots = []string{home} }, "contains the home"},
		"extra root in the home":       {func(c *Config) { c.ExtraRoots = []string{filepath.Join(c.Home, "agents")} }, "inside the home"},
		"extra root is relative":       {func(c *Config) { c.ExtraRoots = []string{"x"} }, "not an absolute path"},
		"extra root is missing":        {func(c *Config) { c.ExtraRoots = []string{"/no/such"} }, "extra root"},
		"workspace holds a secret": {func(c *Config) {
			c.Workspace = beside
			c.Secrets = []string{filepath.Join(aside,
				"token")}
		}, "contains " + filepath.Join(beside, "token")},
		"extra root holds a " +
			"secret": {func(c *Config) { c.ExtraRoots = []string{beside}; c.Secrets = []string{filepath.Join(beside, "token")} },
			"move that file"},
	} {
		t.Run(name, func(t *testing.T) {
			conf := base
			c.change(&conf)
			_, err := New(conf)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(home, "h", "chats")); err == nil {
		t.Error("a refused workspace was made")
	}
	if _, err := New(base); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(dir, "workspace"))
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("workspace %v, %v", fi, err)
	}
}
