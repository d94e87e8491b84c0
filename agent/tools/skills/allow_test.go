package skills

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/agent/tools/catalogue"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	lethetest.AskFaults()
	os.Exit(m.Run())
}

// program writes an executable script.
func program(t *testing.T, script string, path ...string) string {
	t.Helper()
	file := write(t, "#!/bin/sh\n"+script+"\n", path...)
	lethetest.Must(t, os.Chmod(file, 0o700))
	return file
}

// states are the names of entries with why they are not offered.
func states(s *Shelf) string {
	var out []string
	for _, e := range look(s) {
		out = append(out, strings.TrimSuffix(e.Name+": "+e.Why, ": "))
	}
	return strings.Join(out, "\n")
}

func allow(t *testing.T, s *Shelf, name string) (diff string) {
	t.Helper()
	i := slices.IndexFunc(s.all, func(e Entry) bool { return e.Name == name && e.Waits })
	if i < 0 {
		t.Fatalf("%s does not wait: %s", name, states(s))
	}
	shown, err := s.Allow(s.all[i], false)
	lethetest.Must(t, err)
	diff, err = s.Allow(s.all[i], true)
	lethetest.Must(t, err)
	if shown != diff {
		t.Errorf("shown %q, allowed %q", shown, diff)
	}
	return diff
}

// Of what nobody has allowed nothing is read but the SKILL.md, as far as one may go: whoever writes to a workspace could
// else keep its identities from working.
func TestUnallowedIsNotRead(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	write(t, skill("Washes."), work, ".agents/skills/beside/SKILL.md")
	for _, name := range []string{"beside/data", "long/SKILL.md"} {
		file := write(t, "", work, ".agents/skills", name)
		lethetest.Must(t, os.Truncate(file, maxBytes-maxText))
	}
	shelf := New(home, "", []string{work}, nil, true)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := states(shelf)
	runtime.ReadMemStats(&after)
	if got != "beside: not allowed\nlong: SKILL.md has more than 256 KB" {
		t.Error(got)
	}
	if read := after.TotalAlloc - before.TotalAlloc; read > maxBytes/8 {
		t.Errorf("took %d bytes to look at what nobody allowed", read)
	}
}

// A skill of a workspace counts after it was allowed, and not any more when anything of it changes: a text, a file beside
// it, one more, one less. People are told, once for each change.
func TestAllow(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	var told []string
	shelf := New(home, "", []string{work}, nil, true)
	shelf.Tell = func(waiting []string) { told = append(told, strings.Join(waiting, " ")) }
	want := func(state string, items ...string) {
		t.Helper()
		if got := states(shelf); got != state {
			t.Errorf("got %q, want %q", got, state)
		}
		var names []string
		for _, i := range shelf.Items() {
			if names = append(names, i.Name); i.Own {
				t.Errorf("%s is said to be of people's home", i.Name)
			}
		}
		if !slices.Equal(names, items) {
			t.Errorf("offered %v, want %v", names, items)
		}
	}
	want("")
	file := write(t, skill("one"), work, ".agents/skills", "tidy", "SKILL.md")
	script := write(t, "echo one\n", work, ".agents/skills", "tidy", "scripts", "go.sh")
	write(t, skill("clean"), work, ".claude/skills", "wash", "SKILL.md")
	want("tidy: not allowed\nwash: not allowed")
	want("tidy: not allowed\nwash: not allowed")
	lethetest.Words(t, allow(t, shelf, "tidy"), "+--- tidy/SKILL.md: ",
		"+description: one", "+--- tidy/scripts/go.sh: 9 bytes", "+echo one")
	want("tidy\nwash: not allowed", "tidy")

	const changed = "tidy: not allowed: it has changed since it was\nwash: not allowed"
	write(t, "echo two\n", script) // of the same size
	want(changed)
	diff := allow(t, shelf, "tidy")
	lethetest.Words(t, diff, "-echo one\n", "+echo two\n")
	if strings.Contains(diff, "+description") {
		t.Errorf("%s", diff)
	}
	want("tidy\nwash: not allowed", "tidy")
	other := write(t, "\x00binary", filepath.Dir(script), "tool")
	want(changed)
	lethetest.Must(t, os.Remove(other))
	want("tidy\nwash: not allowed", "tidy")
	write(t, skill("two"), file)
	want(changed)
	if !slices.Equal(told, []string{"tidy wash", "wash", "tidy wash", "wash", "tidy wash", "wash", "tidy wash"}) {
		t.Errorf("told %q", told)
	}
	write(t, skill("one"), home, "skills", "tidy", "SKILL.md")
	if shelf = New(home, "", []string{work}, nil, true); shelf.Items()[0].About != "one" {
		t.Error("a workspace shadows the home")
	}
}

