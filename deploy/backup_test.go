//go:build unix

package deploy_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// daemon runs the program in a home until the test ends, and returns once it is
// ready. kill ends it as a power cut would.
func daemon(t *testing.T, home string, args ...string) (kill func()) {
	t.Helper()
	cmd := exec.Command(lethe, append([]string{"--home", home, "run", "--offline"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "ready ") {
		t.Fatalf("the daemon says %q, %v", line, err)
	}
	return kill
}

// ask says something in room dev and returns the answer.
func ask(t *testing.T, home, text string) string {
	t.Helper()
	cmd := exec.Command(lethe, "--home", home, "chat", "--once", "--timeout", "60s")
	cmd.Stdin = strings.NewReader(text + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return string(out)
}

// The README's commands for a backup of a running home make a home that lives on,
// and knows what was said before.
func TestBackupWhileItRuns(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("tar is not here")
	}
	dir := t.TempDir()
	home, backup := filepath.Join(dir, "home"), filepath.Join(dir, "backup")
	if err := os.Mkdir(backup, 0o700); err != nil {
		t.Fatal(err)
	}
	kill := daemon(t, home, "--name", "ada")
	ask(t, home, "remember that the deploy key is in vault 7")

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop: somebody talks on meanwhile
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = exec.Command(lethe, "--home", home, "say", "dev", fmt.Sprint("line ", i)).Run()
			}
		}
	}()
	copied := 0
	for _, line := range commands(t) {
		if !strings.Contains(line, "| sudo tar ") {
			continue
		}
		copied++
		line = strings.NewReplacer("sudo ", "", "/var/lib/lethe", home, "/backup/lethe", backup).Replace(line)
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	close(stop)
	<-stopped
	kill()
	if copied != 2 {
		t.Fatalf("the README copies with %d commands", copied)
	}

	daemon(t, backup, "ada")
	if answer := ask(t, backup, "what did I say about the deploy key?"); !strings.Contains(answer, "vault 7") {
		t.Errorf("the copy answers %q", answer)
	}
}
