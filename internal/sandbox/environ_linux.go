package sandbox

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// HideEnvironment hides the secrets in this process's environment from other
// processes of the same user. It blanks the block that the kernel serves as
// /proc/<pid>/environ (os.Getenv has copies and goes on working), and
// makes the process undumpable: no debugger of that user can read its memory,
// and no core file can hold it. It does so once.
//
// Root can still read the memory of any process. Commands of BASH cannot, even
// as root: they have no CAP_SYS_PTRACE.
func HideEnvironment() {
	hide.Do(func() {
		// In this order: an undumpable process may not open its own memory. If one
		// step fails, the other still hides the block; both fail only on kernels that
		// forbid them to everybody.
		blankEnvironment()
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	})
}

var hide sync.Once

func blankEnvironment() {
	fields := stat("self", 51)
	if fields == nil {
		return
	}
	from, err := strconv.ParseInt(fields[50], 10, 64) // env_start
	if err != nil || from <= 0 {
		return
	}
	to, err := strconv.ParseInt(fields[51], 10, 64) // env_end
	if err != nil {
		return
	}
	const most = 64 << 20 // far more than the kernel lets a program start with
	if to <= from || to-from > most {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	_, _ = mem.WriteAt(make([]byte, to-from), from)
}
