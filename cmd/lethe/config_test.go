package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"lethe/budget"
	"lethe/internal/lethetest"
	"lethe/llm"
)

// TestDocumentedConfiguration reads the example of docs/configuration.md, and
// holds that it shows each key there is, and each preset's variable.
func TestDocumentedConfiguration(t *testing.T) {
	doc, example := lethetest.Page(t, "configuration.md"), lethetest.Blocks(t, "configuration.md", "toml")[0]
	_, err := parseSettings("config.toml", []byte(example))
	lethetest.Must(t, err)
	var shown map[string]any
	meta, err := toml.Decode(example, &shown)
	lethetest.Must(t, err)
	for _, key := range settingKeys(reflect.TypeFor[settings](), "") {
		if !strings.HasPrefix(key, "telegram.route.") && !meta.IsDefined(strings.Split(key, ".")...) {
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

// The example of docs/budget.md means what it says.
func TestDocumentedBudget(t *testing.T) {
	s, err := parseSettings("config.toml", []byte(lethetest.Blocks(t, "budget.md", "toml")[0]))
	lethetest.Must(t, err)
	want := budget.Limits{Sums: budget.Sums{Turn: 500_000, Day: 2_000_000, Month: 30_000_000}, Spawn: 1_000_000, HomeDay: 5_000_000}
	if got := s.Budget.limits(); got != want || s.Prices["my-model"].Miss != 0.6 {
		t.Errorf("%+v, %+v", got, s.Prices)
	}
}

// A price that would make calls cheaper than they are is refused; hit alone may be left out, and is as dear as miss.
func TestPrices(t *testing.T) {
	for _, wrong := range []string{"miss = 1", "output = 1", "hit = 1\noutput = 1", "miss = inf\noutput = 1", "hit = nan\nmiss = 1\noutput = 1", "hit = -1\nmiss = 1\noutput = 1", "miss = 1\noutput = 1e7"} {
		if _, err := parseSettings("config.toml", []byte("[prices.m]\n"+wrong)); err == nil || !strings.Contains(err.Error(), `prices."m"`) {
			t.Errorf("%q is taken: %v", wrong, err)
		}
	}
	s, err := parseSettings("config.toml", []byte("[prices.m]\nmiss = 3\noutput = 9"))
	lethetest.Must(t, err)
	if p, _ := llm.Prices(s.Prices).Of("m"); p.Hit != 3 {
		t.Errorf("%+v", p)
	}
}

// A key that an earlier version knew is no reason to refuse a configuration.
func TestRemovedKeys(t *testing.T) {
	s, err := parseSettings("config.toml", []byte("[recall]\nhints = \"off\"\nembeddings_url = \"http://127.0.0.1:1/v1\"\nembeddings_model = 7\n"))
	if err != nil || s.Recall.Hints != hintsOff || strings.Join(s.ignored, " ") != "recall.embeddings_url recall.embeddings_model" {
		t.Errorf("%q, %v", s.ignored, err)
	}
	if _, err := parseSettings("config.toml", []byte("[recall]\nembeddings_key = 1\n")); err == nil {
		t.Error("an unknown key is taken")
	}
}

// Who is to be told is a name that a room can have.
func TestNotify(t *testing.T) {
	s, err := parseSettings("config.toml", []byte(`notify = ["telegram:Ada", "telegram:bob"]`))
	if err != nil || strings.Join(s.notified(), " ") != "Ada bob" {
		t.Errorf("%q, %v", s.notified(), err)
	}
	for _, entry := range []string{"ada", "telegram:", "telegram:Zoë", "mail:ada", "telegram:../x"} {
		if _, err := parseSettings("config.toml", []byte(`notify = ["`+entry+`"]`)); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q is taken: %v", entry, err)
		}
	}
}
