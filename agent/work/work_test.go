package work_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/work"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

const plan = `# Goal: the blog is on the new server (ann, dev, 2026-11-20)
done when: ` + "`curl -fs https://blog.example.org`" + `
bounds: until Friday

- [x] 1 copy the pages · check: ` + "`diff -r old new`" + ` · files: old.txt, new.txt
- [ ] 2 move the name · check: ann looks · after 1
- [?] 3 tell people · asked in dev: whom
- [y] 4 no step
 - [x] 5 none either
`

func at(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		lethetest.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func read(t *testing.T, dir string) work.Plan {
	t.Helper()
	plans, err := work.Read(dir)
	lethetest.Must(t, err)
	if len(plans) != 1 {
		t.Fatalf("%d plans", len(plans))
	}
	return plans[0]
}

func TestRead(t *testing.T) {
	dir := at(t, map[string]string{"work/blog.md": plan, "work/notes.txt": "- [x] 1 none", "old.txt": "a"})
	p := read(t, dir)
	lethetest.Equal(t, "goal", p.Goal, "the blog is on the new server (ann, dev, 2026-11-20)")
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.Mark+s.What+"|"+s.Check)
	}
	lethetest.Equal(t, "steps", strings.Join(got, "\n"), "x1 copy the pages|diff -r old new\n 2 move the name|\n?3 tell people|\n"+
		" done when|curl -fs https://blog.example.org")

	// What the check is about changes the digest, the marks of other steps do not; a missing file counts as such.
	was := p.Steps[0].Digest
	for _, c := range []struct {
		file, text string
		same       bool
	}{
		{"work/blog.md", strings.Replace(plan, "- [ ] 2", "- [x] 2", 1), true},
		{"work/blog.md", strings.Replace(plan, "diff -r", "true ||", 1), false},
		{"work/blog.md", plan, true},
		{"new.txt", "b", false},
	} {
		lethetest.Write(t, filepath.Join(dir, c.file), c.text)
		if same := read(t, dir).Steps[0].Digest == was; same != c.same {
			t.Errorf("%s: %q: the digest is the same: %v", c.file, c.text, same)
		}
	}

	// The end of a plan is claimed when all of its steps are.
	all := strings.NewReplacer("[ ]", "[x]", "[?]", "[x]").Replace(plan)
	lethetest.Write(t, filepath.Join(dir, "work/blog.md"), all)
	p = read(t, dir)
	if end := p.Steps[3]; end.Mark != "x" || !end.Checked() || end.Digest == "" {
		t.Errorf("the end is %+v", end)
	}
}

// A command is as it is written, whatever stands behind it, and no byte passes from one file to the next unnoticed.
func TestChecksAsWritten(t *testing.T) {
	const text = "- [x] 1 say · check: `grep 'after the' a` passes · after 0 · files: a, b\n- [x] 2 look · check: ann looks after that\n"
	dir := at(t, map[string]string{"work/blog.md": text, "a": "x", "b": "yz"})
	p := read(t, dir)
	lethetest.Equal(t, "command", p.Steps[0].Check, "grep 'after the' a")
	lethetest.Equal(t, "person", p.Steps[1].Person, "ann")
	lethetest.Write(t, filepath.Join(dir, "a"), "xy")
	lethetest.Write(t, filepath.Join(dir, "b"), "z")
	if read(t, dir).Steps[0].Digest == p.Steps[0].Digest {
		t.Error("the files changed, and the digest is the same")
	}
	if plans, err := work.Steps(dir); err != nil || plans[0].Steps[0].Digest != "" {
		t.Errorf("the files are read: %+v, %v", plans, err)
	}
}

// People confirm what counts: one line of bounds, the last, that means what it says. Nothing in a plan hides a step from
// the count.
func TestBounds(t *testing.T) {
	const three = "- [ ] 1 a · files: p.md/2, p.md/3 · worker: yes\n- [ ] 2 b · worker: yes\n- [ ] 3 c · worker: yes\n"
	s := &mind.State{}
	s.Children = []mind.Child{{Step: "p.md/1 0123abcd p.md/2 p.md/3"}}
	s.Knowledge.Given = map[string]int{"p.md": 1}
	dir := t.TempDir()
	of := func(bounds string) work.Plan {
		lethetest.Write(t, filepath.Join(dir, "work/p.md"), bounds+"\n"+three)
		return read(t, dir)
	}
	for _, bounds := range []string{"0 steps, 6 USD, 4 workers", "-1 steps, 6 USD, 4 workers", "2 steps, NaN USD, 4 workers",
		"2 steps, +Inf USD, 4 workers", "2 steps, -1 USD, 4 workers", "2 steps, 1 USD, 4 workers\nbounds: 0 steps"} {
		if p := of("bounds: " + bounds); p.Workers > 0 {
			t.Errorf("bounds: %s: %d workers begin, and nobody is asked: %v", bounds, p.Workers, p.Waits(dir, s))
		}
	}
	small := of("bounds: 3 steps, 1 USD, 1 workers\nbounds: 3 steps, 1 USD, 1 workers")
	large := of("bounds: 300 steps, 100 USD, 8 workers\nbounds: 3 steps, 1 USD, 1 workers")
	lethetest.Equal(t, "what counts", large.Bounds+large.Gate(s), small.Bounds+small.Gate(s))
	lethetest.Equal(t, "steps, with two lines", large.Most, 3)
	lethetest.Equal(t, "bounds", of("bounds: 3 steps, 0 USD, 1 workers").Bounds, "3 steps, 1 workers, no limit of their cost")
	for n, line := range []string{"", strings.Repeat("x", 900)} { // what stands behind them is not shown
		if p := of("bounds: 2 steps, 1 USD, 1 workers" + line); p.Bounds != "2 steps, 1 USD, 1 workers" {
			t.Errorf("%d: %q", n, p.Bounds)
		}
	}
	whole := of("bounds: 2 steps, 1 USD, 1 workers")
	lethetest.Write(t, filepath.Join(dir, "work/p.md"), strings.Replace("bounds: 2 steps, 1 USD, 1 workers\n"+three, "3 c", "3 d", 1))
	if read(t, dir).Gate(s) == whole.Gate(s) {
		t.Error("three steps begin with bounds of two, and their words are not confirmed")
	}
	lethetest.Write(t, filepath.Join(dir, "work/p.md"), "- [ ] 1 a · files: , ,\n")
	p := read(t, dir)
	contains := strings.Contains(p.Ask(p.Steps[0]).Args, `"files":"/dev/null"`)
	lethetest.Equal(t, "no files are none", contains, true)
	s.Children = nil
	for range 2 { // the second one does not replace the first
		lethetest.Write(t, filepath.Join(dir, "work/p.md"), three)
		_, err := work.Obey(dir, dir, s, "drop", "p")
		lethetest.Must(t, err)
	}
	for _, name := range []string{"work/p.md.dropped", "work/p.md.dropped+"} {
		lethetest.Holds(t, filepath.Join(dir, name), three)
	}
}