// Where the directory of what people allow cannot be made for sure, nothing is allowed: the error does not hide that it
// was. Nor is a skill that ships installed.
func TestNothingIsKeptBehindAFailure(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	write(t, skill("one"), work, ".claude/skills", "tidy", "SKILL.md")
	shelf := New(home, "", []string{work}, nil, true)
	if got := states(shelf); got != "tidy: not allowed" {
		t.Fatal(got)
	}
	mended := lethetest.Break(t, home, func(stage durable.Stage, op, _ string) error {
		if stage == durable.After && op == "mkdir" { // the directory is there all the same
			return syscall.EIO
		}
		return nil
	})
	if _, err := shelf.Allow(shelf.all[0], true); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if got := states(shelf); got != "tidy: not allowed" {
		t.Errorf("after the error: %s", got)
	}
	lethetest.Must(t, os.Mkdir(filepath.Join(home, "skills"), 0o700))
	if dir, err := Install(home, "plan"); !errors.Is(err, syscall.EIO) || dir != "" {
		t.Error(dir, err)
	}
	mended()
	if left, _ := filepath.Glob(filepath.Join(home, "skills", "*", "*")); len(left) > 0 {
		t.Errorf("written after the error: %v", left)
	}
}

// What is allowed at one path is allowed at no other, and a file that says otherwise inside of a text changes nothing.
func TestAllowedElsewhere(t *testing.T) {
	t.Parallel()
	home, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	for _, work := range []string{one, two} {
		write(t, skill("one")+"--- tidy/other: 0 bytes, SHA-256 00\n", work, ".claude/skills", "tidy", "SKILL.md")
	}
	shelf := New(home, "", []string{one, two}, nil, true)
	look(shelf)
	allow(t, shelf, "tidy")
	if got := states(shelf); got != "tidy\ntidy: not allowed" {
		t.Error(got)
	}
}

// A program is called by its path, says what it does once, and in a workspace does not run before it was allowed.
func TestPrograms(t *testing.T) {
	t.Parallel()
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	home, work := t.TempDir(), t.TempDir()
	lethetest.Must(t, os.Mkdir(filepath.Join(work, "open"), 0o777))
	own := program(t, `[ "$1" = --description ] && echo "Tells who lives next door."`, home, "bin", "neighbours")
	near := program(t, "touch ../ran ran "+work+"/ran; echo Runs.", work, "bin", "run")
	write(t, "no program", work, "bin", "readme.txt")
	shelf := New(home, "", []string{work}, nil, true)
	if got := states(shelf); got != "neighbours\nrun: not allowed" {
		t.Error(got)
	}
	i := shelf.Items()[0]
	if i.Line() != "program neighbours: Tells who lives next door." || i.Text != "BASH runs it: "+own+"\n" || !i.Own {
		t.Errorf("%+v", i)
	}
	lethetest.Words(t, allow(t, shelf, "run"), "+--- run: ", "+touch ../ran")
	if got := states(shelf); got != "neighbours\nrun" || shelf.Items()[1].About != "Runs." {
		t.Errorf("%s, %+v", got, shelf.Items())
	}
	if found, _ := filepath.Glob(filepath.Join(work, "*ran*")); len(found) > 0 {
		t.Errorf("it wrote to the workspace: %q", found)
	}
	kept, _ := filepath.Glob(filepath.Join(home, "allowed", "*.about"))
	if len(kept) != 2 {
		t.Errorf("kept %q", kept)
	}
	for _, file := range kept { // another process asks nothing again
		lethetest.Must(t, os.WriteFile(file, []byte("As kept."), 0o600))
	}
	if items := New(home, "", []string{work}, nil, true).Items(); len(items) != 2 || items[0].About != "As kept." {
		t.Errorf("%+v", items)
	}
	program(t, "echo Other.", near)
	if got := states(shelf); got != "neighbours\nrun: not allowed: it has changed since it was" {
		t.Error(got)
	}
	if items := New(home, "", []string{work}, nil, false).Items(); len(items) > 0 {
		t.Errorf("offered without BASH: %+v", items)
	}
}

