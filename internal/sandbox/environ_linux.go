package sandbox

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// HideEnvironment keeps the secrets that this process was started with from
// other processes of the same user. It blanks the block from which the kernel
// serves /proc/<pid>/environ (os.Getenv has copies and goes on working), and
// makes the process undumpable: no debugger of that user can read its memory,
// and no core file can hold it. It does so once.
//
// Root can still read the memory of any process. Commands of BASH cannot, even
// as root: they have no CAP_SYS_PTRACE.
func HideEnvironment() {
	hide.Do(func() {
		// In this order: an undumpable process may not open its own memory. What
		// fails here is made up for by the other, and both fail only on kernels
		// that forbid them to everybody.
		blankEnvironment()
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	})
}

var hide sync.Once

func blankEnvironment() {
	f := stat("self", 51)
	if f == nil {
		return
	}
	from, err1 := strconv.ParseInt(f[50], 10, 64) // env_start
	to, err2 := strconv.ParseInt(f[51], 10, 64)   // env_end
	const most = 64 << 20                         // far beyond what the kernel lets a program start with
	if err1 != nil || err2 != nil || from <= 0 || to <= from || to-from > most {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	_, _ = mem.WriteAt(make([]byte, to-from), from)
}
