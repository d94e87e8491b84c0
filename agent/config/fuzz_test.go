package config_test

import (
	"os"
	"testing"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
	"lethe/internal/test/lethetest"
)

// What people write into a home may be of any bytes: it is read and edited, or refused and left as it is.
func FuzzFiles(f *testing.F) {
	home := f.TempDir()
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: "config.toml", File: "config.toml",
		Seeds: []string{
			lethetest.Blocks(f, "configuration.md", "toml")[0], "user = \"eve\" # me\r\n[mcp]\nnotes = { url = \"https://a.example\" }\n",
			"[mcp.notes]\ncommand = [\n\"x\"]\n[mcp.notes.env]\nA = \"$B\"\n", "[model]\nname = '''\nx'''\n[model.x]\n",
			"[[mcp]]\n", "[agents.ada]\nwake = 1\n",
			"timezone = \"../../etc\"\n", "[budget]\nday_usd = nan\n", "user = \"\\u0000\"\n[prices.\"\\n\"]\nmiss = 1e999\n",
		},
		Read: func(t testing.TB) error {
			var s config.Settings
			if err := config.Read(home, &s); err != nil {
				return err
			}
			s.Zone()
			s.UserName()
			s.Deciders()
			before := lethetest.Read(t, config.File(home))
			if err := config.Set(home, map[string]any{"user": "bob", "model.name": "m"}); err != nil {
				lethetest.Holds(t, config.File(home), before)
				return err
			}
			if err := config.AddServer(home, "far", mcp.Server{URL: "https://far.example"}); err != nil {
				return err
			}
			if err := config.RemoveServer(home, "far"); err != nil {
				return err
			}
			var again config.Settings
			lethetest.Must(t, config.Read(home, &again))
			if again.User != "bob" || again.Model.Name != "m" || len(again.MCP) != len(s.MCP) {
				t.Errorf("%q became %q", before, lethetest.Read(t, config.File(home)))
			}
			return nil
		},
	}, lethetest.Reader{
		Name: "keys.env", File: "keys.env",
		Seeds: []string{"A=b\n# c\nD=\"e\"\n", "=x\n", "A B=c\n", "A=\"\n", "A='\x00'\r\n"},
		Read: func(testing.TB) error {
			_ = os.Remove(config.File(home))
			return config.EachKey(home, func(string, string, string) {})
		},
	})
}
