package tools

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// A check runs where commands do, has the text as its input, and a HOME that they do not reach.
func TestCheck(t *testing.T) {
	id := newIdentity(t, nil)
	check := func(line, text string, timeout time.Duration) (string, bool) {
		return id.Check(t.Context(), line, text, nil, timeout)
	}
	if why, ran := check("grep -q good && test -f made && echo x >> $HOME/kept", "all good\n", time.Minute); !ran ||
		!strings.Contains(why, "exit 1") {
		t.Errorf("before the file is there: %q %v", why, ran)
	}
	id.file("made", "")
	if why, ran := check("grep -q good && test -f made && echo kept >> $HOME/kept", "all good\n", time.Minute); !ran || why != "" {
		t.Errorf("a good one: %q %v", why, ran)
	}
	id.fails([]string{"cat"}, "BASH", "command", "cat ../gate/home/kept || echo cat fails; false")
	for line, want := range map[string]string{
		"head -c 9000 /dev/zero | tr '\\0' x; echo the end; exit 7": "exit 7. Its output:\nxxxx",
		"cat " + id.home + "/config.toml":                           "exit 1",
		"kill -9 $$":                                                "signal 9", "sleep 60": "timeout after 1 s",
	} {
		most := time.Minute
		if line == "sleep 60" {
			most = time.Second
		}
		why, ran := check(line, "", most)
		if !ran || len(why) > checkBytes+400 {
			t.Errorf("%s: %d bytes, ran %v", line, len(why), ran)
		}
		lethetest.Words(t, why, want)
	}
	blocked := newIdentity(t, func(c *Config) { c.Transcribe = "cat" })
	lethetest.Write(t, filepath.Join(blocked.dir, checkDir, "home"), "no directory")
	lethetest.Words(t, blocked.WriteDown(t.Context(), []byte("what was said")), "not known", "file exists")
	if left, err := filepath.Glob(filepath.Join(blocked.dir, checkDir, "tmp*")); err != nil || len(left) > 0 {
		t.Errorf("a recording is left where no command ran: %v %v", left, err)
	}
	off := newIdentity(t, func(c *Config) { c.Bash = BashOff })
	if why, ran := off.Check(t.Context(), "cat "+off.home+"/config.toml; grep -q x", "x", nil, time.Minute); !ran || why != "" {
		t.Errorf("without BASH: %q %v", why, ran)
	}
}
