package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"lethe/agent/budget"
	"lethe/agent/config"
	"lethe/agent/llm"
	"lethe/internal/secret/shape"
	"lethe/internal/test/lethetest"
)

func parse(text string) (s config.Settings, err error) {
	err = config.Parse("config.toml", []byte(text), &s)
	return s, err
}

// bridged are the settings of a program that runs a bridge.
type bridged struct {
	config.Settings
	Telegram struct {
		Room string `toml:"room"`
	} `toml:"telegram"`
}

// The example of docs/budget.md means what it says.
func TestDocumentedBudget(t *testing.T) {
	s, err := parse(lethetest.Blocks(t, "budget.md", "toml")[0])
	lethetest.Must(t, err)
	want := budget.Limits{Sums: budget.Sums{Day: 2_000_000, Month: 30_000_000}, Spawn: 1_000_000, HomeDay: 5_000_000}
	if got := s.Budget.Limits(); got != want || s.Prices["my-model"].Miss != 0.6 {
		t.Errorf("%+v, %+v", got, s.Prices)
	}
}

// A price that would make calls cheaper than they are is refused; hit alone may be left out, and is as dear as miss.
func TestPrices(t *testing.T) {
	for _, wrong := range []string{"miss = 1", "output = 1", "hit = 1\noutput = 1", "miss = inf\noutput = 1",
		"hit = nan\nmiss = 1\noutput = 1", "hit = -1\nmiss = 1\noutput = 1", "miss = 1\noutput = 1e7"} {
		if _, err := parse("[prices.m]\n" + wrong); err == nil || !strings.Contains(err.Error(), `prices."m"`) {
			t.Errorf("%q is taken: %v", wrong, err)
		}
	}
	s, err := parse("[prices.m]\nmiss = 3\noutput = 9")
	lethetest.Must(t, err)
	if info, _ := s.Known("openai").Of("openai:m@high"); info.Hit != 3 || info.Write != 3 {
		t.Errorf("%+v", info)
	}
}

// What is left out of a model stays as the table has it; its price is whole, and goes before that of prices.
func TestModels(t *testing.T) {
	s, err := parse(`[models.deepseek-flash]
window = 64000
sees = true
[models."openai:deepseek-flash"]
answer = 9
miss = 1
output = 2
[prices."openai:deepseek-flash"]
miss = 7
output = 7`)
	lethetest.Must(t, err)
	row, _ := llm.Known(nil).Of("deepseek-flash")
	row.Window, row.Sees, row.From = 64000, true, "config.toml"
	known := s.Known("deepseek")
	for _, name := range []string{"deepseek-flash", "deepseek:deepseek-flash", "deepseek-flash@low"} {
		if got, ok := known.Of(name); got != row || !ok {
			t.Errorf("%s: %+v, want %+v", name, got, row)
		}
	}
	other := llm.Info{Output: 9, Price: llm.Price{Hit: 1, Miss: 1, Write: 1, Output: 2}, From: "config.toml"}
	if got, _ := known.Of("openai:deepseek-flash"); got != other {
		t.Errorf("%+v, want %+v", got, other)
	}
	for _, wrong := range []string{"window = -1", "answer = -1", "miss = 1"} {
		if _, err := parse("[models.m]\n" + wrong); err == nil || !strings.Contains(err.Error(), `models."m"`) {
			t.Errorf("%q is taken: %v", wrong, err)
		}
	}
}

// A process strikes secrets by the settings and the key of the home that it read last.
func TestSecrets(t *testing.T) {
	if _, err := parse("[secrets]\nallow = [\"3f9a\", \"3F9A\"]"); err == nil || !strings.Contains(err.Error(), `"3F9A"`) {
		t.Errorf("digits that no mark has: %v", err)
	}
	home, secret := t.TempDir(), "gh"+"p_q7Zr2mVx9Kt4Lw8Nb3Hd6Fs1Gj5Pc0YaTeUi"
	read := func(text string) string {
		t.Helper()
		lethetest.Must(t, os.WriteFile(config.File(home), []byte(text), 0o600))
		var s config.Settings
		lethetest.Must(t, config.Read(home, &s))
		return shape.Text(secret)
	}
	mark := read("")
	if again := read("[secrets]\nallow = []"); again != mark || !shape.Marked(mark) {
		t.Errorf("%q, then %q", mark, again)
	}
	id := mark[len("[secret "):][:4]
	if read("[secrets]\nallow = [\""+id+"\"]") != secret || read("[secrets]\nkeep = true") != secret {
		t.Error("an allowed secret is struck")
	}
	if read("") != mark {
		t.Error("the mark has changed")
	}
}

