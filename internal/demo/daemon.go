package demo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// daemon is lethe run as a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// program prepares to run the program with no key in its environment, in a process
// group of its own, so that Ctrl-C comes to the tour alone.
func (t *tour) program(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, t.exe, append(args, "--home", t.home.Dir)...)
	cmd.Args[0] = "lethe"
	cmd.Dir = t.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start runs a daemon in the home of the tour and waits until it is ready as the
// identity that it returns.
func (t *tour) start(args ...string) (self string) {
	out := must(os.Create(filepath.Join(t.dir, "daemon.out")))
	defer out.Close() // the daemon has its own
	log := must(os.OpenFile(filepath.Join(t.dir, "daemon.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	defer log.Close()
	d := &daemon{cmd: t.program(append([]string{"run", "--offline"}, args...)...), gone: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = out, log
	check(d.cmd.Start())
	go func() { // ends with the process, which kill or ctx ends
		_ = d.cmd.Wait()
		close(d.gone)
	}()
	t.daemon = d
	ready := regexp.MustCompile(`(?m)^ready ([0-9a-f]{64}) ` + name + `$`)
	t.await("the daemon to say ready", func() bool {
		said, _ := os.ReadFile(out.Name())
		m := ready.FindSubmatch(said)
		if m != nil {
			self = string(m[1])
		}
		return m != nil
	})
	t.excerpt(1, fmt.Sprintf("ready %.16s… %s", self, name))
	return self
}

// kill ends the daemon with kill -9, and waits until it is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // fails when it is gone already
	<-d.gone
}

// await polls the files of the daemon until ok.
func (t *tour) await(what string, ok func() bool) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	late := time.After(t.patience)
	for !ok() {
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
