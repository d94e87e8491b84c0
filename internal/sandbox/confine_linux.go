package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// startConfined starts the command without the rights that it must not have. It takes most of them from the calling
// thread, which is locked, and which the command does not outlive. Landlock confines the command alone: in a domain
// with this thread, it could signal and trace it, which is to signal and trace all of this process.
func startConfined(job order) (pid int, err error) {
	badness, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err == nil {
		defer badness.Close()
	}
	// An unconfined command of root could else trace this thread, which has no more rights than the command, and by the
	// memory of this process its others, which have all. Without a dump, most of /proc/self belongs to root.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("hide memory: %w", err)
	}
	if err := giveUp(&job); err != nil {
		return 0, err
	}
	visiblePath(job)
	args := job.Args
	if len(args) == 0 {
		args = []string{filepath.Base(job.Shell), "-c", job.Line}
	} else if job.Shell = find(args[0]); job.Shell == "" {
		return 0, fmt.Errorf("find %s: there is no such program in the PATH of commands", args[0])
	}
	if job.By == Bubblewrap {
		args = append(bubblewrap(job), args...)
		job.Shell = find(args[0])
	}
	calls := []call{{unix.SYS_SETSID}}
	if job.By == Landlock {
		calls = append(calls, call{unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(job.domain)})
	}
	if most := uint64(job.Memory); most > 0 { // of the child alone: this process needs more
		calls = append(calls, call{unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, pin(&unix.Rlimit{Cur: most, Max: most})})
	}
	// Where memory is short, the kernel is to kill the command, which inherits this, not the daemon or supervise. A
	// kernel that refuses kills by size.
	own := make([]byte, 8)
	if n, err := badness.Read(own); err == nil {
		_, _ = badness.WriteString("1000")
		defer func() { _, _ = badness.Write(own[:n]) }()
	}
	return forkExec(calls, job.Shell, args, job.Env)
}

// visiblePath removes from PATH the directories that a confined command cannot read, for it and for find.
func visiblePath(job order) {
	isHidden := func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		isBelow := func(path string) bool { return Within(real, path) }
		return job.By == Landlock && (err != nil || !slices.ContainsFunc(job.readable, isBelow))
	}
	for i, v := range job.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			path = strings.Join(slices.DeleteFunc(filepath.SplitList(path), isHidden), ":")
			job.Env[i] = "PATH=" + path
			os.Setenv("PATH", path)
		}
	}
}

// find returns the path of a program: name itself if it has a slash, else its path in PATH, else "".
func find(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	path, _ := exec.LookPath(name)
	return path
}

// giveUp takes from the calling thread what the command must not have, except for what Landlock denies: see rule.
func giveUp(job *order) error {
	if err := os.Chdir(job.Dir); err != nil {
		return fmt.Errorf("enter workspace: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &job.Files) // a lower bound that somebody set meanwhile stays
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
		abi = landlockABI()
		if err := job.rule(abi); err != nil {
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
