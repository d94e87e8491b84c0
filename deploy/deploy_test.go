//go:build unix

// Package deploy_test holds the files in this directory against each other and
// against the program.
package deploy_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var units = []string{"lethe.service", "lethe-telegram.service", "user/lethe.service", "without-telegram.conf"}

// program is where everything here expects the binary.
const program = "/usr/local/bin/lethe"

// lethe is the path of the program, built from this tree.
var lethe string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lethe-deploy")
	if err != nil {
		panic(err)
	}
	lethe = filepath.Join(dir, "lethe")
	build := exec.Command("go", "build", "-o", lethe, "lethe/cmd/lethe")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// settings reads a unit: section and key, and the values in order. An empty value
// ends those before it.
func settings(t *testing.T, file string) map[string][]string {
	t.Helper()
	all, section := map[string][]string{}, ""
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
		case !ok || strings.HasSuffix(line, "\\") || section == "":
			t.Fatalf("%s: %q is not a setting", file, line)
		case value == "":
			all[section+"."+key] = []string{""}
		default:
			all[section+"."+key] = append(all[section+"."+key], value)
		}
	}
	return all
}

// helpOf is what the program prints about a subcommand. The words of args that are
// no flags name it; of these, those after its name are arguments.
func helpOf(t *testing.T, args []string) (command, help string) {
	t.Helper()
	out, err := exec.Command(lethe, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("lethe %s --help: %v\n%s", strings.Join(args, " "), err, out)
	}
	_, usage, _ := strings.Cut(string(out), "Usage:\n")
	usage, _, _ = strings.Cut(strings.TrimSpace(usage), "\n")
	return strings.Join(regexp.MustCompile(`^lethe( [a-z]+)*`).FindAllString(usage, 1), ""), string(out)
}

// exists checks a call of the program against its help: the subcommand is there, and
// it has the flags. It returns the subcommand.
func exists(t *testing.T, where string, args []string) string {
	t.Helper()
	command, help := helpOf(t, args)
	// What follows the subcommand, up to the next flag, is its arguments.
	var words []string
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") {
			name, _, _ := strings.Cut(arg, "=")
			if !regexp.MustCompile(`(?m)^ +(-\w, )?` + name + `\b|^ +` + name + `, --`).MatchString(help) {
				t.Errorf("%s: lethe %s: it has no flag %s", where, strings.Join(args, " "), name)
			}
		} else if i == 0 || !strings.HasPrefix(args[i-1], "--") {
			words = append(words, arg)
		}
	}
	named := strings.Fields(command)[1:]
	if len(words) < len(named) || !slices.Equal(words[:len(named)], named) {
		t.Errorf("%s: lethe %s is taken for %s", where, strings.Join(args, " "), command)
	}
	for _, rest := range words[min(len(named), len(words)):] {
		if rest != strings.ToUpper(rest) { // CODE and the like stand for arguments
			t.Errorf("%s: lethe %s: %s has no subcommand %s", where, strings.Join(args, " "), command, rest)
		}
	}
	return command
}

func TestUnitsCallWhatThereIs(t *testing.T) {
	for _, file := range units {
		exec := settings(t, file)["Service.ExecStart"]
		if len(exec) == 2 && exec[0] == "" { // a drop-in has to clear the list first
			exec = exec[1:]
		} else if strings.HasSuffix(file, ".conf") {
			t.Errorf("%s adds a second ExecStart", file)
		}
		words := strings.Fields(strings.Join(exec, " "))
		if len(exec) != 1 || len(words) < 2 || words[0] != program {
			t.Fatalf("%s: ExecStart=%q", file, exec)
		}
		exists(t, file, words[1:])
	}
}

func TestUnitsKeepPromises(t *testing.T) {
	for _, file := range units[:3] {
		// The exit codes that another start cannot mend.
		if got := settings(t, file)["Service.RestartPreventExitStatus"]; !slices.Equal(got, []string{"2 3 5 6"}) {
			t.Errorf("%s: RestartPreventExitStatus=%q", file, got)
		}
	}
	if slices.Contains(settings(t, "lethe-telegram.service")["Service.EnvironmentFile"], "-/etc/lethe/lethe.env") {
		t.Error("the bridge gets the model's key")
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
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
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
	for _, do := range []string{"CMD", "HEALTHCHECK .* CMD"} {
		m := regexp.MustCompile(`(?m)^` + do + ` \[(.*)\]$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the Containerfile has no %s", do)
		}
		args := strings.Fields(strings.NewReplacer(`"`, "", ",", " ").Replace(m[1]))
		exists(t, do, slices.DeleteFunc(args, func(a string) bool { return a == program }))
	}
}

// commands are the lines of the README's shell blocks, continued lines joined and
// comments cut off.
func commands(t *testing.T) (all []string) {
	t.Helper()
	inside := false
	text := strings.ReplaceAll(read(t, "README.md"), "\\\n", " ")
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "    #")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside && line == "```sh"
		case inside && strings.TrimSpace(line) != "":
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(all) < 20 {
		t.Fatalf("the README has %d commands", len(all))
	}
	return all
}

var (
	// callOf finds the program in a command: as a user, in a container, or bare.
	callOf  = regexp.MustCompile(`^(?:sudo -u lethe lethe|podman exec(?: -it)? lethe lethe|lethe) (.*)$`)
	ourFile = regexp.MustCompile(`\bdeploy/\S+`)
)

func TestReadmeCommands(t *testing.T) {
	all := commands(t)
	calls := 0
	for _, line := range all {
		if m := callOf.FindStringSubmatch(line); m != nil {
			calls++
			exists(t, "README", strings.Fields(m[1]))
		}
		for _, file := range ourFile.FindAllString(line, -1) {
			if _, err := os.Stat(filepath.Join("..", file)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
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
