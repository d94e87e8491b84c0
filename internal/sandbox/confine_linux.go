package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastABI is the oldest Landlock that can keep a command from truncating files
// that it may not write. With an older one, a single system call empties a log.
const leastABI = 3

// Directories that hold the system. Some exist on few distributions only.
var systemDirs = strings.Fields("/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /gnu /snap /proc /sys")

var readableDirs = systemDirs

// Files for looking up names and times, which may be links out of /etc.
var resolverFiles = strings.Fields("/etc/resolv.conf /etc/hosts /etc/localtime")

// Devices that are neither storage nor anybody's terminal.
var devices = strings.Fields("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty")

// confine reads the order, gives up the rights that the command must not have, and
// becomes the shell.
func confine() int {
	// Rights belong to a thread. This one gives them up and executes the shell.
	runtime.LockOSThread()
	closeOnExec()
	err := func() error {
		in := os.NewFile(orderFD, "order")
		var job order
		if err := json.NewDecoder(in).Decode(&job); err != nil {
			return fmt.Errorf("read order: %w", err)
		}
		in.Close()
		if err := giveUp(job); err != nil {
			return err
		}
		if job.By == Landlock {
			visiblePath(job.Env)
		}
		args := job.Args
		if len(args) == 0 {
			args = []string{filepath.Base(job.Shell), "-c", job.Line}
		} else if job.Shell = find(args[0], job.Env); job.Shell == "" {
			return fmt.Errorf("find %s: there is no such program in the PATH of commands", args[0])
		}
		if job.By == Bubblewrap {
			args = append(bubblewrap(job), args...)
			job.Shell = find(args[0], job.Env)
		}
		if most := uint64(job.Memory); most > 0 { // last: this process needs more itself
			if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
				return fmt.Errorf("limit memory: %w", err)
			}
		}
		err := syscall.Exec(job.Shell, args, job.Env)
		return fmt.Errorf("execute %s: %w", job.Shell, err)
	}()
	_ = json.NewEncoder(os.NewFile(reportFD, "report")).Encode(Outcome{Failed: err.Error()})
	return 126
}

// visiblePath removes the directories from PATH that this process can no longer read.
func visiblePath(env []string) {
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
				fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				_ = unix.Close(fd) // -1 after an error
				return err != nil
			}), ":")
		}
	}
}

// find returns the path of a program: name itself if it has a slash, else its path in PATH, else "".
func find(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, variable := range env {
		list, ok := strings.CutPrefix(variable, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path := filepath.Join(dir, name); isProgram(path) {
				return path
			}
		}
	}
	return ""
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	return unix.Access(path, unix.X_OK) == nil
}

func giveUp(job order) error {
	if err := os.Chdir(job.Dir); err != nil {
		return fmt.Errorf("enter workspace: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	// Where memory is short, the kernel is to kill the command, not the daemon. A kernel that refuses kills by size.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// Also without the sandbox: the supervisor could not kill a process that gains privileges.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("renounce new privileges: %w", err)
	}
	if job.Offline {
		if err := filterNetwork(); err != nil {
			return fmt.Errorf("cut off the network: %w", err)
		}
	}
	if !job.Confine {
		return dropCapabilities(^uint64(1 << unix.CAP_SYS_PTRACE))
	}
	abi := 0
	if job.By == Landlock {
		abi, _ = ll.LandlockGetABIVersion() // 0 without Landlock
		if err := confinable(abi, canFilter()); err != nil {
			return err
		}
		if err := landlocked(job); err != nil {
			return fmt.Errorf("apply sandbox: %w", err)
		}
		if err := dropCapabilities(1 << unix.CAP_DAC_OVERRIDE); err != nil {
			return err
		}
	}
	if err := filterCalls(abi); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// confinable returns nil if a kernel can confine commands by itself, else an error that names
// the missing part. Landlock alone is not enough: without a filter of system calls a command
// reaches shared memory, and local sockets too unless Landlock is new.
func confinable(abi int, filter bool) error {
	lacks := ""
	switch {
	case abi <= 0:
		lacks = "this kernel has no Landlock"
	case abi < leastABI:
		lacks = fmt.Sprintf("this kernel has Landlock ABI %d and %d is needed", abi, leastABI)
	case !filter:
		lacks = "this kernel, or this architecture, has no seccomp filter that Lethe can use"
	default:
		return nil
	}
	return errors.New(lacks + ", so commands cannot be confined and are refused. " + wayOut)
}

// landlocked applies Landlock to this process. It leaves access to the network as
// it is.
func landlocked(job order) error {
	config := landlock.V9
	config.HandledAccessNet = 0
	hide := job.hidden(systemDirs)
	var dirs, files []string
	for _, d := range slices.Concat(systemDirs, resolverFiles) {
		for _, p := range around(d, hide) {
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() {
				dirs = append(dirs, p)
			} else if err == nil && fi.Mode().IsRegular() {
				files = append(files, p)
			}
		}
	}
	rules := []landlock.Rule{
		landlock.RODirs(dirs...).IgnoreIfMissing(),
		landlock.ROFiles(files...).IgnoreIfMissing(),
		landlock.RWFiles(devices...).WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs(job.Write...).WithRefer(),
	}
	for _, path := range job.Read {
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	return config.BestEffort().Restrict(rules...)
}

// around returns the paths that grant dir without the hidden paths in it: dir itself
// if it holds no hidden path, else its entries. Landlock can grant a path, but not except one.
func around(dir string, hide []string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	clear := true
	for _, h := range hide {
		if Within(real, h) {
			return nil
		}
		clear = clear && !Within(h, real)
	}
	if clear {
		return []string{real}
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil
	}
	var parts []string
	for _, e := range entries {
		if path := filepath.Join(real, e.Name()); e.Type()&os.ModeSymlink == 0 {
			parts = append(parts, around(path, hide)...)
		}
	}
	return parts
}

// dropCapabilities takes all capabilities without a bit in keep from the calling thread, for good.
// Only root has any to lose. Every caller drops CAP_SYS_PTRACE: with it a command could read the
// daemon's memory.
func dropCapabilities(keep uint64) error {
	for capability := range unix.CAP_LAST_CAP + 1 {
		if keep>>capability&1 == 1 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0)
		nothingToLose := errors.Is(err, unix.EPERM)
		unknown := errors.Is(err, unix.EINVAL) // the kernel has fewer capabilities
		if nothingToLose || unknown {
			continue
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // EINVAL before Linux 4.3
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	keep &= 1<<(unix.CAP_LAST_CAP+1) - 1
	for i := range sets {
		mask := uint32(keep >> (32 * i))
		sets[i].Permitted &= mask
		sets[i].Effective &= mask
		sets[i].Inheritable = 0
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
