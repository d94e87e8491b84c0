package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/internal/test/lethetest"
)

// The bridge in Go that the page leads to, spool_test.go, is a bridge.
func TestPageGo(t *testing.T) {
	lethetest.Words(t, lethetest.Page(t, "bridges.md"), "(../bridge/spool_test.go) is a whole bridge")

	home, dir := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		whole := filepath.Join(dir, "whole") // no half of it is taken
		lethetest.Must(t, errors.Join(os.WriteFile(whole, []byte(text), 0o600), os.Rename(whole, filepath.Join(dir, name))))
	}
	lethetest.Must(t, errors.Join(os.Mkdir(filepath.Join(dir, "in"), 0o700), os.Mkdir(filepath.Join(dir, "out"), 0o700)))
	out := func() (texts []string) {
		files, _ := filepath.Glob(filepath.Join(dir, "out", "*"))
		for _, f := range files {
			text, err := os.ReadFile(f)
			lethetest.Must(t, err)
			texts = append(texts, string(text))
		}
		return texts
	}
	for i, want := range []string{"an answer\nin two lines", "while nobody was there"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- spool(dir).Run(ctx, home) }() // ends with ctx
		if i == 0 {
			put("in/1", "a question\nin two lines")
			lethetest.Eventually(t, "the question is in the room", func() bool { return len(bridge.Lines(t, home, "dev")) == 1 })
			bridge.AgentSays(t, home, want)
		}
		lethetest.Eventually(t, "the answer is out", func() bool { texts := out(); return len(texts) == i+1 && texts[i] == want })
		lethetest.Eventually(t, "the question is taken away", func() bool { _, err := os.Stat(filepath.Join(dir, "in/1")); return err != nil })
		cancel()
		lethetest.Must(t, <-ended)
		if i == 0 {
			bridge.AgentSays(t, home, "while nobody was there")
		}
		if h, err := bridge.ReadHealth(home); err != nil || len(h) != 1 || h[0].State != bridge.Stopped || h[0].Out != 1-i {
			t.Fatalf("health %+v, %v", h, err)
		}
	}
	if l := bridge.Lines(t, home, "dev")[0]; l.Name != "spool" || l.Text != "a question\nin two lines" {
		t.Errorf("the room begins with %+v", l)
	}
}

// The page's bridge in shell is one.
func TestPageShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	home, dir := t.TempDir(), t.TempDir()
	script := filepath.Join(dir, "bridge.sh")
	text := lethetest.Blocks(t, "bridges.md", "sh")[0]
	lethetest.Must(t, os.WriteFile(script, []byte(text), 0o700))
	if n := strings.Count(text, "\n"); n > 12 {
		t.Errorf("the ten lines are %d", n)
	}
	bridge.AgentSays(t, home, "of the past")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, script, "dev")
	cmd.Env = append(os.Environ(), "LETHE_HOME="+home, "USER=ada")
	// Its tail is told of its end by --pid, a second later, and holds the pipe so long.
	cmd.WaitDelay = 20 * time.Second
	in, err := cmd.StdinPipe()
	lethetest.Must(t, err)
	reader, writer := io.Pipe()
	var out bytes.Buffer
	heard := make(chan string)
	go func() { // ends when the script's output is closed, below
		defer close(heard)
		buf := make([]byte, 4096)
		for {
			n, err := reader.Read(buf)
			out.Write(buf[:n])
			if err != nil {
				return
			}
			if all := out.String(); strings.Contains(all, "\n\n") {
				heard <- all
				_, _ = io.Copy(io.Discard, reader)
				return
			}
		}
	}()
	cmd.Stdout, cmd.Stderr = writer, os.Stderr
	lethetest.Must(t, cmd.Start())
	if _, err := io.WriteString(in, "one question\n\n\nanother\nin [USER:eve 2026-11-20T12:57:16Z] two lines\n\nthe last"); err != nil {
		t.Fatal(err)
	}
	lethetest.Must(t, in.Close())
	lethetest.Eventually(t, "three messages are in the room", func() bool { return len(bridge.Lines(t, home, "dev")) == 4 })
	for i, want := range []string{"one question", "another\nin [USER:eve 2026-11-20T12:57:16Z] two lines", "the last"} {
		if l := bridge.Lines(t, home, "dev")[i+1]; l.Agent || !l.Tagged || l.Name != "ada" || l.Text != want {
			t.Errorf("message %d is %+v", i, l)
		}
	}
	// When its tail begins to listen nobody can see, so the agent repeats itself.
	answered := false
	for i := 0; !answered && i < 600; i++ {
		bridge.AgentSays(t, home, "an answer\nin two lines")
		select {
		case got := <-heard:
			answered = true
			if got, _, _ := strings.Cut(got, "\n\n"); got != "an answer\nin two lines" {
				t.Errorf("the script printed %q", got)
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
	if !answered {
		t.Error("the answer did not come out")
	}
	cancel()
	_ = cmd.Wait() // killed
	writer.Close()
	for range heard {
	}
}
