//go:build unix

// Package deploy_test holds the files in this directory against each other and
// against the program.
package deploy_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lethe/cmd/lab/bench"
	"lethe/internal/test/lethetest"
)

var units = []string{"lethe.service", "lethe-telegram.service", "user/lethe.service", "without-telegram.conf"}

// program is where everything here expects the binary.
const program = "/usr/local/bin/lethe"

// lethe is the path of the program, built from this tree.
var lethe string

func TestMain(m *testing.M) {
	bench.Main()
	dir, err := os.MkdirTemp("", "lethe-deploy")
	if err != nil {
		panic(err)
	}
	lethe = filepath.Join(dir, "lethe")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", lethe, "lethe/cmd/lethe").CombinedOutput()
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	lethetest.Must(t, err)
	return string(data)
}

// values are those of a setting of a unit, in order.
func values(t *testing.T, file, key string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(read(t, file), -1) {
		all = append(all, m[1])
	}
	return all
}

// exists checks that the program takes a call: asked for help it refuses commands and flags
// that it does not have.
func exists(t *testing.T, where string, args []string) {
	t.Helper()
	if out, err := exec.Command(lethe, append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%s: lethe %s: %v\n%s", where, strings.Join(args, " "), err, out)
	}
}

// The program is built from files that this test alone shows to go test, which would take a result from before a change.
func TestBuiltFromTheTree(t *testing.T) {
	for _, dir := range []string{"agent", "blobs", "bridge", "chat", "cmd", "compactor", "internal", "life", "mind"} {
		lethetest.Must(t, filepath.WalkDir(filepath.Join(lethetest.Root(t), dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return err
		}))
	}
}

// A bridge waits for another host; a daemon does not wait for an identity that another one has.
func TestUnits(t *testing.T) {
	final := []string{"2 3 5 6 7 8", "2 3 5 6 7", "2 3 5 6 7 8"}
	for i, file := range units {
		start := values(t, file, "ExecStart")
		if i == 3 { // a drop-in has to clear the list first
			start = slices.DeleteFunc(start, func(s string) bool { return s == "" && len(start) == 2 })
		} else if got := values(t, file, "RestartPreventExitStatus"); !slices.Equal(got, []string{final[i]}) {
			t.Errorf("%s: RestartPreventExitStatus=%q, and not the codes that another start cannot mend", file, got)
		}
		words := strings.Fields(strings.Join(start, " "))
		if len(start) != 1 || len(words) < 2 || words[0] != program {
			t.Fatalf("%s: ExecStart=%q", file, start)
		}
		exists(t, file, words[1:])
	}
	for _, file := range []string{"lethe.service", "user/lethe.service"} {
		bound, policy := values(t, file, "MemoryMax"), values(t, file, "OOMPolicy")
		if !slices.Equal(bound, []string{"80%"}) || !slices.Equal(policy, []string{"continue"}) {
			t.Errorf("%s: MemoryMax=%q, OOMPolicy=%q: a command that takes all memory ends more than itself", file, bound, policy)
		}
	}
	if slices.Contains(values(t, "lethe-telegram.service", "EnvironmentFile"), "-/etc/lethe/lethe.env") {
		t.Error("the bridge gets the model's key")
	}
}

// The check of the store is a call that there is, and its timer starts it.
func TestCheckUnit(t *testing.T) {
	start := strings.Fields(strings.Join(values(t, "lethe-check.service", "ExecStart"), " "))
	if len(start) != 3 || start[0] != program {
		t.Fatalf("ExecStart=%q", start)
	}
	exists(t, "lethe-check.service", start[1:])
	if got := values(t, "lethe-check.timer", "OnCalendar"); !slices.Equal(got, []string{"weekly"}) {
		t.Errorf("OnCalendar=%q", got)
	}
}

func TestSystemdTakesTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	for _, file := range units[:3] {
		for _, dropIn := range []bool{false, true} {
			dir := t.TempDir()
			unit := filepath.Join(dir, filepath.Base(file))
			put := func(path, from string) {
				text := strings.ReplaceAll(read(t, from), program, lethe) // it has to be there
				lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				lethetest.Must(t, os.WriteFile(path, []byte(text), 0o644))
			}
			put(unit, file)
			if dropIn {
				put(unit+".d/without-telegram.conf", "without-telegram.conf")
			}
			args := []string{"verify", unit}
			if strings.HasPrefix(file, "user/") {
				args = append([]string{"--user"}, args...)
			}
			cmd := exec.Command(analyze, args...)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "initialize manager") || strings.Contains(string(out), "not been booted") {
				t.Skipf("systemd-analyze does not work here: %s", out)
			}
			if err != nil || strings.Contains(string(out), unit) { // what it warns of names the file
				t.Errorf("%s (with the drop-in: %v): %v\n%s", file, dropIn, err, out)
			}
		}
	}
}

