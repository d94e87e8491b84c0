package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"lethe/internal/test/lethetest"
)

// cString is a name for a raw system call, which stays.
func cString(s string) uintptr {
	b, err := syscall.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

var kept []*byte

// trySetID asks each call that can set a mode for a file that runs as its owner
// or its group, and for an ordinary one.
func trySetID() {
	call := func(number uintptr, args ...uintptr) error {
		var six [6]uintptr
		copy(six[:], args)
		r, _, errno := syscall.Syscall6(number, six[0], six[1], six[2], six[3], six[4], six[5])
		if errno != 0 {
			return errno
		}
		if number != unix.SYS_FCHMOD && number != unix.SYS_FCHMODAT && r > 2 {
			syscall.Close(int(r))
		}
		return nil
	}
	file, err := os.Create("file")
	if err != nil {
		panic(err)
	}
	made := 0
	fresh := func() uintptr { // a name that is not there
		made++
		return cString(fmt.Sprint("made", made))
	}
	cwd := unix.AT_FDCWD
	here, there, dot := uintptr(cwd), cString("file"), cString(".")
	const creates = unix.O_CREAT | unix.O_WRONLY
	calls := map[string]func(mode uintptr) error{
		"fchmod":         func(m uintptr) error { return call(unix.SYS_FCHMOD, file.Fd(), m) },
		"fchmodat":       func(m uintptr) error { return call(unix.SYS_FCHMODAT, here, there, m) },
		"fchmodat2":      func(m uintptr) error { return call(unix.SYS_FCHMODAT2, here, there, m, 0) },
		"mknodat":        func(m uintptr) error { return call(unix.SYS_MKNODAT, here, fresh(), m|unix.S_IFREG, 0) },
		"openat":         func(m uintptr) error { return call(unix.SYS_OPENAT, here, fresh(), creates, m) },
		"openat tmpfile": func(m uintptr) error { return call(unix.SYS_OPENAT, here, dot, unix.O_TMPFILE|unix.O_RDWR, m) },
	}
	if runtime.GOARCH == "amd64" { // what newer architectures have no more
		calls["open"] = func(m uintptr) error { return call(2, fresh(), creates, m) }
		calls["creat"] = func(m uintptr) error { return call(85, fresh(), m) }
		calls["chmod"] = func(m uintptr) error { return call(90, there, m) }
		calls["mknod"] = func(m uintptr) error { return call(133, fresh(), m|unix.S_IFREG, 0) }
	}
	for name, try := range calls {
		fmt.Printf("%s: %v, %v, %v, %v.\n", name, try(0o4755), try(0o2755), try(0o6700), try(0o1755))
	}
	// No file is made, and so what stands for a mode is none.
	fmt.Printf("open only: %v.\n", call(unix.SYS_OPENAT, here, there, unix.O_RDONLY, 0o7777))
	var how unix.OpenHow
	_, err = unix.Openat2(unix.AT_FDCWD, "file", &how)
	fmt.Printf("openat2: %v.\n", errors.Is(err, unix.ENOSYS))
	_, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&[256]byte{})), 0)
	fmt.Printf("io_uring: %v.\n", errno == unix.ENOSYS)
}

func TestMakesNoFileThatRunsAsItsOwner(t *testing.T) {
	b := newBox(t, true)
	got := b.probe("set-id")
	tried := 0
	for line := range strings.Lines(got) {
		if name, answer, ok := strings.Cut(line, ": "); ok {
			tried++
			want := "operation not permitted, operation not permitted, operation not permitted, <nil>.\n"
			switch name {
			case "open only":
				want = "<nil>.\n"
			case "openat2", "io_uring":
				want = "true.\n"
			case "fchmodat2":
				answer = strings.Replace(answer, "function not implemented", "<nil>", 1) // before Linux 6.6
			}
			if answer != want {
				t.Errorf("%s: %s", name, answer)
			}
		}
	}
	if tried < 9 {
		t.Errorf("only %d calls were tried:\n%s", tried, got)
	}
	_ = filepath.WalkDir(b.home, func(path string, d fs.DirEntry, err error) error {
		if fi, serr := os.Lstat(path); serr == nil && fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	b.fails("cp /bin/sh sh && chmod u+s sh", "Operation not permitted")
}

func TestLeavesOrdinaryModesAlone(t *testing.T) {
	b := newBox(t, true)
	shared := filepath.Join(b.Dir, "shared")
	lethetest.Must(t, errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o770|fs.ModeSetgid)))
	b.succeeds(`set -e
		cd shared; mkdir dir; mkdir -m 750 narrow; install -d -m 711 made; mkdir -p a/b; test -g a/b
		printf x > f; chmod 755 f; chmod 1777 f; cp -p f g; install -m 640 f h; ln g i; mktemp; mktemp -d
		tar cf t.tar f g; mkdir out; tar xpf t.tar -C out; test -x out/g; mkfifo p; umask 077; : > q`)
}

