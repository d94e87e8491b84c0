//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lethe/internal/test/lethetest"
)

// seat is a person's terminal of 24 rows, with a program in it.
type seat struct {
	t      *testing.T
	cmd    *exec.Cmd
	keys   *os.File
	gone   chan struct{}
	mu     sync.Mutex
	screen strings.Builder // all that was written, with its sequences
}

// sit starts lethe in a terminal of this kind.
func sit(t *testing.T, home, term string, args ...string) *seat {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	lethetest.Must(t, err)
	t.Cleanup(func() { _ = keys.Close() })
	master := int(keys.Fd())
	lethetest.Must(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	lethetest.Must(t, err)
	lethetest.Must(t, unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	lethetest.Must(t, err)
	defer tty.Close()
	s := &seat{t: t, keys: keys, cmd: bare(t, home, []string{"TERM=" + term, "PAGER=" + os.Getenv("PAGER")}, args...)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.gone = begin(t, s.cmd)
	t.Cleanup(func() { end(s.cmd, s.gone) })
	go func() { // ends with the terminal
		buffer := make([]byte, 1<<16)
		for {
			n, err := keys.Read(buffer)
			s.mu.Lock()
			s.screen.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *seat) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

func (s *seat) types(keys string) {
	s.t.Helper()
	_, err := s.keys.WriteString(keys)
	lethetest.Must(s.t, err)
}

// awaits waits until the terminal has shown a text.
func (s *seat) awaits(text string) {
	s.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(s.text(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the terminal does not show %q:\n%q", text, s.text())
		}
	}
}

func (s *seat) ends() {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(soon):
		s.t.Fatal("the chat did not end")
	}
}

const alternateScreen = "\x1b[?1049h"

// A signal ends a chat on the full screen, whenever it comes. Bubble Tea's own handler used to wait for ever beside
// ours.
func TestSignalEndsTheScreen(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for range 8 {
		s := sit(t, home, "xterm-256color", "--offline")
		s.awaits(alternateScreen)
		s.awaits("idle")
		lethetest.Must(t, s.cmd.Process.Signal(syscall.SIGTERM))
		s.ends()
	}
}

// A terminal that can only print gets lines.
func TestDumbTerminalGetsLines(t *testing.T) {
	s := sit(t, filepath.Join(t.TempDir(), "home"), "dumb", "--offline")
	s.awaits("offline rehearsal model")
	s.types("what is 12*7?\n")
	s.awaits("12*7 = 84")
	if strings.Contains(s.text(), "\x1b[") {
		t.Errorf("a dumb terminal is sent control sequences: %q", s.text())
	}
	s.types("\x04")
	s.ends()
}

// On a terminal the context goes through a pager, with its summary first; where that is missing, it is printed.
func TestContextIsPaged(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	does(t, home, "--offline", "--name", "ada", "hello")
	pages := filepath.Join(t.TempDir(), "pages")
	s := sit(t, home, "xterm-256color", "context", "ada")
	s.awaits("ada: about ")
	end(s.cmd, s.gone)
	t.Setenv("PAGER", "cat > "+pages)
	s = sit(t, home, "xterm-256color", "context", "ada")
	s.ends()
	summary, rest, _ := strings.Cut(lethetest.Read(t, pages), "◆ context")
	if !strings.HasPrefix(summary, "ada: about ") || !strings.Contains(rest, "hello") {
		t.Errorf("the pager gets %q and %q", summary, rest)
	}
	t.Setenv("PAGER", "no-such-pager")
	s = sit(t, home, "xterm-256color", "context", "ada")
	s.ends()
	s.awaits("hello")
}
