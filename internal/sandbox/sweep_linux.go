package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process identifies a process by fields of /proc/<pid>/stat.
type process struct {
	pid, parent int
	start       string // the time when it began: it tells a process from an earlier one with the same id
	dead        bool   // a zombie, to be reaped by its parent
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
	// fd stands for one process for good. Its start shows whether it is p.
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

// readProcess reads the process with this id. It returns false if the process is gone.
func readProcess(pid int) (process, bool) {
	fields := stat(strconv.Itoa(pid), 22)
	if fields == nil {
		return process{}, false
	}
	state := fields[3]
	parent, err := strconv.Atoi(fields[4])
	return process{pid: pid, parent: parent, start: fields[22], dead: state == "Z" || state == "X"}, err == nil
}

// stat returns the fields of /proc/<pid>/stat, indexed by their numbers; the first two are left empty. It returns nil
// if the process is gone or has no field number last. The second field is a name in parentheses, which may contain
// parentheses itself, so the third begins behind the last one in the file.
func stat(pid string, last int) []string {
	data, _ := os.ReadFile("/proc/" + pid + "/stat") // empty if the process is gone
	behindName := data[bytes.LastIndexByte(data, ')')+1:]
	fields := append(make([]string, 3), strings.Fields(string(behindName))...)
	if len(fields) <= last {
		return nil
	}
	return fields
}
