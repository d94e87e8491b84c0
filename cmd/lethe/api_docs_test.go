//go:build unix

package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// TestAPIPage types the transcript of docs/api.md into a shell, with the port that is free here.
func TestAPIPage(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the transcript needs curl: apt-get install curl")
	}
	sh := newShell(t)
	lethetest.Write(t, filepath.Join(sh.home, ".lethe", "config.toml"), "user = \"you\"\n[serve]\naddress = \"127.0.0.1:0\"\n")
	const documented = "127.0.0.1:8420"
	own := documented
	for _, s := range transcript(t, lethetest.Blocks(t, "api.md", "transcript")[0]) {
		for i, line := range s.prints {
			s.prints[i] = strings.ReplaceAll(line, documented, "127.0.0.1:…")
		}
		out := sh.run(strings.ReplaceAll(s.command, documented, own), s.prints)
		if at := regexp.MustCompile(`(?m)^ready serve http://(\S+)`).FindStringSubmatch(out); at != nil {
			own = at[1]
		}
	}
}
