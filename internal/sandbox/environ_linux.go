package sandbox

import (
	"bytes"
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
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 49 {
		return
	}
	// Fields 50 and 51, env_start and env_end; f begins at field 3.
	from, err1 := strconv.ParseInt(string(f[47]), 10, 64)
	to, err2 := strconv.ParseInt(string(f[48]), 10, 64)
	const most = 64 << 20 // far beyond what the kernel lets a program start with
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
