//go:build unix

package tools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/wake/trigger"
	"lethe/internal/test/lethetest"
)

// The example that WRITE_FILE shows is a trigger, with each of the keys that it names.
func TestTriggerInTheDescription(t *testing.T) {
	text, err := descriptions.ReadFile("write_file.md")
	lethetest.Must(t, err)
	_, example, _ := strings.Cut(string(text), "has more than\n\n")
	rest, others, _ := strings.Cut(strings.Replace(example, " # or ", "\n#", 1), "\n#")
	others, keys, _ := strings.Cut(others, "\n")
	for _, when := range append(strings.Split(others, ", "), rest) {
		if _, err := trigger.Parse("brief", []byte(when+"\n"+keys), time.UTC); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	if n := len(strings.Split(others, ", ")); n != 3 {
		t.Errorf("%d other keys are named in %s", n, example)
	}
}

// noTrigger refuses triggers that say no.
func noTrigger(name, content string) (string, error) {
	if strings.Contains(content, "no") {
		return "", errors.New("not now")
	}
	return name + " fires next at nine.", nil
}

func TestWriteTrigger(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.CheckTrigger = noTrigger })
	path := filepath.Join(id.dir, "triggers/brief.toml")
	id.fails([]string{"not been written yet"}, "LIST", "path", "self/triggers/")
	id.gives("made self/triggers/brief.toml: 5 bytes, 1 lines\nbrief fires next at nine.", "WRITE_FILE", "path",
		"self/triggers/brief.toml", "content", "every")
	id.fails([]string{"self/triggers/brief.toml: refused: not now"}, "WRITE_FILE", "path", "self/triggers/brief.toml", "content", "no")
	id.fails([]string{"refused: not now"}, "EDIT_FILE", "path", "self/triggers/brief.toml", "old", "every", "new", "no")
	if r := id.do("EDIT_FILE", "path", "self/triggers/brief.toml", "old", "every", "new", "daily"); r.Err ||
		r.Touched != "triggers/brief.toml" || lethetest.Read(t, path) != "daily" {
		t.Errorf("%+v: %s", r, r.Body)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	lethetest.Words(t, id.ok("LIST", "path", "self/triggers"), "\nbrief.toml  5 bytes\n")
	lethetest.Words(t, id.ok("LIST", "path", "self"), "self/TRIGGERS.md", "self/triggers/")
	lethetest.Words(t, id.ok("READ_FILE", "path", "self/triggers/brief.toml"), "daily")
	lethetest.Words(t, id.ok("READ_FILE", "path", "self/TRIGGERS.md", "offset", 2), "lines 2-", "WRITE_FILE")
	id.gives("removed self/triggers/brief.toml: 1 bytes, 1 lines", "WRITE_FILE", "path", "self/triggers/brief.toml", "content", "\n")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("it is still there")
	}
	for _, name := range []string{"triggers", "triggers/", "triggers/brief.now", "triggers/../MEMORY.toml",
		"triggers/a/b.toml", "TRIGGERS.md"} {
		id.fails([]string{"self/"}, "WRITE_FILE", "path", "self/"+name, "content", "every")
	}
}

// The command of a trigger runs in the sandbox of BASH, and tells nothing when it has printed nothing.
func TestRunTrigger(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashTrusted })
	for command, want := range map[string][2]string{
		"true": {}, "echo one; echo": {"one"}, "grep x /dev/null": {}, "echo bad; exit 3": {"bad\n[exit 3]"},
		"kill -9 $$": {"", "killed by signal 9 (killed)"},
	} {
		if out, failure := id.RunTrigger(t.Context(), "cron-x", command); [2]string{out, failure} != want {
			t.Errorf("%s prints %q, failure %q", command, out, failure)
		}
	}
	long, _ := id.RunTrigger(t.Context(), "cron-x", "seq 10000")
	if len(long) > runBytes+400 || !strings.HasPrefix(long, "1\n2\n") || !strings.HasSuffix(long, "\n10000") ||
		!strings.Contains(long, ".output/cron-x.txt") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
	id = newIdentity(t, func(c *Config) { c.Bash = BashOff })
	if out, failure := id.RunTrigger(t.Context(), "cron-x", "echo x"); out != "" || failure != "BASH is off" {
		t.Errorf("%q, %q", out, failure)
	}
}