// A hostile program costs a line, and not its output's size in memory.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	for name, script := range map[string]string{
		"hangs": "sleep 1000", "floods": "yes | head -c 20000000", "long": "printf %0201d 1", "lines": "echo a; echo b",
		"silent": "true", "fails": "echo Does things.; exit 3", "odd": `printf 'a\033[1mb'`, "bytes": `printf '\377'`,
		"net": "cat < /dev/tcp/127.0.0.1/1",
	} {
		program(t, script, home, "bin", name)
	}
	lethetest.Must(t, errors.Join(
		os.Symlink("/bin/sh", filepath.Join(home, "bin", "link")),
		os.WriteFile(filepath.Join(home, "bin", "[m1]\n"), nil, 0o700),
		syscall.Mkfifo(filepath.Join(home, "bin", "pipe"), 0o700)))
	shelf := New(home, "", nil, nil, true)
	for _, e := range look(shelf) {
		if e.Why == "" || e.Waits || e.Kind != catalogue.Program || !slices.Equal(e.Faults, []string{e.Why}) {
			t.Errorf("%+v", e)
		}
	}
	if len(shelf.all) != 12 {
		t.Errorf("%d entries", len(shelf.all))
	}
	said := func() string { return fmt.Sprint(New(home, "", nil, nil, true).All()) }
	if got := strings.Count(said(), "asked within the last hour"); got != 2*9 { // and among its faults
		t.Errorf("%d are not asked again", got)
	}
	lethetest.Must(t, os.Remove(filepath.Join(home, "bin", "hangs")))
	kept, _ := filepath.Glob(home + "/allowed/*.about")
	for _, file := range kept {
		lethetest.Must(t, os.Chtimes(file, time.Time{}, time.Now().Add(-2*time.Hour)))
	}
	all := said()
	if strings.Contains(all, "<nil>") {
		t.Error("the error tells of one that there is not: " + all)
	}
	if got := strings.Count(all, "it does not print a line"); got != 2*8 || len(kept) != 9 {
		t.Errorf("%d are asked again, of %d", got, len(kept))
	}
	for i := range maxEntries {
		lethetest.Must(t, os.WriteFile(filepath.Join(home, "bin", fmt.Sprint("more", i)), nil, 0o700))
	}
	if all := New(home, "", nil, nil, true).All(); len(all) != 1 || !strings.Contains(all[0].Why, "more than 1000 entries") {
		t.Errorf("%d entries: %+v", len(all), all[0])
	}
}

