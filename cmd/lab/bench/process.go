package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lethe/chat"
)

// column is one of the programs that are measured, with a home of its own and a model at a URL of its own.
type column struct{ title, exe, home, url string }

// shard is the directory of texts whose hash begins so.
func (c *column) shard(hash string) string { return filepath.Join(c.home, "blobs", hash[:3]) }

// process is a program that runs identities.
type process struct {
	cmd   *exec.Cmd
	ready time.Duration // since its start
	gone  chan struct{}
}

// start runs identities of a column, until they are all ready.
func (b *bench) start(c *column, names ...string) (*process, error) {
	p, err := b.launch(c, names...)
	if err != nil {
		return nil, err
	}
	b.running = append(b.running, p)
	return p, nil
}

// launch starts a program and waits for an identity to be ready for each name, or for one that flags name.
func (b *bench) launch(c *column, names ...string) (*process, error) {
	args := append([]string{c.exe, "run", "--home", c.home}, names...)
	if c == b.six {
		args = append([]string{c.exe, hidden, c.home, c.url, fmt.Sprint(b.head), fmt.Sprint(b.growth)}, names...)
	}
	if b.traced {
		args = append([]string{"strace", "-f", "-qq", "-ttt", "-y", "-e", "signal=none", "-e", "trace=%file,%desc", "-o", c.home + ".strace"}, args...)
	}
	p := &process{cmd: exec.CommandContext(b.ctx, args[0], args[1:]...), gone: make(chan struct{})}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "TMPDIR=" + b.dir} // no key
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                               // a terminal's ctrl-C is for the bench alone
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	var said bytes.Buffer
	p.cmd.Stderr, p.cmd.WaitDelay = &said, time.Second
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process; nothing is said behind the last "ready"
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	lines := bufio.NewScanner(out)
	for n := len(names); n > 0 && (n == len(names) || names[0][0] != '-'); {
		if !lines.Scan() {
			p.stop()
			return nil, errors.Join(b.ctx.Err(), fmt.Errorf("%s does not run an identity: %s", c.exe, strings.ReplaceAll(strings.TrimSpace(said.String()), "\n", "; ")))
		}
		if strings.HasPrefix(lines.Text(), "ready ") {
			n--
		}
	}
	p.ready = time.Since(began)
	return p, nil
}

// stop ends a process and all that it started, once.
func (p *process) stop() {
	select {
	case <-p.gone:
		return
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(10 * time.Second):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.gone
}

// usage is what a process has used until now; all of it is 0 where there is no /proc.
type usage struct {
	processor         time.Duration
	written, resident int64 // bytes: to disk, in memory
	own               int64 // bytes: in memory, and not of a file
}

func (p *process) usage() (u usage) {
	var t unix.Timespec // the clock of a process counts nanoseconds, /proc/PID/stat hundredths of a second
	pid, cancelled, shared := p.cmd.Process.Pid, int64(0), int64(0)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil || unix.ClockGettime(int32(^pid<<3|2), &t) != nil {
		return u
	}
	_, _ = fmt.Sscan(string(text), new(int), &u.resident, &shared)
	u.own = (u.resident - shared) * int64(os.Getpagesize())
	u.resident *= int64(os.Getpagesize())
	u.processor = time.Duration(t.Nano())
	text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, after, _ := strings.Cut(string(text), "\nwrite_bytes: ")
	_, _ = fmt.Sscanf(after, "%d\ncancelled_write_bytes: %d", &u.written, &cancelled) // removed before it came to the disk
	u.written -= cancelled
	return u
}

// say appends a line to the room of an identity, as echo >> does, and returns when it began to.
func (c *column) say(name string) (time.Time, error) {
	line, err := chat.Format(false, "bench", time.Now(), "a line of ordinary length, as people write them")
	if err != nil {
		return time.Time{}, err
	}
	f, err := os.OpenFile(chat.Path(c.home, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	at := time.Now()
	_, err = f.Write(line)
	return at, err
}
