// Package sandbox runs shell commands and programs. A supervisor kills all processes that they leave. Landlock and
// seccomp confine them on Linux, or bubblewrap if the kernel's Landlock is too old; Seatbelt does on macOS.
//
//	func main() {
//		sandbox.Main() // first thing: a worker is this binary, run again
//		…
//		outcome, err := sandbox.Run(ctx, sandbox.Command{Line: "make", Dir: dir, Private: private, Confine: true}, out)
//	}
//
// Guarantees:
//
//   - When Run has returned, nothing that the command started is alive, unless the
//     error is ErrStuck. The same holds once this process was killed.
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

// Command is a command and its permissions.
type Command struct {
	Line    string   // the command line for the shell
	Dir     string   // its working directory
	Private string   // a directory with "home" and "tmp", its HOME and TMPDIR; "" gives it the user's own
	Confine bool     // without it, the command may do everything that this user may
	Write   []string // directories that a confined command may change, besides its HOME and TMPDIR
	Hide    []string // directories and files that a confined command may not read, wherever they are
	Exact   bool     // the paths of Write are files, too, that others may exchange meanwhile, and hold no link
	Read    []string // directories and files that it may read and execute even below Hide

	Args []string // a program, looked up in PATH, and its arguments; if set, it runs and Line does not
	Env  []string // more variables, KEY=VALUE
	// Through is a program that runs the script in its last argument elsewhere, as ssh does: Line, in Dir. What is killed
	// there dies a moment after Run has returned.
	Through []string  `json:"-"`
	Fed     string    `json:"-"` // what Line gets there as its input
	Input   io.Reader `json:"-"` // nil: empty. It has to end, or Run leaves a goroutine that reads it
	Errors  io.Writer `json:"-"` // takes standard error; nil: out takes it
	Offline bool      // the command reaches no network, not even this machine's own
	Memory  int64     // most bytes of data for each of its processes, on Linux; 0: no bound

	by string // the confiner; "": Confiner chooses it
}

// The confiners: mechanisms that confine commands.
const (
	Landlock   = "Landlock"
	Bubblewrap = "bubblewrap"
	Seatbelt   = "Seatbelt"
)

// Available returns nil if this system can confine commands. Its error names the missing part and the remedy.
func Available() error {
	_, err := Confiner()
	return err
}

// Outcome is the end of a command.
type Outcome struct {
	Exit   int    `json:"exit"`             // the exit code; 128 plus the signal's number if a signal killed it
	Signal int    `json:"signal,omitempty"` // the signal that killed it, or 0
	Failed string `json:"failed,omitempty"` // the reason if it was not started, else ""
}

// WorkerArg, as the first argument, makes this program call Worker with its second argument.
const WorkerArg = "lethe-worker"

// Worker is the main function of a worker process; it returns the exit code. Package worker sets it.
var Worker func(name string) int

// Head keeps the first bytes that a command writes.
type Head struct {
	Kept []byte
	Most int
	Full func() // called when a write exceeds Most; may be nil
}

func (h *Head) Write(data []byte) (int, error) {
	kept := data[:min(len(data), h.Most-len(h.Kept))]
	h.Kept = append(h.Kept, kept...)
	if len(kept) < len(data) && h.Full != nil {
		h.Full()
	}
	return len(data), nil
}

// Main takes over the process when it was started as a worker, and then does not return. Call it first in main, and in
// TestMain of tests that start workers. (Helpers take over before main.)
func Main() {
	asked := len(os.Args) == 3 && os.Args[1] == WorkerArg
	if asked && Worker != nil {
		os.Exit(Worker(os.Args[2]))
	}
}

// ErrStuck is the error of Run if the kernel still holds some of a command's processes.
// The supervisor goes on killing them until it lets them go.
var ErrStuck = errors.New("some of what it started takes long to die; killing it goes on")

const wayOut = `The person who runs this agent can allow unconfined ones with tools.bash = "trusted" in config.toml; ` +
	`file tools work without`

// order is the message to the helper process, in JSON.
type order struct {
	Command
	Shell    string   // absolute path
	Env      []string // the command's whole environment; hides Command.Env
	UserHome string   // see hidden
	By       string   // the confiner
	Files    syscall.Rlimit

	domain   int      // a Landlock ruleset
	readable []string // paths that it lets the command read, with all below them
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
	all := order{
		Command: c, Shell: shell, Env: append(environment(home, tmp), c.Env...),
		UserHome: user, By: c.by,
	}
	if c.Confine && all.By == "" {
		all.By, err = Confiner()
	}
	if real, err := filepath.EvalSymlinks(all.UserHome); err == nil {
		all.UserHome = real
	}
	return all, err
}

// hidden returns the paths that a confined command may not read, except for the paths in Read and Write below them. It
// leaves out a user's home that contains one of the system's directories: some service users have / or /usr for a
// home, and hiding that would leave no shell to run.
func (o order) hidden(system []string) []string {
	inHome := func(dir string) bool { return Within(dir, o.UserHome) }
	if o.UserHome == "" || slices.ContainsFunc(system, inHome) {
		return o.Hide
	}
	return append(slices.Clone(o.Hide), o.UserHome)
}

// OfSystem reports whether a path is below a directory of the system, which a confined command may read unless a user
// has made it their home.
func OfSystem(path string) bool {
	user, _ := os.UserHomeDir()
	isPersonal := user != "" && Within(path, user)
	return !isPersonal && slices.ContainsFunc(readableDirs, func(dir string) bool { return Within(path, dir) })
}

// environment returns the variables that every command gets. It passes on only PATH,
// LANG and TZ of this process's environment.
func environment(home, tmp string) []string {
	env := []string{
		"HOME=" + home, "TMPDIR=" + tmp,
		"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1",
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
