package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"lethe/agent/config"
	"lethe/agent/llm"
	"lethe/cmd/lethe/cli"
	"lethe/internal/test/lethetest"
)

// TestDocumentedConfiguration reads the example of docs/configuration.md, and
// holds that it shows each key there is, and each preset's variable.
func TestDocumentedConfiguration(t *testing.T) {
	doc, example := lethetest.Page(t, "configuration.md"), lethetest.Blocks(t, "configuration.md", "toml")[0]
	lethetest.Must(t, config.Parse("config.toml", []byte(example), new(cli.Settings)))
	var shown map[string]any
	meta, err := toml.Decode(example, &shown)
	lethetest.Must(t, err)
	for _, key := range config.Keys(new(cli.Settings)) {
		earlier := slices.Contains([]string{"telegram.users", "telegram.chats", "telegram.route"}, key)
		if !earlier && !meta.IsDefined(strings.Split(key, ".")...) {
			t.Errorf("the example does not show %s", key)
		}
	}
	for _, name := range llm.Presets() {
		p, _ := llm.Preset(name)
		if !strings.Contains(doc, name) || p.KeyRequired && !strings.Contains(doc, p.KeyEnv) {
			t.Errorf("docs/configuration.md does not tell of preset %s and %s", name, p.KeyEnv)
		}
	}
}