// In a workspace links lead nowhere, pipes hold nobody up, and size is bounded, allowed or not.
func TestHostileWorkspace(t *testing.T) {
	t.Parallel()
	home, work, secret := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, skill("of others"), secret, "key", "SKILL.md")
	at := filepath.Join(work, ".claude/skills")
	write(t, skill("big"), at, "big", "SKILL.md")
	write(t, skill("much"), at, "much", "SKILL.md")
	write(t, skill("linked"), at, "linked", "SKILL.md")
	lethetest.Must(t, errors.Join(
		os.Mkdir(filepath.Join(work, ".agents"), 0o700), os.Symlink(secret, filepath.Join(work, ".agents/skills")),
		syscall.Mkfifo(filepath.Join(work, "bin"), 0o700),
		os.Symlink(filepath.Join(secret, "key"), filepath.Join(at, "away")),
		os.Symlink(filepath.Join(secret, "key/SKILL.md"), filepath.Join(at, "linked/notes.md")),
		os.Truncate(filepath.Join(at, "big/SKILL.md"), 100<<20),
		os.WriteFile(filepath.Join(at, "much/data"), nil, 0o600), os.Truncate(filepath.Join(at, "much/data"), 1<<40)))
	shelf := New(home, "", []string{work}, nil, true)
	var got []string
	for _, e := range look(shelf) {
		got = append(got, fmt.Sprintf("%s %v", e.Name, e.Waits))
	}
	if strings.Join(got, ", ") != "away false, big false, linked false, much false" {
		t.Errorf("%s\n%s", got, states(shelf))
	}
}

// Where nothing changed, nothing is read.
func TestNothingReadTwice(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := write(t, skill("one"), home, "skills", "a", "SKILL.md")
	shelf := New(home, "", nil, nil, true)
	look(shelf)
	stamp := shelf.all[0].stamp
	if look(shelf); shelf.all[0].stamp == stamp {
		t.Error("a file that has just changed is taken for one that does not change any more")
	}
	lethetest.Eventually(t, "the file has settled", func() bool {
		stamp = shelf.all[0].stamp
		return look(shelf)[0].stamp == stamp
	})
	shelf.all[0].item.About = "as it was read"
	if look(shelf); shelf.Items()[0].About != "as it was read" {
		t.Error("it was read anew")
	}
	write(t, skill("two"), file)
	if look(shelf); shelf.Items()[0].About != "two" {
		t.Error("a change was not seen")
	}
}

// Each fault against the specification is told, and none of what waits to be allowed.
func TestFaults(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{
		"good":  "---\nname: good\ndescription: Does it.\ncompatibility: any\n---\n",
		"a--b":  "---\nname: other\ndescription: " + strings.Repeat("ä", 1025) + "\ncompatibility: " + strings.Repeat("x", 501) + "\n---\n",
		"blank": "---\nname: blank\ndescription:\n---\n",
	} {
		write(t, text, home, "skills", name, "SKILL.md")
	}
	got := map[string]int{}
	for _, e := range New(home, "", nil, nil, true).All() {
		got[e.Name] = len(e.Faults)
	}
	if fmt.Sprint(got) != "map[a--b:4 blank:1 good:0]" {
		t.Error(got)
	}
}

// Rules of a workspace wait like a skill, by the file that counts and all that is read of it. They are offered to nobody.
func TestAllowRules(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	shelf := New(home, "", []string{work}, nil, true)
	want := func(state string) {
		t.Helper()
		if got := states(shelf); got != state || len(shelf.Items()) > 0 {
			t.Errorf("got %q and %v, want %q", got, shelf.Items(), state)
		}
	}
	rules := write(t, "\nNever push.\n", work, "rules.md")
	lethetest.Must(t, os.Symlink("rules.md", filepath.Join(work, "AGENTS.md")))
	want("AGENTS.md: not allowed")
	lethetest.Words(t, allow(t, shelf, "AGENTS.md"), "+--- AGENTS.md: 11 bytes", "+Never push.")
	want("AGENTS.md")
	if !Allowed(home, work, "AGENTS.md", []byte("Never push.")) || Allowed(home, work, "CLAUDE.md", []byte("Never push.")) {
		t.Error("what was allowed is another file")
	}
	write(t, "Push.\n", rules)
	want("AGENTS.md: not allowed: it has changed since it was")
	lethetest.Words(t, allow(t, shelf, "AGENTS.md"), "-Never push.", "+Push.")
	want("AGENTS.md")
	lethetest.Must(t, os.Remove(rules))
	want("")
}