// A key that an earlier version knew is no reason to refuse a configuration.
func TestRemovedKeys(t *testing.T) {
	s, err := parse("[recall]\nhints = \"off\"\nembeddings_url = \"http://127.0.0.1:1/v1\"\nembeddings_model = 7\n")
	if err != nil || s.Recall.Hints != config.HintsOff || strings.Join(s.Ignored, " ") != "recall.embeddings_url recall.embeddings_model" {
		t.Errorf("%q, %v", s.Ignored, err)
	}
	var b bridged
	err = config.Parse("config.toml", []byte("[telegram]\nroom = \"dev\"\nrich = true\n"), &b)
	if err != nil || b.Telegram.Room != "dev" || strings.Join(b.Ignored, " ") != "telegram.rich" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := parse("[recall]\nembeddings_key = 1\n"); err == nil {
		t.Error("an unknown key is taken")
	}
}

// The decoder takes a key in any case, and of two spellings whichever comes last: only the right one is taken.
func TestSpelling(t *testing.T) {
	for wrong, right := range map[string]string{
		"[Budget]\nday_usd = 1.0": "budget", "[budget]\nday_usd = 1.0\nDAY_USD = 9.0": "budget.day_usd", "User = \"ann\"": "user",
		"[mcp.Odd]\nCommand = [\"x\"]": "mcp.Odd.command",
	} {
		var hinted interface{ Hint() string }
		_, err := parse(wrong)
		if !errors.As(err, &hinted) || !strings.Contains(err.Error(), "unknown key ") || !strings.Contains(hinted.Hint(), right) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if _, err := parse("[mcp.odd]\ncommand = [\"x\"]\n[mcp.odd.env]\nTOKEN = \"$TOKEN\"\n"); err != nil {
		t.Error(err)
	}
}

// A tool that there is not would leave an identity without one that was meant.
func TestOnlyTools(t *testing.T) {
	s, err := parse("[tools]\nonly = [\"SAY\", \"READ_FILE\"]\nnetwork = \"none\"")
	if err != nil || len(s.Tools.Only) != 2 || s.Tools.Network != config.NetworkNone {
		t.Errorf("%+v, %v", s.Tools, err)
	}
	for wrong, words := range map[string]string{
		`only = ["READ_FILES"]`: `tools.only: there is no tool "READ_FILES"; did you mean READ_FILE?`, `only = ["bash"]`: "did you mean BASH?",
		`only = ["BASH_TRUSTED"]`: `no tool "BASH_TRUSTED"`, `only = ["~"]`: "SPAWN", `network = "off"`: "none of open, none",
	} {
		if _, err := parse("[tools]\n" + wrong); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Who is to be told is a name that a room can have.
func TestNotify(t *testing.T) {
	s, err := parse("user = \"Grace\"\nnotify = [\"telegram:Ada\", \"push\", \"telegram:bob\"]")
	if err != nil || strings.Join(s.Notified(config.ByTelegram), " ") != "Ada bob" || strings.Join(s.Notified(config.ByPush), " ") != "Grace" {
		t.Errorf("%q, %v", s.Notify, err)
	}
	if _, err := parse("user = \"Zoë\"\nnotify = [\"push\"]"); err == nil || !strings.Contains(err.Error(), "for push, user") {
		t.Errorf("a room is to be named for Zoë: %v", err)
	}
	for _, entry := range []string{"ada", "telegram:", "push:ada", "pushes", "telegram:Zoë", "mail:ada", "telegram:../x"} {
		if _, err := parse(`notify = ["` + entry + `"]`); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q is taken: %v", entry, err)
		}
	}
}

// The table of a bridge is refused by a program that runs the bridge, and passed over by others.
func TestTableOfABridge(t *testing.T) {
	text := "user = \"ada\"\n[telegram]\nroom = \"ops\"\nrom = 1\n"
	if s, err := parse(text); err != nil || s.User != "ada" {
		t.Errorf("%+v, %v", s, err)
	}
	var into bridged
	err := config.Parse("config.toml", []byte(text), &into)
	var wrong *config.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "telegram.rom") ||
		!strings.Contains(wrong.Hint(), "telegram.room") || into.Telegram.Room != "ops" {
		t.Errorf("%v, %+v", err, into)
	}
}

func TestShare(t *testing.T) {
	for text, want := range map[string]string{
		"standby = true": "share has no url", "to = [\"age1x\"]": "share has no url", "plain = true": "share has no url",
		"url = \"file:///x\"\nput_usd = -1": "share.put_usd", "url = \"file:///x\"\nput_usd = 0": "",
		"url = \"file:///x\"\nworkspace = -1": "share.workspace", "url = \"file:///x\"\nworkspace = 0\nstandby = true": "",
	} {
		_, err := parse("[share]\n" + text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
