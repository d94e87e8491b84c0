package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"lethe/agent"
)

// A tour that is itself killed with kill -9 leaves no daemon behind.
func TestDemoKilledLeavesNoDaemon(t *testing.T) {
	tmp := t.TempDir()
	cmd := demoProcess(t, tmp, "--fast")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready ") {
	}
	id := demoIdentity(t, tmp)
	if _, running := agent.Running(id); !running {
		t.Fatal("no daemon runs")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, running := agent.Running(id); !running {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the daemon has outlived the tour")
		}
	}
}