// tryShared asks for what processes share and what stays when they have ended.
func tryShared() {
	name := cString("/lethe-test")
	for call, args := range map[uintptr][3]uintptr{
		unix.SYS_SHMGET: {unix.IPC_PRIVATE, 4096, 0o600}, unix.SYS_SHMAT: {0, 0, 0}, unix.SYS_SHMCTL: {0, unix.IPC_STAT, 0},
		unix.SYS_MSGGET: {unix.IPC_PRIVATE, 0o600}, unix.SYS_MSGSND: {}, unix.SYS_MSGRCV: {^uintptr(0)}, unix.SYS_MSGCTL: {},
		unix.SYS_SEMGET: {unix.IPC_PRIVATE, 1, 0o600}, unix.SYS_SEMOP: {}, unix.SYS_SEMTIMEDOP: {}, unix.SYS_SEMCTL: {},
		unix.SYS_MQ_OPEN: {name, unix.O_CREAT | unix.O_RDWR, 0o600}, unix.SYS_MQ_UNLINK: {name},
	} {
		_, _, errno := syscall.Syscall6(call, args[0], args[1], args[2], 0, 0, 0)
		fmt.Printf("%d %v\n", call, errno == unix.ENOSYS)
	}
}

func TestHasNoSharedMemory(t *testing.T) {
	left := func() string {
		var all strings.Builder
		for _, kind := range []string{"shm", "msg", "sem"} {
			b, _ := os.ReadFile("/proc/sysvipc/" + kind)
			fmt.Fprintln(&all, kind, strings.Count(string(b), "\n"))
		}
		return all.String()
	}
	before := left()
	got := newBox(t, true).probe("shared")
	if strings.Count(got, " true\n") != 13 || strings.Contains(got, "false") {
		t.Errorf("some of it is there:\n%s", got)
	}
	if now := left(); now != before {
		t.Errorf("left behind: %s, before %s", now, before)
	}
}

// tryGovern changes the priority, the processors and the policy of a process and of all that is its user's, and its own.
func tryGovern(other string) {
	pid, err := strconv.Atoi(other)
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	var cpus unix.CPUSet
	_ = unix.SchedGetaffinity(0, &cpus)
	size, mask := unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus))
	param := uintptr(unsafe.Pointer(new(int32)))
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: 19}
	limit := unix.Rlimit{Cur: 1000, Max: 1000}
	const process, group, user, idle = 1, 2, 3, 3 << 13
	try := func(name string, call uintptr, args ...uintptr) {
		var a [4]uintptr
		copy(a[:], args)
		_, _, errno := syscall.Syscall6(call, a[0], a[1], a[2], a[3], 0, 0)
		fmt.Printf("%s %v\n", name, errno == unix.EPERM)
	}
	for name, who := range map[string]uintptr{"other": uintptr(pid), "self": 0} {
		try(name, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, who, 19)
		try(name, unix.SYS_IOPRIO_SET, process, who, idle)
		try(name, unix.SYS_SCHED_SETAFFINITY, who, size, mask)
		try(name, unix.SYS_SCHED_SETSCHEDULER, who, unix.SCHED_BATCH, param)
		try(name, unix.SYS_SCHED_SETPARAM, who, param)
		try(name, unix.SYS_SCHED_SETATTR, who, uintptr(unsafe.Pointer(&attr)), 0)
		try(name, unix.SYS_PRLIMIT64, who, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0)
	}
	uid := uintptr(os.Getuid())
	for _, who := range []uintptr{0, uid, uintptr(pid)} {
		try("other", unix.SYS_SETPRIORITY, unix.PRIO_USER, who, 19)
		try("other", unix.SYS_IOPRIO_SET, user, who, idle)
		try("other", unix.SYS_SETPRIORITY, unix.PRIO_PGRP, who, 19)
		try("other", unix.SYS_IOPRIO_SET, group, who, idle)
	}
}

