//go:build unix

package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// tries runs lethe on a home, and returns all that it prints.
func tries(home string, args ...string) (string, error) {
	out, err := exec.Command("lethe", append([]string{"--home", home}, args...)...).CombinedOutput()
	return string(out), err
}

// does is tries for a command that has to succeed.
func does(t testing.TB, home string, args ...string) string {
	t.Helper()
	out, err := tries(home, args...)
	if err != nil {
		t.Fatalf("lethe %q: %v\n%s", args, err, out)
	}
	return out
}

// copied is a copy of a home, at a path that it has for itself.
func copied(t testing.TB, from string) string {
	t.Helper()
	home := filepath.Join(lethetest.Dir(t), "home")
	out, err := exec.Command("cp", "-a", from, home).CombinedOutput()
	if err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
	return home
}

// holding counts how often each file of a home holds a text.
func holding(t testing.TB, home, text string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	lethetest.Must(t, filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if count := strings.Count(lethetest.Read(t, path), text); count > 0 {
			counts[strings.TrimPrefix(path, home)] = count
		}
		return nil
	}))
	return counts
}

// bare makes a command of lethe on a home, which has these variables of the environment and hardly any other.
func bare(t testing.TB, home string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	lethe, err := exec.LookPath("lethe")
	lethetest.Must(t, err)
	cmd := exec.Command(lethe, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LETHE_HOME=" + home, "GORACE=" + raceOptions}, env...)
	return cmd
}

// begin starts a process, and returns a channel that is closed when it has ended.
func begin(t testing.TB, cmd *exec.Cmd) (gone chan struct{}) {
	t.Helper()
	lethetest.Must(t, cmd.Start())
	gone = make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait()
		close(gone)
	}()
	return gone
}

// end kills a process that begin has started.
func end(cmd *exec.Cmd, gone chan struct{}) {
	_ = cmd.Process.Kill()
	<-gone
}
