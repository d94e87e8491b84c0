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
// it may not write: without that, one system call empties a log.
const leastABI = 3

// Directories that hold the system. Some exist on few distributions only.
var systemDirs = strings.Fields("/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /gnu /snap /proc /sys")

// Files for looking up names and times, which may be links out of /etc.
var resolverFiles = strings.Fields("/etc/resolv.conf /etc/hosts /etc/localtime")

// Devices that are neither storage nor anybody's terminal.
var devices = strings.Fields("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty")

// confine reads the order, gives up what the command must not have, and becomes
// the shell.
func confine() int {
	// What is given up counts for a thread. This one executes the shell.
	runtime.LockOSThread()
	closeOnExec()
	err := func() error {
		in := os.NewFile(orderFD, "order")
		var o order
		if err := json.NewDecoder(in).Decode(&o); err != nil {
			return fmt.Errorf("read order: %w", err)
		}
		in.Close()
		if err := giveUp(o); err != nil {
			return err
		}
		if o.By == Landlock {
			visiblePath(o.Env)
		}
		args := o.Args
		if len(args) == 0 {
			args = []string{filepath.Base(o.Shell), "-c", o.Line}
		} else if o.Shell = find(args[0], o.Env); o.Shell == "" {
			return fmt.Errorf("find %s: there is no such program in the PATH of commands", args[0])
		}
		if o.By == Bubblewrap {
			args = append(bubblewrap(o), args...)
			o.Shell = find(args[0], o.Env)
		}
		if most := uint64(o.Memory); most > 0 { // last: this process has more
			if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
				return fmt.Errorf("limit memory: %w", err)
			}
		}
		err := syscall.Exec(o.Shell, args, o.Env)
		return fmt.Errorf("execute %s: %w", o.Shell, err)
	}()
	_ = json.NewEncoder(os.NewFile(reportFD, "report")).Encode(Outcome{Failed: err.Error()})
	return 126
}

// visiblePath takes the directories out of PATH that this process cannot read any more.
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

// find returns the path of a program, or "".
func find(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, v := range env {
		list, _ := strings.CutPrefix(v, "PATH=")
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if fi, err := os.Stat(path); list != v && err == nil && fi.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
				return path
			}
		}
	}
	return ""
}

func giveUp(o order) error {
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("enter workspace: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	// Also without the sandbox: what gains privileges could not be killed.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("renounce new privileges: %w", err)
	}
	if o.Offline {
		if err := filterNetwork(); err != nil {
			return fmt.Errorf("cut off the network: %w", err)
		}
	}
	if !o.Confine {
		return dropCapabilities(^uint64(1 << unix.CAP_SYS_PTRACE))
	}
	abi := 0
	if o.By == Landlock {
		abi, _ = ll.LandlockGetABIVersion() // 0 where there is none
		if err := confinable(abi, canFilter()); err != nil {
			return err
		}
		if err := landlocked(o); err != nil {
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

// confinable says what a kernel lacks to confine commands by itself. Landlock alone is not
// enough: without a filter of system calls a command reaches shared memory, and
// local sockets too unless Landlock is new.
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

// landlocked applies Landlock to this process. Access to the network is not
// handled, and so left as it is.
func landlocked(o order) error {
	c := landlock.V9
	c.HandledAccessNet = 0
	hide := o.hidden(systemDirs)
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
		landlock.RWDirs(o.Write...).WithRefer(),
	}
	for _, path := range o.Read {
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	return c.BestEffort().Restrict(rules...)
}

// around is dir, or what is in it when something hidden is below: Landlock can
// grant but not except.
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

// dropCapabilities takes from the calling thread, for good, all capabilities
// but those that have their bits in keep. It matters to root only. CAP_SYS_PTRACE goes in every
// mode: with it a command could read the daemon's memory.
func dropCapabilities(keep uint64) error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if keep>>c&1 == 1 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		// EPERM: nothing to lose. EINVAL: a kernel with fewer capabilities.
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", c, err)
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
