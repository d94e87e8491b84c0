//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lethe/agent/home"
	"lethe/chat"
	"lethe/cmd/lethe/exit"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// travel is what the tests of export and import run lethe with.
type travel struct {
	*testing.T
	url string

	mu   sync.Mutex
	last []byte // the newest request to the model
}

func newTravel(t *testing.T) *travel {
	tr := &travel{T: t}
	model := rehearsal.New(rehearsal.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		tr.mu.Lock()
		tr.last = body
		tr.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tr.url = server.URL
	return tr
}

func (tr *travel) newHome() string {
	home := filepath.Join(lethetest.Dir(tr.T), "home")
	lethetest.Write(tr, filepath.Join(home, "config.toml"),
		fmt.Sprintf("[model]\nbase_url = %q\nname = \"rehearsal\"\n[tools]\nbash = \"trusted\"\n", tr.url))
	return home
}

func (tr *travel) command(home, kill string, args ...string) *exec.Cmd {
	tr.Helper()
	return bare(tr, home, []string{"LETHE_API_KEY=x", killAt + "=" + kill}, args...)
}

func (tr *travel) lethe(home string, args ...string) []byte {
	tr.Helper()
	cmd := tr.command(home, "", args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		tr.Fatalf("lethe %q: %v\n%s", args, err, errs.String())
	}
	return out
}

// refuses fails the test unless a command ends with an exit code. It returns what the command says.
func (tr *travel) refuses(code int, home string, args ...string) string {
	tr.Helper()
	var said strings.Builder
	cmd := tr.command(home, "", args...)
	cmd.Stderr = &said
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		tr.Errorf("lethe %q: %v, want exit code %d\n%s", args, err, code, &said)
	}
	return said.String()
}

// lines runs ada while lines are said and answered in room dev.
func (tr *travel) lines(home string, also func(), lines ...string) {
	tr.Helper()
	daemon := tr.command(home, "", "run", "--name", "ada")
	gone := begin(tr, daemon)
	defer func() { end(daemon, gone) }()
	room := chat.Path(home, "dev")
	answers := func() int {
		text, _ := os.ReadFile(room)
		return strings.Count(string(text), "[AGENT:ada ")
	}
	for _, line := range lines {
		before := answers()
		_, _, err := chat.Append(room, []byte("[USER:grace 2026-11-20T12:57:16Z] "+line+"\n"))
		lethetest.Must(tr, err)
		lethetest.Eventually(tr, "an answer to "+line, func() bool { return answers() > before })
	}
	also()
	tr.lethe(home, "stop", "ada")
}

// A life that was moved asks its model in the other home, with the same bytes, what it would have asked in the old one.
func TestMovedLifeSendsTheSameRequest(t *testing.T) {
	tr := newTravel(t)
	old, fresh, moved := tr.newHome(), tr.newHome(), tr.newHome()
	tr.lines(old, func() { tr.lethe(old, "context", "ada", "--compact") }, "remember that the deploy key is in vault 7",
		"run echo "+strings.Repeat("much ", 4000))
	lethetest.Must(t, os.RemoveAll(fresh))
	lethetest.Must(t, os.CopyFS(fresh, os.DirFS(old)))      // what the old home would have sent
	tr.refuses(exit.Usage, old, "export", "ada", "-o", old) // in the place of a directory
	said := tr.refuses(exit.Failed, old, "export", "ada", "-o", "gone/ada.lethe")
	if said != "lethe: write gone/ada.lethe: no such file or directory\n" {
		t.Errorf("exported to nowhere: %s", said)
	}
	file := filepath.Join(lethetest.Dir(t), "ada.lethe")
	lethetest.Must(t, os.WriteFile(file, tr.lethe(old, "export", "ada"), 0o600))
	tr.lethe(moved, "import", file)
	if out := tr.lethe(moved, "check"); !bytes.Contains(out, []byte("leftovers: 0")) { // though its room stayed behind
		t.Errorf("%s", out)
	}
	var sent [][]byte
	for _, home := range []string{fresh, moved} {
		tr.lines(home, func() {}, "what did I say about the deploy key?")
		sent = append(sent, tr.last)
	}
	if !bytes.Equal(sent[0], sent[1]) || !bytes.Contains(sent[1], []byte("vault 7")) {
		t.Errorf("at home:\n%s\nelsewhere:\n%s", sent[0], sent[1])
	}
	tr.refuses(exit.Running, old, "run", "ada") // it was moved
}

// Wherever an import is killed, the next one finds no life, or a whole one.
func TestKilledImport(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	tr := newTravel(t)
	old := tr.newHome()
	tr.lines(old, func() {}, "remember that the deploy key is in vault 7")
	file := filepath.Join(lethetest.Dir(t), "ada.lethe")
	lethetest.Must(t, os.WriteFile(file, tr.lethe(old, "export", "ada"), 0o600))
	for n, killed := 1, true; killed; n += lethetest.Sample(9, 5, 1) {
		for _, stage := range []string{"before", "after"} {
			h := tr.newHome()
			killed = tr.command(h, fmt.Sprintf("%s:%d", stage, n), "import", file).Run() != nil
			if all, err := (home.Home{Dir: h}).List(); err != nil || len(all) == 0 {
				tr.lethe(h, "import", file)
			}
			if killed && n%2 == 0 {
				tr.lines(h, func() {}, "what did I say about the deploy key?")
			}
			if out := tr.lethe(h, "agents"); !bytes.Contains(out, []byte("stopped")) || !bytes.Contains(out, []byte("ada")) {
				t.Errorf("killed %s step %d:\n%s", stage, n, out)
			}
			if left, _ := filepath.Glob(filepath.Join(h, "agents", ".tmp*")); len(left) > 0 && !killed {
				t.Errorf("left: %v", left)
			}
		}
	}
}
