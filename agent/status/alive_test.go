package status

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func TestAlive(t *testing.T) {
	if !Alive(os.Getpid()) || Alive(0) || Alive(-1) {
		t.Error("this process does not live, or none does")
	}
	cmd := exec.Command("sleep", "60")
	lethetest.Must(t, cmd.Start())
	if !Alive(cmd.Process.Pid) {
		t.Error("a child does not live")
	}
	_ = cmd.Process.Kill()
	// It is dead before anybody has waited for it, where /proc tells.
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		for deadline := time.Now().Add(time.Minute); Alive(cmd.Process.Pid); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a dead child lives")
			}
		}
	}
	_ = cmd.Wait()
	if Alive(cmd.Process.Pid) {
		t.Error("a child that was waited for lives")
	}
}

func TestBusyIn(t *testing.T) {
	for _, c := range []struct {
		s    Status
		want bool
	}{
		{Status{State: Thinking, Rooms: []string{"dev", "ops"}, Answering: []string{"dev"}}, true},
		{Status{State: Acting, Rooms: []string{"dev"}}, true},
		{Status{State: Acting, Rooms: []string{"dev", "ops"}, Answering: []string{"ops"}}, false},
		{Status{State: Idle, Rooms: []string{"dev"}}, false},
		{Status{State: Thinking, Rooms: []string{"ops"}}, false},
	} {
		if got := c.s.BusyIn("dev"); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}