func TestMark(t *testing.T) {
	dir := at(t, map[string]string{"work/blog.md": strings.ReplaceAll(plan, "\n", "\r\n")})
	name := filepath.Join(dir, "work/blog.md")
	lethetest.Must(t, os.Chmod(name, 0o640))
	p := read(t, dir)
	lethetest.Must(t, p.Mark(dir, map[int]string{0: " ", 3: " "}, false)) // the end of the plan opens its last step
	open := strings.NewReplacer("\n", "\r\n", "[x] 1", "[ ] 1", "[?] 3", "[ ] 3").Replace(plan)
	lethetest.Holds(t, name, open)
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if err := p.Mark(dir, map[int]string{1: " "}, false); err == nil {
		t.Error("it was changed since it was read, and is said to be open")
	}
	lethetest.Holds(t, name, open)
	lethetest.Must(t, os.Rename(name, filepath.Join(dir, "work/there")))
	lethetest.Must(t, os.Symlink("there", name))
	was, err := os.Stat(filepath.Join(dir, "work"))
	lethetest.Must(t, err)
	if err := read(t, dir).Mark(dir, map[int]string{1: " "}, false); err == nil {
		t.Error("a link is said to be open")
	}
	if is, _ := os.Stat(filepath.Join(dir, "work")); is.ModTime() != was.ModTime() {
		t.Error("the directory changes, which wakes who watches it")
	}
}

// Nothing leads out of the workspace, blocks, or is read without an end; the other plans are read all the same.
func TestStrangeFiles(t *testing.T) {
	outside := at(t, map[string]string{"work/a.md": plan, "secret": "x"})
	dir := at(t, map[string]string{"work/good.md": plan, "work/large.md": strings.Repeat("x", 300<<10),
		"work/long.md": strings.Repeat("- [x] 1 more\n", 501)})
	lethetest.Must(t, os.Symlink(filepath.Join(outside, "work/a.md"), filepath.Join(dir, "work/link.md")))
	lethetest.Must(t, os.Mkdir(filepath.Join(dir, "work/dir.md"), 0o700))
	plans, err := work.Read(dir)
	equal := len(plans) == 5
	for _, plan := range plans {
		equal = equal && plan.Broken == (plan.Name != "good.md") && plan.Broken == (len(plan.Steps) == 0)
		if named := err != nil && strings.Contains(err.Error(), plan.Name+":"); named != plan.Broken {
			t.Errorf("%s is named: %t: %v", plan.Name, named, err)
		}
	}
	lethetest.Equal(t, "the others are read", equal, true)
	said, err := work.Obey(dir, dir, &mind.State{}, "")
	if err != nil || strings.Contains(said, "It waits") || work.Begins(dir, dir, &mind.State{}, "large.md/1 0123 ") || !strings.Contains(said, "large.md cannot be read: it has more than 262144 bytes\n") {
		t.Errorf("people are not told: %s", said)
	}
	lethetest.Must(t, plans[2].Pause(dir, &mind.State{}))
	lethetest.Equal(t, plans[2].Name+" waits", plans[2].Waits(dir, &mind.State{}), false)
	for _, row := range [][2]string{{"confirm", "it cannot be read"}, {"drop", ""}} {
		verb, want := row[0], row[1]
		_, err := work.Obey(dir, dir, &mind.State{}, verb, "large")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", verb, err)
		}
	}

	linked := t.TempDir()
	lethetest.Must(t, os.Symlink(filepath.Join(outside, "work"), filepath.Join(linked, "work")))
	if plans, err := work.Read(linked); len(plans) > 0 || err == nil {
		t.Errorf("a link out of the workspace: %d plans, %v", len(plans), err)
	}
	for _, none := range []string{t.TempDir(), filepath.Join(dir, "missing"), at(t, map[string]string{"work": "a file"})} {
		if plans, err := work.Read(none); len(plans) > 0 || err != nil {
			t.Errorf("%s: %d plans, %v", none, len(plans), err)
		}
	}
}
