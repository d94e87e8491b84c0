package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

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

// landlockABI returns the version of the kernel's Landlock, 0 if it has none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// The rights that rules give.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	dirRights  = unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1 // all of leastABI
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rule makes the Landlock ruleset of the command. It leaves access to the network as it is.
func (o *order) rule(abi int) error {
	denied := unix.LandlockRulesetAttr{Handled_access_fs: dirRights}
	if abi >= 5 {
		denied.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		denied.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		denied.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	made, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&denied)),
		unsafe.Sizeof(denied), 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	o.domain = int(made)
	for _, path := range slices.Concat(o.Read, o.Write) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			o.readable = append(o.readable, real)
		}
	}
	hide := o.hidden(systemDirs)
	for _, dir := range slices.Concat(systemDirs, resolverFiles) {
		o.readable = append(o.readable, around(dir, hide)...)
	}
	for _, path := range o.readable { // what is missing, or closed to this user, stays closed
		_ = allow(o.domain, path, readRights, false)
	}
	for _, path := range devices {
		_ = allow(o.domain, path, denied.Handled_access_fs, false)
	}
	for _, path := range o.Write {
		if err := allow(o.domain, path, dirRights, o.Exact); err != nil {
			return err
		}
	}
	return nil
}

// allow adds rights to a ruleset: to all below path, or to the file at path, which has fewer kinds of them. With exact it
// refuses a path that leads elsewhere.
func allow(rules int, path string, rights uint64, exact bool) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	if real, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); exact && real != path {
		return fmt.Errorf("open %s: it is a link", path)
	}
	if unix.Faccessat(fd, ".", unix.F_OK, 0) == unix.ENOTDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
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
