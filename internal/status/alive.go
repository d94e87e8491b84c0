package status

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// BusyIn says whether the identity works on something that room waits for. A turn
// that answers nobody in particular counts for every room that it hears. Whether
// its process still lives is not said: see Alive.
func (s Status) BusyIn(room string) bool {
	return (s.State == Thinking || s.State == Acting) && slices.Contains(s.Rooms, room) &&
		(len(s.Answering) == 0 || slices.Contains(s.Answering, room))
}

// Alive asks the kernel whether a process runs; one of another user does too. A
// dead process that nobody has waited for still answers signals, so where /proc
// tells of it, it is asked as well.
func Alive(pid int) bool {
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