// Root may do more to the others of root than a command below it may: the daemon is an ordinary user here.
func TestGovernsItselfAlone(t *testing.T) {
	dir, err := os.MkdirTemp("", "governs") // t.TempDir stands in a directory of the owner
	lethetest.Must(t, err)
	defer os.RemoveAll(dir)
	c := makeDirs(filepath.Join(dir, "home"), true, "")
	as := &syscall.SysProcAttr{Setpgid: true}
	for _, to := range []string{filepath.Join(dir, "caller"), filepath.Join(c.Dir, "probe")} {
		lethetest.Must(t, exec.Command("cp", executable(t), to).Run())
	}
	if os.Getuid() == 0 {
		as.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		lethetest.Must(t, exec.Command("chown", "-R", "65534:65534", dir).Run())
	}
	victim := exec.Command("sleep", "1000")
	victim.SysProcAttr = as
	lethetest.Must(t, victim.Start())
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	pid := victim.Process.Pid
	state := func() string {
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		attr, aerr := unix.SchedGetAttr(pid, 0)
		lethetest.Must(t, errors.Join(err, aerr))
		disk, _, _ := syscall.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
		return fmt.Sprintf("nice %d, disk %d, %+v", nice, disk, *attr)
	}
	before := state()
	caller := exec.Command(filepath.Join(dir, "caller"), "act-as", "caller", filepath.Join(dir, "home"), "confined",
		fmt.Sprintf("./probe act-as govern %d; nice -n 5 nice", pid))
	caller.SysProcAttr = as
	out, err := caller.CombinedOutput()
	lethetest.Must(t, err)
	got := string(out)
	of20, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	lethetest.Must(t, err)
	nicer := min(20-of20+5, 19)
	governs := strings.Count(got, "other true\n") == 19 && strings.Count(got, "self false\n") == 7
	if !governs || !strings.Contains(got, fmt.Sprintf("\n%d\n", nicer)) {
		t.Errorf("refused are:\n%s", got)
	}
	if now := state(); now != before {
		t.Errorf("outside there is %s, before %s", now, before)
	}
}

// runWithout becomes another act below a kernel that knows no seccomp, or no
// Landlock.
func runWithout(what string, args []string) {
	runtime.LockOSThread()
	call := map[string]uint32{"seccomp": unix.SYS_SECCOMP, "landlock": unix.SYS_LANDLOCK_CREATE_RULESET}[what]
	f := newFilter(auditArch[runtime.GOARCH])
	f.deny(unix.ENOSYS, call)
	err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), f.install())
	if err == nil {
		err = syscall.Exec("/proc/self/exe", append([]string{"test", "act-as"}, args...), os.Environ())
	}
	panic(err)
}

func TestCommandsAreRefusedWhereTheyCannotBeConfined(t *testing.T) {
	for what, words := range map[string]string{"seccomp": "no seccomp filter", "landlock": "no Landlock"} {
		cmd := exec.Command(executable(t), "act-as", "without", what, "caller", t.TempDir(), "confined", "echo ran")
		shells := lethetest.Dir(t) // and no bubblewrap
		lethetest.Must(t, os.Symlink("/bin/sh", filepath.Join(shells, "sh")))
		cmd.Env = []string{"PATH=" + shells}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lethetest.Words(t, string(out), words, `tools.bash = "trusted"`)
		if strings.Contains(string(out), "ran\n") {
			t.Errorf("without %s it ran: %s", what, out)
		}
	}
}

func TestOldLandlockIsNotEnough(t *testing.T) {
	for abi, words := range map[int]string{0: "has no Landlock", 2: "has Landlock ABI 2 and 3 is needed"} {
		lethetest.Words(t, confinable(abi, true).Error(), words, `tools.bash = "trusted"`)
	}
}
