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
	want := map[string][]string{
		"lethe.service":          {"run", "--with", "telegram"},
		"lethe-telegram.service": {"bridge", "telegram"},
		"user/lethe.service":     {"run", "--with", "telegram"},
		"without-telegram.conf":  {"run"},
	}
	for _, file := range units {
		exec := settings(t, file)["Service.ExecStart"]
		if len(exec) == 2 && exec[0] == "" { // a drop-in has to clear the list first
			exec = exec[1:]
		} else if strings.HasSuffix(file, ".conf") {
			t.Errorf("%s adds a second ExecStart", file)
		}
		words := strings.Fields(strings.Join(exec, " "))
		if len(exec) != 1 || len(words) < 2 || words[0] != program || !slices.Equal(words[1:], want[file]) {
			t.Fatalf("%s: ExecStart=%q", file, exec)
		}
		exists(t, file, words[1:])
	}
}

// The units agree with each other and with what the program promises: its exit
// codes, its time to stop, and where it keeps things.
func TestUnitsKeepPromises(t *testing.T) {
	for _, file := range units[:3] {
		s := settings(t, file)
		for key, want := range map[string]string{
			"Restart": "on-failure", "RestartPreventExitStatus": "2 3 5 6", "TimeoutStopSec": "10s", "NoNewPrivileges": "yes",
		} {
			if got := strings.Join(s["Service."+key], " "); got != want {
				t.Errorf("%s: %s=%s, want %s", file, key, got, want)
			}
		}
		if strings.HasSuffix(file, "/lethe.service") || file == "lethe.service" {
			if s["Service.KillMode"][0] != "mixed" || s["Service.OOMPolicy"][0] != "continue" {
				t.Errorf("%s: commands of agents are not left to the daemon", file)
			}
			for _, never := range []string{"ProtectProc", "ProcSubset", "MemoryDenyWriteExecute"} {
				if _, set := s["Service."+never]; set {
					t.Errorf("%s sets %s, which breaks commands or their end", file, never)
				}
			}
		}
		for _, env := range s["Service.EnvironmentFile"] {
			if !strings.HasPrefix(env, "-") { // without it the program itself says what is missing, once
				t.Errorf("%s: a missing %s is tried again for ever", file, env)
			}
		}
	}
	for _, file := range units[:2] {
		s := settings(t, file)
		for key, want := range map[string]string{
			"Environment": "LETHE_HOME=/var/lib/lethe", "StateDirectory": "lethe", "StateDirectoryMode": "0700", "UMask": "0077",
			"WorkingDirectory": "/var/lib/lethe", "User": "lethe", "Group": "lethe", "ProtectSystem": "strict", "CapabilityBoundingSet": "",
		} {
			if got, set := s["Service."+key]; !set || strings.Join(got, " ") != want {
				t.Errorf("%s: %s=%s, want %s", file, key, got, want)
			}
		}
	}
	if slices.Contains(settings(t, "lethe-telegram.service")["Service.EnvironmentFile"], "-/etc/lethe/lethe.env") {
		t.Error("the bridge gets the model's key")
	}
	if env := settings(t, "without-telegram.conf")["Service.EnvironmentFile"]; !slices.Equal(env, []string{"", "-%E/lethe/lethe.env"}) {
		t.Errorf("without Telegram the daemon gets %q", env)
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

// stage is an instruction of the Containerfile in its stage, lines joined.
type stage struct{ name, do, args string }

func containerfile(t *testing.T) (all []stage) {
	t.Helper()
	name := ""
	text := strings.ReplaceAll(read(t, "Containerfile"), "\\\n", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		do, args, _ := strings.Cut(line, " ")
		if do == "FROM" {
			_, name, _ = strings.Cut(args, " AS ")
		}
		all = append(all, stage{name, do, args})
	}
	return all
}

func argsOf(t *testing.T, of []stage, name, do string) (all []string) {
	t.Helper()
	for _, s := range of {
		if s.name == name && s.do == do {
			all = append(all, s.args)
		}
	}
	if len(all) == 0 {
		t.Fatalf("the Containerfile has no %s in stage %q", do, name)
	}
	return all
}

// words reads the JSON form of an instruction.
func words(s string) (list []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(s, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestContainerfile(t *testing.T) {
	all := containerfile(t)
	if got := words(argsOf(t, all, "", "ENTRYPOINT")[0]); !slices.Equal(got, []string{program}) {
		t.Errorf("ENTRYPOINT is %q", got)
	}
	exists(t, "CMD", words(argsOf(t, all, "", "CMD")[0]))
	health := words(argsOf(t, all, "", "HEALTHCHECK")[0])
	if health[0] != program || exists(t, "HEALTHCHECK", health[1:]) != "lethe bridges" {
		t.Errorf("HEALTHCHECK is %q", health)
	}
	if user := argsOf(t, all, "", "USER")[0]; user != "lethe" {
		t.Errorf("it runs as %s", user)
	}
	home := argsOf(t, all, "", "VOLUME")[0]
	if home != "/var/lib/lethe" || argsOf(t, all, "", "ENV")[0] != "LETHE_HOME="+home || argsOf(t, all, "", "WORKDIR")[0] != home {
		t.Errorf("the volume is %s, and the home another", home)
	}
	if copied := argsOf(t, all, "", "COPY")[0]; copied != "--from=build /out/lethe "+program {
		t.Errorf("COPY %s", copied)
	}
	// The version of Go that is fetched is one that builds this module.
	from := regexp.MustCompile(`golang:(\d+\.\d+) AS build`).FindStringSubmatch(argsOf(t, all, "build", "FROM")[0])
	if from == nil || !regexp.MustCompile(`(?m)^go `+regexp.QuoteMeta(from[1])+`(\.\d+)?$`).MatchString(read(t, "../go.mod")) {
		t.Errorf("it is built with %v, and go.mod says otherwise", from)
	}
}

// The build line of the Containerfile holds: its flags, the package, and that nothing
// in it needs cgo. It is not carried out: nothing of what TestMain built can be used
// for it, and it takes minutes.
func TestContainerBuild(t *testing.T) {
	run := argsOf(t, containerfile(t), "build", "RUN")
	line := run[len(run)-1]
	if !strings.Contains(line, " go build ") || !strings.HasSuffix(line, " -o /out/lethe ./cmd/lethe") {
		t.Fatalf("RUN %s", line)
	}
	cmd := exec.Command("sh", "-ec", strings.Replace(line, " go build ", " go build -n ", 1))
	cmd.Dir = ".."
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "/out/lethe") {
		t.Fatalf("RUN %s: %v\n%.2000s", line, err, text)
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
	envFile = regexp.MustCompile(`(~|/etc)\S*\.env\b`)
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
	text := strings.Join(all, "\n")
	for _, needed := range []string{
		"install -m 0755 lethe " + program, "--home-dir /var/lib/lethe ", "--volume lethe:/var/lib/lethe ", "podman build -f deploy/Containerfile ",
		"deploy/lethe.service /etc/systemd/system/", "deploy/user/lethe.service ~/.config/systemd/user/lethe.service",
		"deploy/lethe-telegram.service /etc/systemd/system/",
	} {
		if !strings.Contains(text, needed) {
			t.Errorf("no command has %q", needed)
		}
	}
}

// The README makes exactly the environment files that the units read, closed to
// others.
func TestReadmeMakesTheEnvironmentFiles(t *testing.T) {
	made, wanted := map[string]bool{}, map[string]bool{}
	for _, line := range commands(t) {
		if strings.Contains(line, " -m 0600 /dev/null ") {
			made[envFile.FindString(line)] = true
		}
	}
	for _, file := range units {
		for _, env := range settings(t, file)["Service.EnvironmentFile"] {
			env = strings.TrimPrefix(env, "-")
			if etc, ok := strings.CutPrefix(env, "%E"); ok {
				wanted["/etc"+etc], wanted["~/.config"+etc] = true, true
			} else if env != "" {
				wanted[strings.Replace(env, "%h", "~", 1)] = true
			}
		}
	}
	delete(made, "") // the container's, in no fixed place
	if fmt.Sprint(made) != fmt.Sprint(wanted) {
		t.Errorf("made: %v\nread: %v", made, wanted)
	}
}