// The Containerfile's build line builds the program without cgo, and what the
// container runs is there. The build itself takes minutes and is only listed.
func TestContainerfile(t *testing.T) {
	text := strings.ReplaceAll(read(t, "Containerfile"), "\\\n", " ")
	build := regexp.MustCompile(`(?m)^RUN (.* go build .* -o /out/lethe \./cmd/lethe)$`).FindStringSubmatch(text)
	if build == nil {
		t.Fatal("no RUN line builds the program")
	}
	cmd := exec.Command("sh", "-ec", strings.Replace(build[1], " go build ", " go build -n ", 1))
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "/out/lethe") {
		t.Errorf("%s: %v\n%.2000s", build[0], err, out)
	}
	calls := regexp.MustCompile(`(?m)^(?:HEALTHCHECK .* )?CMD \[(.*)\]$`).FindAllStringSubmatch(text, -1)
	if len(calls) != 2 {
		t.Fatalf("the Containerfile runs %q", calls)
	}
	for _, m := range calls {
		args := strings.Fields(strings.NewReplacer(`"`, "", ",", " ", program, "").Replace(m[1]))
		exists(t, m[0], args)
	}
}

// commands are the lines of the README's shell blocks, continued lines joined and
// comments cut off.
func commands(t *testing.T) (all []string) {
	t.Helper()
	text := strings.ReplaceAll(read(t, "README.md"), "\\\n", " ")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "    #")
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(all) < 20 {
		t.Fatalf("the README has %d commands", len(all))
	}
	return all
}

var (
	// callOf finds the program in a command: as a user, in a container, bare, or in running text.
	callOf  = regexp.MustCompile("^(?:sudo -u lethe lethe|podman exec(?: -it)? lethe lethe|lethe) (.*)$")
	ourFile = regexp.MustCompile(`\bdeploy/\S+`)
)

func TestReadmeCommands(t *testing.T) {
	calls := 0
	for _, line := range commands(t) {
		if m := callOf.FindStringSubmatch(line); m != nil {
			calls++
			exists(t, "README", strings.Fields(m[1]))
		}
		for _, file := range ourFile.FindAllString(line, -1) {
			_, err := os.Stat(filepath.Join("..", file))
			lethetest.Must(t, err)
		}
		if err := exec.Command("sh", "-nc", line).Run(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if calls < 6 {
		t.Errorf("only %d calls of the program were found", calls)
	}
	for _, inline := range regexp.MustCompile("`lethe ([a-z][^`]*)`").FindAllStringSubmatch(read(t, "README.md"), -1) {
		exists(t, "README", strings.Fields(inline[1]))
	}
}

// The README's commands for a backup of a running home make a home that lives on,
// and knows what was said before.
func TestBackupWhileItRuns(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("tar is not here")
	}
	home, backup := filepath.Join(t.TempDir(), "home"), t.TempDir()
	daemon := func(home string, args ...string) (kill func()) {
		cmd := exec.Command(lethe, append([]string{"--home", home, "run", "--offline"}, args...)...)
		out, err := cmd.StdoutPipe()
		lethetest.Must(t, err)
		lethetest.Must(t, cmd.Start())
		kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		t.Cleanup(kill)
		if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "ready ") {
			t.Fatalf("the daemon says %q, %v", line, err)
		}
		return kill
	}
	ask := func(home, text string) string {
		cmd := exec.Command(lethe, "--home", home, "chat", "--once", "--timeout", "60s")
		cmd.Stdin = strings.NewReader(text + "\n")
		out, err := cmd.CombinedOutput()
		lethetest.Must(t, err)
		return string(out)
	}
	kill := daemon(home, "--name", "ada")
	ask(home, "remember that the deploy key is in vault 7")
	talk := exec.Command("sh", "-c", fmt.Sprintf("while :; do '%s' --home '%s' say dev hello; done", lethe, home)) // meanwhile
	lethetest.Must(t, talk.Start())
	copied := 0
	for _, line := range commands(t) {
		if !strings.Contains(line, "| sudo tar ") {
			continue
		}
		copied++
		line = strings.NewReplacer("sudo ", "", "/var/lib/lethe", home, "/backup/lethe", backup).Replace(line)
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	_ = talk.Process.Kill()
	_ = talk.Wait()
	kill()
	if copied != 2 {
		t.Fatalf("the README copies with %d commands", copied)
	}
	daemon(backup, "ada")
	if answer := ask(backup, "what did I say about the deploy key?"); !strings.Contains(answer, "vault 7") {
		t.Errorf("the copy answers %q", answer)
	}
}
