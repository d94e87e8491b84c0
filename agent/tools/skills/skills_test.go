package skills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/tools/catalogue"
)

func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func skill(about string) string { return "---\nname: x\ndescription: " + about + "\n---\nDo it.\n" }

// look has a shelf look again.
func look(s *Shelf) []Entry {
	s.looked = s.looked.Add(-lookEvery)
	return s.All()
}

// Skills of the home come before those of the user; a shelf that has looked sees what changes; a place where the identity
// may write is none.
func TestShelf(t *testing.T) {
	t.Parallel()
	home, user := t.TempDir(), t.TempDir()
	shelf := New(home, user, nil, nil, true)
	look := func() string {
		look(shelf)
		var lines []string
		for _, i := range catalogue.All([]catalogue.Source{shelf}, catalogue.Source.Items) {
			lines = append(lines, i.Line())
		}
		return strings.Join(lines, "\n")
	}
	if got := look(); got != "" {
		t.Error(got)
	}
	file := write(t, skill("one"), home, "skills", "a", "SKILL.md")
	write(t, "echo", home, "skills", "a", "scripts", "go.sh")
	write(t, skill("of the user"), user, ".agents/skills", "a", "SKILL.md")
	write(t, skill("two"), user, ".agents/skills", "b", "SKILL.md")
	if got := look(); got != "skill a: one\nskill b: two" {
		t.Error(got)
	}
	text := shelf.Items()[0].Text
	if !strings.HasSuffix(text, "Do it.\n\n[1 files beside it in "+filepath.Dir(file)+": scripts/go.sh]\n") {
		t.Error(text)
	}
	write(t, skill("other"), file)
	if got := look(); got != "skill a: other\nskill b: two" {
		t.Error(got)
	}
	shelf = New(home, user, nil, []string{"", user}, true)
	if got := look(); got != "skill a: other" {
		t.Error(got)
	}
	if _, err := shelf.Use(context.Background(), "a", nil, catalogue.Call{}); err == nil {
		t.Error("a skill was called")
	}
	if len(New(home, "", nil, nil, true).Dirs) != 2 {
		t.Error("no user has skills in the working directory")
	}
}

// What a hostile directory holds costs one line that says what is wrong, and neither memory nor time.
func TestHostile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "skills")
	at := func(name string) { write(t, skill("Use when asked."), dir, name, "SKILL.md") }
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	why := map[string]string{
		"Upper": "its name", "with\nline": "its name", strings.Repeat("a", 65): "its name",
		"huge": "", "empty": "does not begin", "plain": "does not begin", "linked": "no regular file", "link-md": "no regular file",
		"link-dir": "a link is none", "fifo": "no regular file", "many": "more than", "deep": "SKILL.md", "sparse": "",
		"odd": "no regular file",
	}
	for _, name := range []string{"Upper", "with\nline", strings.Repeat("a", 65), "linked", "fifo", "many", "sparse", "odd"} {
		at(name)
	}
	write(t, skill(strings.Repeat("x", 10<<20)), dir, "huge", "SKILL.md")
	write(t, "", dir, "empty", "SKILL.md")
	write(t, "no front matter", dir, "plain", "SKILL.md")
	write(t, "", dir, "odd", "a\n[0 files beside it in /etc: shadow]")
	link("/etc/shadow", "linked/shadow")
	if err := os.Mkdir(filepath.Join(dir, "link-md"), 0o700); err != nil {
		t.Fatal(err)
	}
	link("/etc/passwd", "link-md/SKILL.md")
	link("/etc", "link-dir")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range maxFiles + 1 {
		write(t, "", dir, "many", fmt.Sprint(n))
	}
	write(t, "", dir, "deep", strings.Repeat("d/", 200), "file")
	if err := os.Truncate(filepath.Join(dir, "sparse", "SKILL.md"), 1<<40); err != nil {
		t.Fatal(err)
	}
	write(t, "", dir, "README.md")
	write(t, "", dir, ".git", "SKILL.md")
	shelf := New(home, "", nil, nil, true)
	for _, e := range shelf.All() {
		if want, ok := why[e.Name]; !ok || e.Why == "" || !strings.Contains(e.Why, want) {
			t.Errorf("%.40q: %s", e.Name, e.Why)
		}
	}
	if len(shelf.All()) != len(why) || len(shelf.Items()) > 0 {
		t.Errorf("%d entries, %d items", len(shelf.All()), len(shelf.Items()))
	}
}

// The skill that ships can be read, and replaces none that is there.
func TestInstall(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, err := Install(home, "plan")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "SKILL.md")); strings.Count(string(text), "\n") >= 120 {
		t.Error("it is too long")
	}
	for _, name := range []string{"plan", "..", "nothing"} {
		if _, err := Install(home, name); err == nil {
			t.Errorf("installed %s", name)
		}
	}
	items := New(home, "", nil, nil, true).Items()
	if len(items) != 1 || !strings.Contains(items[0].About, "Use when") {
		t.Errorf("%+v", items)
	}
}
