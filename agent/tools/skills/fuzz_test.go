package skills

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// A skill may be of any bytes, and so may what people allowed of it: one of a workspace is offered only as it was allowed.
func FuzzFiles(f *testing.F) {
	dir := lethetest.Dir(f)
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	file := filepath.Join(work, ".agents/skills/b/SKILL.md")
	lethetest.Write(f, file, skill("two"))
	shelf := New(home, "", []string{work}, nil, false)
	entries := look(shelf)
	if len(entries) != 1 || !entries[0].Waits {
		f.Fatalf("%+v", entries)
	}
	_, err := shelf.Allow(entries[0], true)
	lethetest.Must(f, err)
	allowed := kept(shelf.home, entries[0].Path)
	whole := lethetest.Read(f, allowed)
	name, err := filepath.Rel(dir, allowed)
	lethetest.Must(f, err)
	reads := func(t testing.TB) error {
		for _, e := range look(New(home, "", []string{work}, nil, false)) {
			kept, _ := os.ReadFile(kept(shelf.home, e.Path))
			if !e.own && e.Why == "" && !strings.Contains(string(kept), lethetest.Read(t, file)) {
				t.Errorf("%s is offered as it was not allowed", e.Name)
			}
		}
		shelf.Items()
		if _, err := shelf.Allow(entries[0], false); err != nil {
			return err
		}
		return nil
	}
	bomb := "---\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\ndescription: *c\n---\n"
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "a skill of the home", File: "home/skills/a/SKILL.md", Read: reads,
		Seeds: []string{skill("one"), bomb, "---\ndescription: >\n  a\n---\n", "---\ndescription: \"\\ud800\"\n---\n", "---\n- x\n---\n"},
	}, lethetest.Reader{
		Name: "a skill of a workspace", File: "work/.agents/skills/b/SKILL.md", Read: reads, Seeds: []string{skill("two"), skill("three"), bomb},
	}, lethetest.Reader{
		Name: "what people allowed", File: name, Read: reads, Seeds: []string{whole, whole + "x", whole[:10]},
	})
}
