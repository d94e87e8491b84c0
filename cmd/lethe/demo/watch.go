package demo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/agent/status"
)

// daemon is lethe run as a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// path is a file of the home.
func (t *tour) path(names ...string) string {
	return filepath.Join(append([]string{t.dir, "home"}, names...)...)
}

// lethe prepares to run the program with no key in its environment, in a process
// group of its own, so that Ctrl-C comes to the tour alone.
func (t *tour) lethe(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, t.exe, append(args, "--home", t.path())...)
	cmd.Args[0] = "lethe"
	cmd.Dir = t.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start shows a command that runs a daemon, runs it, and waits until it is ready.
func (t *tour) start(args ...string) error {
	t.command("lethe run --offline %s", strings.Join(args, " "))
	out, err := os.Create(filepath.Join(t.dir, "daemon.log"))
	if err != nil {
		return err
	}
	defer out.Close() // the daemon has its own
	started := &daemon{t.lethe(append([]string{"run", "--offline"}, args...)...), make(chan struct{})}
	started.cmd.Stdout, started.cmd.Stderr = out, out
	if err := started.cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the process, which kill or ctx ends
		_ = started.cmd.Wait()
		close(started.gone)
	}()
	t.daemon = started
	err = t.await("the daemon to say ready", func() (bool, error) {
		_, ready, _ := strings.Cut("\n"+t.log(), "\nready ")
		t.hash = ready[:min(len(ready), 16)]
		return len(t.hash) == 16, nil
	})
	if err != nil {
		return err
	}
	t.excerpt("ready "+t.hash+"… "+name, 1)
	return nil
}

// log returns the output of the newest daemon.
func (t *tour) log() string {
	text, _ := os.ReadFile(filepath.Join(t.dir, "daemon.log"))
	return strings.TrimSpace(string(text))
}

// kill ends the daemon with kill -9, and waits until it is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // fails when it is gone already
	<-d.gone
}

// await polls the files of the daemon until ok, or an error of it.
func (t *tour) await(what string, ok func() (bool, error)) error {
	late := time.After(t.patience)
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-t.ctx.Done():
			return t.ctx.Err()
		case <-t.daemon.gone:
			log := t.log()
			last := log[strings.LastIndex(log, "\n")+1:]
			return fmt.Errorf("wait for %s: the daemon ended (%s): %s", what, t.daemon.cmd.ProcessState, last)
		case <-late:
			return fmt.Errorf("wait for %s: not within %s", what, t.patience)
		case <-time.After(40 * time.Millisecond):
		}
	}
}

// say says a line in the room, as a person would in a pipe, and returns the answer.
func (t *tour) say(text string) (answer string, err error) {
	answer, err = t.output(text, "chat", room, "--once", "--timeout", t.patience.String())
	return strings.TrimSpace(answer), err
}

// output returns what a command of lethe prints that reads an input.
func (t *tour) output(input string, args ...string) (string, error) {
	cmd := t.lethe(args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run lethe %s: %w", args[0], errors.Join(t.ctx.Err(), err))
	}
	return string(out), nil
}

// status returns the status that the identity shows; the zero one if it cannot be read.
func (t *tour) status() status.Status {
	s, _ := status.Read(t.path("names", name))
	return s
}

// life returns the events of some kinds from the n-th line of LIFE.md on, without their times; of all kinds without an
// argument. It leaves out a last line that is being written.
func (t *tour) life(n int, kinds ...string) (out []string, err error) {
	text, err := os.ReadFile(t.path("names", name, "LIFE.md"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines[min(n, len(lines)-1) : len(lines)-1] {
		_, line, _ = strings.Cut(line, "] ")
		kind, _, _ := strings.Cut(line, " ")
		if len(kinds) == 0 || slices.Contains(kinds, kind) {
			out = append(out, line)
		}
	}
	return out, nil
}
