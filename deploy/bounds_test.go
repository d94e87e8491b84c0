//go:build linux

package deploy_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/cmd/lab/bench"
	"lethe/internal/test/lethetest"
)

// What a round and a turn of the program ask of the system, counted by go run ./cmd/lab bench in processes of their own.
func TestCallsOfARound(t *testing.T) {
	lethetest.Unraced(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	// Of a turn's calls 12 ask who may read the room, before anything is heard or said. The state that others see is written
	// at times, so one program makes 202 to 222 of them, as the machine is busy.
	most := map[string]float64{"syncs round": 9, "syncs turn": 8.5, "files round": 66, "files turn": 240}
	r, err := bench.Run(t.Context(), bench.Options{Home: filepath.Join(t.TempDir(), "home"), Program: lethe,
		Only: []string{"calls"}, Say: func(string) {}})
	lethetest.Must(t, err)
	t.Log(r)
	for row, bound := range most {
		if got := r.Figures[row]["lethe"]; got == 0 || got > bound {
			t.Errorf("%s: %.1f, at most %.1f are meant", row, got, bound)
		}
	}
	if got := r.Figures["files idle"]["lethe"]; got > 1 {
		t.Errorf("at rest it looks at files %.1f times a second", got)
	}
}

// A daemon that has just become ready holds little memory of its own. What is resident of its file follows from its size.
func TestMemoryAtStart(t *testing.T) {
	const most = 8 << 10
	cmd := exec.CommandContext(t.Context(), lethe, "run", "--offline", "--home", filepath.Join(t.TempDir(), "home"))
	out, err := cmd.StdoutPipe()
	lethetest.Must(t, err)
	lethetest.Must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if lines := bufio.NewScanner(out); !lines.Scan() {
		t.Fatal("it is not ready")
	}
	_, text, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)), "RssAnon:")
	var kB int
	_, err = fmt.Sscan(text, &kB)
	lethetest.Must(t, err)
	t.Log(kB, "kB are its own")
	if kB > most {
		t.Errorf("at most %d kB are meant", most)
	}
}
