package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process identifies a process by what /proc/<pid>/stat says. start is when it
// began: a reused id is another process.
type process struct {
	pid, parent int
	start       string
	dead        bool // a zombie, to be reaped by its parent
}

// sweep kills every descendant of this process that it can see. It stops them
// all first: a stopped process can neither start more nor reap, so that even a
// fork bomb comes to an end and ids keep their meaning.
func sweep() {
	stopped := map[process]bool{}
	for range 1000 {
		fresh := 0
		for _, p := range descendants(os.Getpid()) {
			if !p.dead && !stopped[p] {
				stopped[p] = true
				fresh++
				p.signal(unix.SIGSTOP)
			}
		}
		if fresh == 0 {
			break
		}
	}
	for p := range stopped {
		p.signal(unix.SIGKILL)
	}
}

// signal sends sig to p, unless its id belongs to somebody else by now.
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(fd)
	// fd names one process for good; was it the one that was seen?
	if now, ok := readProcess(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// descendants lists the processes below root, in no order.
func descendants(root int) []process {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	below := map[int][]process{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			below[p.parent] = append(below[p.parent], p)
		}
	}
	var found []process
	queue := []int{root}
	for len(queue) > 0 {
		children := below[queue[0]]
		delete(below, queue[0])
		queue = queue[1:]
		for _, p := range children {
			found = append(found, p)
			queue = append(queue, p.pid)
		}
	}
	return found
}

// readProcess reads what identifies a process.
func readProcess(pid int) (process, bool) {
	f := stat(strconv.Itoa(pid), 22)
	if f == nil {
		return process{}, false
	}
	state := f[3]
	parent, err := strconv.Atoi(f[4])
	return process{pid: pid, parent: parent, start: f[22], dead: state == "Z" || state == "X"}, err == nil
}

// stat returns the fields of /proc/<pid>/stat by their numbers, without the first two; nil if there are not as many as
// the last one that is wanted. The second field is a name in parentheses that may itself contain any of them, so
// parsing begins at the last one.
func stat(pid string, last int) []string {
	b, _ := os.ReadFile("/proc/" + pid + "/stat") // nothing, if the process is gone
	f := append(make([]string, 3), strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))...)
	if len(f) <= last {
		return nil
	}
	return f
}
