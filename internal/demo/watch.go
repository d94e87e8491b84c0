package demo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/agent"
	"lethe/internal/must"
	"lethe/internal/status"
	"lethe/life"
	"lethe/mind"
)

// daemon is lethe run as a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	log  string        // the file with what it says
	gone chan struct{} // closed when it has ended
}

// lethe prepares to run the program with no key in its environment, in a process
// group of its own, so that Ctrl-C comes to the tour alone.
func (t *tour) lethe(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, t.exe, append(args, "--home", t.home.Dir)...)
	cmd.Args[0] = "lethe"
	cmd.Dir = t.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start shows a command that runs a daemon, runs it, and waits until it is ready.
func (t *tour) start(args ...string) {
	t.command("lethe run --offline %s", strings.Join(args, " "))
	out := must.Get(os.Create(filepath.Join(t.dir, "daemon.log")))
	defer out.Close() // the daemon has its own
	d := &daemon{t.lethe(append([]string{"run", "--offline"}, args...)...), out.Name(), make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = out, out
	must.Do(d.cmd.Start())
	go func() { // ends with the process, which kill or ctx ends
		_ = d.cmd.Wait()
		close(d.gone)
	}()
	t.daemon = d
	var said string
	t.await("the daemon to say ready", func() bool {
		log, _ := os.ReadFile(d.log)
		said = string(regexp.MustCompile(`(?m)^ready [0-9a-f]{16}`).Find(log))
		return said != ""
	})
	t.id = must.Get(t.home.Find(name))
	if said != "ready "+t.id.Self[:16] {
		fail("the daemon says %s, and %s is %.16s", said, name, t.id.Self)
	}
	t.excerpt(said + "… " + name)
}

// kill ends the daemon with kill -9, and waits until it is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // fails when it is gone already
	<-d.gone
}

// await polls the files of the daemon until ok.
func (t *tour) await(what string, ok func() bool) {
	late := time.After(t.patience)
	for !ok() {
		select {
		case <-t.ctx.Done():
			must.Do(t.ctx.Err())
		case <-t.daemon.gone:
			log, _ := os.ReadFile(t.daemon.log)
			lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
			must.Do(errors.Join(t.ctx.Err(), fmt.Errorf("wait for %s: the daemon ended (%s): %s", what, t.daemon.cmd.ProcessState, lines[len(lines)-1])))
		case <-late:
			fail("wait for %s: not within %s", what, t.patience)
		case <-time.After(40 * time.Millisecond):
		}
	}
}

// say says a line in the room, as a person would in a pipe, and returns the answer.
func (t *tour) say(text string) string {
	cmd := t.lethe("chat", room, "--once", "--timeout", t.patience.String())
	cmd.Stdin = strings.NewReader(text)
	t.said++
	return strings.TrimSpace(t.output(cmd))
}

func (t *tour) output(cmd *exec.Cmd) string {
	out, err := cmd.Output()
	if err != nil {
		fail("run %s: %w", strings.Join(cmd.Args[:2], " "), errors.Join(t.ctx.Err(), err))
	}
	return string(out)
}

// status is what the identity shows; zero when it cannot be read.
func (t *tour) status() status.Status {
	s, _ := status.Read(t.id.Dir)
	return s
}

// happened returns the events of some kinds from the n-th line of LIFE.md on, of all
// kinds where none is given. A last line that is being written is left out.
func (t *tour) happened(n int, kinds ...string) (out []life.Event) {
	lines := strings.Split(string(must.Get(os.ReadFile(t.id.LIFE()))), "\n")
	for _, line := range lines[min(n, len(lines)-1) : len(lines)-1] {
		if e := must.Get(life.ParseLine(line)); len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// show shows an event as LIFE.md has it, without its time.
func (t *tour) show(e life.Event) {
	_, line, _ := strings.Cut(e.String(), "] ")
	t.excerpt(line)
}

// viewed waits until context.md is whole and shows all of a state that will do.
func (t *tour) viewed(what string, will func(*mind.State) bool) (text string) {
	t.await(what, func() bool {
		s, err := agent.Fold(t.id, t.store)
		if err != nil || !will(s) {
			return false
		}
		view := must.Get(os.ReadFile(filepath.Join(t.id.Dir, "context.md")))
		seen, ok := mind.ReadView(view)
		text = string(view)
		return ok && seen.Intact && seen.Epoch == s.Epoch && seen.Through == s.Next-1
	})
	return text
}

// cat reads the body of a blob, checked, as lethe cat does.
func (t *tour) cat(short string) string {
	return string(must.Get(t.store.Get(must.Get(t.store.Resolve(short)))).Body)
}
