//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lethe/agent"
)

// Daemons that boot one name at once in a fresh home make one identity. One of
// them runs it, and the others say that it runs already.
func TestBootsAtOnce(t *testing.T) {
	lethe, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	const daemons = 4
	codes := make(chan int, daemons)
	var running []*exec.Cmd
	for range daemons {
		cmd := exec.Command(lethe, "run", "--offline", "--home", home, "--name", "ada")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=" + raceOptions}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
		go func() { // ends with the process
			_ = cmd.Wait()
			codes <- cmd.ProcessState.ExitCode()
		}()
	}
	ended := 0
	end := func() {
		for _, cmd := range running {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		for ; ended < daemons; ended++ {
			<-codes
		}
	}
	defer end()
	limit := time.After(patience)
	for ; ended < daemons-1; ended++ {
		select {
		case code := <-codes:
			if code != exitRunning {
				t.Errorf("one that came too late has exit code %d", code)
			}
		case <-limit:
			t.Fatalf("%d of %d daemons have ended, and all but one should", ended, daemons)
		}
	}
	all, err := agent.Home{Dir: home}.List()
	if err != nil || len(all) != 1 {
		t.Errorf("identities: %v, %v", all, err)
	}
}
