// Package sandbox runs shell commands and programs: below a supervisor that leaves none of
// their processes alive, and confined: on Linux by Landlock and seccomp, or by bubblewrap where the kernel's Landlock
// is too old, on macOS by Seatbelt.
//
//	func main() {
//		sandbox.Main() // first thing: a command is started by running this binary again
//		…
//		outcome, err := sandbox.Run(ctx, sandbox.Command{Line: "make", Dir: dir, Private: private, Confine: true}, out)
//	}
//
// What holds:
//
//   - When Run has returned, nothing that the command started is alive, unless the
//     error is ErrStuck; nor is anything once this process was killed.
//   - A command inherits neither environment nor open files of this process, and
//     cannot read its memory: see HideEnvironment. It gains no privileges.
//   - A confined command writes only to Command.Write and its private HOME and
//     TMPDIR. It reads the system's directories and these, but nothing of
//     Command.Hide or the user's home. It reaches no local socket, no shared
//     memory and no process but its own. The network is open to it, unless it is Offline.
package sandbox

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Command is a command and what it may do.
type Command struct {
	Line    string   // what the shell runs
	Dir     string   // where it starts
	Private string   // holds its HOME and TMPDIR, "home" and "tmp", which must exist; "" names it the user's
	Confine bool     // without it, the command may do whatever this user can
	Write   []string // directories that a confined command may change, besides Private's
	Hide    []string // directories and files that a confined command may not read, wherever they are
	Read    []string // directories and files that it may read and execute all the same

	Args    []string  // a program, looked up in PATH, and its arguments: runs in the place of a shell with Line
	Env     []string  // more variables, KEY=VALUE
	Input   io.Reader `json:"-"` // default: empty. It has to end, or Run leaves a goroutine that reads it
	Errors  io.Writer `json:"-"` // takes standard error; default: it goes with the output
	Offline bool      // the command reaches no network, not even this machine's own
	Memory  int64     // bytes of data that each of its processes may have, on Linux; 0 sets no bound

	by string // what confines it; default: what Confiner names
}

// What confines commands.
const (
	Landlock   = "Landlock"
	Bubblewrap = "bubblewrap"
	Seatbelt   = "Seatbelt"
)

// Available returns nil if commands can be confined here, or says what is missing and what to do.
func Available() error {
	_, err := Confiner()
	return err
}

// Outcome is how a command ended.
type Outcome struct {
	Exit   int    `json:"exit"`             // 128 and more after a signal
	Signal int    `json:"signal,omitempty"` // that killed it
	Failed string `json:"failed,omitempty"` // why it was not started
}

// WorkerArg, as the first argument, makes this program a process of Worker, with what the second one names.
const WorkerArg = "lethe-worker"

// Worker is what such a process does; it returns the exit code. Package worker sets it.
var Worker func(name string) int

// beWorker takes over the process when it was started as a worker, and then does not return.
func beWorker() {
	if len(os.Args) == 3 && os.Args[1] == WorkerArg && Worker != nil {
		os.Exit(Worker(os.Args[2]))
	}
}

// ErrStuck says that the kernel still holds some of a command's processes. They
// are killed as soon as it lets go of them.
var ErrStuck = errors.New("some of what it started takes long to die; killing it goes on")

const wayOut = `The person who runs this agent can allow unconfined ones with tools.bash = "trusted" in config.toml; ` +
	`file tools work without`

// order is all that the helper processes are told. It travels as JSON.
type order struct {
	Command
	Shell    string   // absolute path
	Env      []string // all of its environment
	UserHome string   // see hidden
	By       string   // what confines it

	HasInput, HasErrors bool
}

func (c Command) order() (order, error) {
	shell, err := findShell()
	if err != nil {
		return order{}, err
	}
	user, _ := os.UserHomeDir()
	home, tmp := user, os.TempDir()
	if c.Private != "" {
		home, tmp = filepath.Join(c.Private, "home"), filepath.Join(c.Private, "tmp")
		c.Write = append([]string{home, tmp}, c.Write...)
	}
	o := order{
		Command: c, Shell: shell, Env: append(environment(home, tmp), c.Env...),
		UserHome: user, HasInput: c.Input != nil, HasErrors: c.Errors != nil, By: c.by,
	}
	if c.Confine && o.By == "" {
		o.By, err = Confiner()
	}
	if real, err := filepath.EvalSymlinks(o.UserHome); err == nil {
		o.UserHome = real
	}
	return o, err
}

// hidden are the paths of which a confined command may read nothing but what is granted below them. Some service users
// have / or /usr for a home: hiding that would leave no shell to run.
func (o order) hidden(system []string) []string {
	inHome := func(dir string) bool { return Within(dir, o.UserHome) }
	if o.UserHome == "" || slices.ContainsFunc(system, inHome) {
		return o.Hide
	}
	return append(slices.Clone(o.Hide), o.UserHome)
}

// environment is all that a command inherits. Nothing of this process's is passed
// on but where programs are, the language and the time zone.
func environment(home, tmp string) []string {
	env := []string{
		"HOME=" + home, "TMPDIR=" + tmp, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1",
		"PATH=" + cmp.Or(os.Getenv("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		"LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
	}
	if tz := os.Getenv("TZ"); tz != "" {
		env = append(env, "TZ="+tz)
	}
	return env
}

func findShell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			return filepath.Abs(p)
		}
	}
	return "", errors.New("find a shell: there is neither bash nor sh in the PATH of the program; commands " +
		"cannot run here")
}

func endOf(ws syscall.WaitStatus) Outcome {
	if ws.Signaled() {
		return Outcome{Exit: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Outcome{Exit: ws.ExitStatus()}
}

// Within reports whether path is dir or lies under it. Both are clean and absolute.
func Within(path, dir string) bool {
	return strings.HasPrefix(path+"/", strings.TrimSuffix(dir, "/")+"/")
}
