package tools

import (
	"os"
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
)

// What people keep in the home for identities can be read; the rest of the home
// stays hidden, also through links, and nothing of it can be written.
func TestPeoplesOwnIsReadOnly(t *testing.T) {
	var skills, late string
	id := newIdentity(t, func(c *Config) {
		skills, late = filepath.Join(c.Home, "skills"), filepath.Join(c.Home, "late")
		c.Read = []string{skills, late}
	})
	put := func(dir, name, text string) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(skills, "tidy"), "notes.md", "how to\n")
	put(late, "made", "later\n")
	if err := os.Symlink("../../key", filepath.Join(skills, "tidy", "link")); err != nil {
		t.Fatal(err)
	}
	put(id.home, "key", "top secret\n")

	notes := filepath.Join(skills, "tidy", "notes.md")
	lethetest.Words(t, id.ok("READ_FILE", "path", notes), "how to")
	lethetest.Words(t, id.ok("LIST", "path", skills), "tidy")
	lethetest.Words(t, id.ok("READ_FILE", "path", filepath.Join(late, "made")), "later")
	id.gives("how to\n[exit 0]", "BASH", "command", "cat "+notes)
	id.fails([]string{"it can only be read"}, "WRITE_FILE", "path", notes, "content", "x")
	id.fails([]string{"it can only be read"}, "WRITE_FILE", "path", filepath.Join(skills, "new"), "content", "x")
	id.fails([]string{"refused"}, "READ_FILE", "path", filepath.Join(skills, "tidy", "link"))
	id.fails([]string{"outside of the workspace"}, "READ_FILE", "path", filepath.Join(id.home, "key"))
	id.fails([]string{"outside of the workspace"}, "READ_FILE", "path", filepath.Join(skills, "..", "key"))
	for _, command := range []string{"echo x >> " + notes, "cat " + skills + "/tidy/link", "touch " + skills + "/x",
		"cat " + id.home + "/key"} {
		id.fails([]string{"ermission denied"}, "BASH", "command", command)
	}
}
