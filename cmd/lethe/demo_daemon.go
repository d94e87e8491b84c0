package main

import (
	"context"
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

// start runs a daemon in the home of the tour. It ends with ctx at the latest,
// and on Linux with this process, even if that is killed.
func (t *tour) start(ctx context.Context, args ...string) error {
	out, err := os.Create(filepath.Join(t.dir, "daemon.out"))
	if err != nil {
		return err
	}
	defer out.Close() // the daemon has its own
	log, err := os.OpenFile(filepath.Join(t.dir, "daemon.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, t.exe, append([]string{"run", "--home", t.home.Dir, "--offline"}, args...)...)
	cmd.Args[0] = "lethe"
	cmd.Dir = t.dir
	cmd.Env = t.environ()
	cmd.Stdout, cmd.Stderr = out, log
	cmd.SysProcAttr = tied()
	d := &daemon{cmd: cmd, said: out.Name(), gone: make(chan struct{})}
	started := make(chan error)
	go func() { d.live(started) }() // ends with the process, which kill or ctx ends
	if err := <-started; err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	t.daemon = d
	return nil
}

// environ is what the program finds in its environment: no key.
func (t *tour) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMPDIR=" + os.TempDir()}
}

// kill ends the daemon with kill -9, and waits until it is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // fails when it is gone already
	<-d.gone
}

// killed reports whether it died of SIGKILL. It must be gone.
func (d *daemon) killed() bool {
	ws, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

var readyLine = regexp.MustCompile(`(?m)^ready ([0-9a-f]{64}) (\S+)$`)

// ready waits until the daemon says that it hears its room, and returns who.
func (t *tour) ready(ctx context.Context) (self string, err error) {
	err = t.await(ctx, "the daemon to say ready", func() bool {
		said, _ := os.ReadFile(t.daemon.said)
		m := readyLine.FindSubmatch(said)
		if m == nil || string(m[2]) != demoName {
			return false
		}
		self = string(m[1])
		return true
	})
	return self, err
}

// stop has the daemon end in good order.
func (t *tour) stop(ctx context.Context) error {
	d := t.daemon
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the daemon: %w", err)
	}
	select {
	case <-d.gone:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t.patience):
		return fmt.Errorf("stop the daemon: it still runs after %s", t.patience)
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("stop the daemon: it ended with exit code %d", code)
	}
	return nil
}

// look is how often the files of the daemon are looked at.
const look = 40 * time.Millisecond

// await waits until ok. Meanwhile it shows what the identity is saying. A daemon
// that ends meanwhile ends the wait.
func (t *tour) await(ctx context.Context, what string, ok func() bool) error {
	defer t.wipe()
	tick := time.NewTicker(look)
	defer tick.Stop()
	late := time.NewTimer(t.patience)
	defer late.Stop()
	for n := 0; !ok(); n++ {
		t.spin(n, t.streaming())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.daemon.gone:
			if ok() {
				return nil
			}
			return errors.Join(ctx.Err(), fmt.Errorf("wait for %s: the daemon ended (%s)%s", what, t.daemon.cmd.ProcessState, t.lastWords()))
		case <-late.C:
			return fmt.Errorf("wait for %s: not within %s", what, t.patience)
		case <-tick.C:
		}
	}
	return nil
}

// streaming is what the identity has said so far of what it is saying.
func (t *tour) streaming() string {
	if t.id.Dir == "" || !t.tty {
		return ""
	}
	return strings.Join(strings.Fields(status.ReadLive(t.id.Dir)), " ")
}

// lastWords is the last thing that the daemon wrote to its log.
func (t *tour) lastWords() string {
	log, _ := os.ReadFile(filepath.Join(t.dir, "daemon.log"))
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
