package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lethe/internal/status"
)

// Working says whether an identity of home is working on something that room
// waits for: when to show that it types. It reads the status files of the
// identities, which is cheap and tells no more than they do.
func Working(home, room string) bool {
	dirs, _ := filepath.Glob(filepath.Join(home, "agents", "*")) // the pattern is well-formed, unless home is odd
	for _, dir := range dirs {
		s, err := status.Read(dir)
		if err == nil && busyIn(s, room) && alive(s.PID) {
			return true
		}
	}
	return false
}

// busyIn: a turn that answers nobody in particular counts for every room that
// the identity hears.
func busyIn(s status.Status, room string) bool {
	return (s.State == status.Thinking || s.State == status.Acting) && slices.Contains(s.Rooms, room) &&
		(len(s.Answering) == 0 || slices.Contains(s.Answering, room))
}

// alive asks the kernel whether a process runs; one of another user does too. A
// dead process that nobody has waited for still answers signals, so where /proc
// tells of it, it is asked as well.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// pid (command) state …, and the command may hold anything.
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
