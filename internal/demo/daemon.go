package demo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"lethe/internal/status"
)

// daemon is lethe run as a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	said string        // file with its standard output
	gone chan struct{} // closed when it has ended
}

// program prepares to run the program with no key in its environment, in a process
// group of its own, so that Ctrl-C comes to the tour alone.
func (t *tour) program(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, t.exe, args...)
	cmd.Args[0] = "lethe"
	cmd.Dir = t.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start runs a daemon in the home of the tour and waits until it is ready as the
// identity that it returns. It ends with the tour, on Linux even if that is killed.
func (t *tour) start(args ...string) (self string) {
	out := must(os.Create(filepath.Join(t.dir, "daemon.out")))
	defer out.Close() // the daemon has its own
	log := must(os.OpenFile(filepath.Join(t.dir, "daemon.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	defer log.Close()
	d := &daemon{cmd: t.program(append([]string{"run", "--home", t.home.Dir, "--offline"}, args...)...), said: out.Name(), gone: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = out, log
	tie(d.cmd.SysProcAttr)
	started := make(chan error)
	go d.live(started) // ends with the process, which kill or ctx ends
	if err := <-started; err != nil {
		fail("start the daemon: %w", err)
	}
	t.daemon = d
	ready := regexp.MustCompile(`(?m)^ready ([0-9a-f]{64}) ` + name + `$`)
	t.await("the daemon to say ready", func() bool {
		said, _ := os.ReadFile(d.said)
		m := ready.FindSubmatch(said)
		if m != nil {
			self = string(m[1])
		}
		return m != nil
	})
	t.excerpt(1, fmt.Sprintf("ready %.16s… %s", self, name))
	return self
}

// live starts the process and waits for its end.
func (d *daemon) live(started chan<- error) {
	defer tieThread()()
	err := d.cmd.Start()
	started <- err
	if err == nil {
		_ = d.cmd.Wait()
		close(d.gone)
	}
}

// kill ends the daemon with kill -9, and waits until it is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // fails when it is gone already
	<-d.gone
}

// stop has the daemon end in good order.
func (t *tour) stop() {
	d := t.daemon
	check(d.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-d.gone:
	case <-t.ctx.Done():
		check(t.ctx.Err())
	case <-time.After(t.patience):
		fail("stop the daemon: it still runs after %s", t.patience)
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		fail("stop the daemon: it ended with exit code %d", code)
	}
}

// await polls the files of the daemon until ok, and shows meanwhile what the
// identity is saying.
func (t *tour) await(what string, ok func() bool) {
	defer t.wipe()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	late := time.After(t.patience)
	for n := 0; !ok(); n++ {
		live := ""
		if t.tty && t.id.Dir != "" {
			live = strings.Join(strings.Fields(status.ReadLive(t.id.Dir)), " ")
		}
		t.spin(n, live)
		select {
		case <-t.ctx.Done():
			check(t.ctx.Err())
		case <-t.daemon.gone:
			if ok() {
				return
			}
			log, _ := os.ReadFile(filepath.Join(t.dir, "daemon.log"))
			lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
			check(errors.Join(t.ctx.Err(), fmt.Errorf("wait for %s: the daemon ended (%s): %s", what, t.daemon.cmd.ProcessState, lines[len(lines)-1])))
		case <-late:
			fail("wait for %s: not within %s", what, t.patience)
		case <-tick.C:
		}
	}
}
