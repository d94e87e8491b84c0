package status_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

func TestAlive(t *testing.T) {
	if !status.Alive(os.Getpid()) || status.Alive(0) || status.Alive(-1) {
		t.Error("this process does not live, or none does")
	}
	cmd := exec.Command("sleep", "60")
	lethetest.Must(t, cmd.Start())
	if !status.Alive(cmd.Process.Pid) {
		t.Error("a child does not live")
	}
	_ = cmd.Process.Kill()
	// It is dead before anybody has waited for it, where /proc tells.
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		for deadline := time.Now().Add(time.Minute); status.Alive(cmd.Process.Pid); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a dead child lives")
			}
		}
	}
	_ = cmd.Wait()
	if status.Alive(cmd.Process.Pid) {
		t.Error("a child that was waited for lives")
	}
}

func TestBusyIn(t *testing.T) {
	for _, c := range []struct {
		s    status.Status
		want bool
	}{
		{status.Status{State: status.Thinking, Rooms: []string{"dev", "ops"}, Answering: []string{"dev"}}, true},
		{status.Status{State: status.Acting, Rooms: []string{"dev"}}, true},
		{status.Status{State: status.Acting, Rooms: []string{"dev", "ops"}, Answering: []string{"ops"}}, false},
		{status.Status{State: status.Idle, Rooms: []string{"dev"}}, false},
		{status.Status{State: status.Thinking, Rooms: []string{"ops"}}, false},
	} {
		if got := c.s.BusyIn("dev"); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}
