//go:build unix

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	program "lethe/cmd/lethe"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// torn runs commands in this process, on disks that end an append in the middle and take nothing from then on.
type torn struct {
	*testing.T
	out bytes.Buffer // of the last command
}

// secretWord is what is erased.
const secretWord = "deploy key is in vault 7"

func (w *torn) run(ctx context.Context, home string, args ...string) int {
	w.out.Reset()
	in := ""
	if args[0] == "erase" {
		in = secretWord
	}
	app := cli.New(strings.NewReader(in), &w.out, &w.out)
	app.Runs.Pace = 0
	return program.Execute(ctx, app, append(slices.Clone(args), "--home", home))
}

// lethe runs a command that has to succeed.
func (w *torn) lethe(home string, args ...string) bool {
	w.Helper()
	if code := w.run(w.Context(), home, args...); code != exit.Done {
		w.Errorf("lethe %q: exit code %d\n%s", args, code, w.out.String())
		return false
	}
	return true
}

// isLog reports whether a file is the log of a life, or becomes one.
func isLog(path string) bool {
	return slices.Contains([]string{"LIFE.md", "LIFE.new"}, filepath.Base(path))
}

// appends runs a command and returns what it appends to logs.
func (w *torn) appends(home string, args ...string) (data [][]byte) {
	w.Helper()
	durable.Trace = func(op durable.Op) {
		if op.Kind == "write" && isLog(op.Path) && bytes.HasPrefix(op.Data, []byte("[20")) { // others take bytes out
			data = append(data, op.Data)
		}
	}
	defer func() { durable.Trace = nil }()
	w.lethe(home, args...)
	return data
}

// tear runs a command whose append number n to a log ends after so many bytes, and that changes nothing from then on.
func (w *torn) tear(home string, n, bytes int, args ...string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	full, began := errors.New("the disk is full"), false
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if began {
			return full
		}
		if stage == durable.Before && op == "append" && isLog(path) {
			if n--; n < 0 {
				began = true
				cancel()
				return &durable.Short{Bytes: bytes, Err: full}
			}
		}
		return nil
	}
	defer func() { durable.Fault = nil }()
	if w.run(ctx, home, args...) == exit.Done || !began {
		w.Errorf("%q has not failed at append %d: %s", args, n, w.out.String())
	}
}

// cuts are the places in lines where an append is torn: behind each line but the last, and in each.
func cuts(lines []byte) (out []int) {
	at := 0
	for line := range bytes.Lines(lines) {
		out = append(out, at+len(line)/2, at+len(line))
		at += len(line)
	}
	return out[:len(out)-1]
}

// goesOn checks that nothing is stuck: the life is whole, and runs here and, carried over, elsewhere.
func (w *torn) goesOn(home string) {
	w.Helper()
	elsewhere, file := filepath.Join(lethetest.Dir(w), "home"), filepath.Join(lethetest.Dir(w), "ada.lethe")
	_ = w.lethe(home, "ask", "ada", "what now?", "--offline") && w.lethe(home, "check") &&
		w.lethe(home, "export", "ada", "-o", file) && w.lethe(elsewhere, "import", file) &&
		w.lethe(elsewhere, "ask", "ada", "and now?", "--offline") && w.lethe(elsewhere, "check")
}

// A torn append is dropped or finished, whichever command wrote it, by the same command and by any other one, and
// nothing is stuck.
func TestTornAppends(t *testing.T) {
	lethetest.Unraced(t)
	w := &torn{T: t}

	base, file := filepath.Join(lethetest.Dir(t), "home"), filepath.Join(lethetest.Dir(t), "ada.lethe")
	lethetest.Write(t, filepath.Join(base, "config.toml"), "[tools]\nbash = \"trusted\"\n")
	for _, line := range []string{"remember that the " + secretWord, "run echo one", "run echo two"} {
		w.lethe(base, "ask", "--name", "ada", line, "--offline")
	}
	w.lethe(base, "branch", "ada", "early")
	for _, line := range []string{"run seq 1 3000", "run seq 1 4000"} {
		w.lethe(base, "ask", "ada", line, "--offline")
	}
	moved := copied(w, base)
	w.lethe(moved, "export", "ada", "-o", file)
	hurt := copied(w, base)
	_, heard, _ := strings.Cut(w.life(hurt), " inbound e7 ")
	_, short, _ := strings.Cut(heard, "hash=")
	lost, err := filepath.Glob(filepath.Join(hurt, "blobs", short[:3], short[3:16]+"*"))
	lethetest.Must(t, err)
	lethetest.Must(t, os.Remove(lost[0]))
	lethetest.Must(t, os.Remove(filepath.Join(hurt, "chats", "dev.md"))) // it would come back from there
	empty := filepath.Join(lethetest.Dir(t), "home")
	lethetest.Must(t, os.MkdirAll(empty, 0o700))

	others := [][]string{{"check", "--repair"}, {"ask", "ada", "are you there?", "--offline"}, {"fork", "ada"},
		{"export", "ada", "--copy", "-o", filepath.Join(lethetest.Dir(t), "copy")},
		{"branch", "ada", "late"}, {"gc", "--yes"}, {"context", "ada", "--compact"}, {"cat", "hash=123456789abc"}}
	every, tried := lethetest.Sample(101, 101, 1), lethetest.Day()
	for _, c := range []struct {
		home string
		args []string
	}{
		{base, []string{"export", "ada", "-o", filepath.Join(lethetest.Dir(t), "moved")}},
		{base, []string{"erase", "ada", "-", "--yes"}},
		{hurt, []string{"check", "--repair"}},
		{base, []string{"branch", "ada", "--to", "early"}},
		{base, []string{"fork", "ada", "--name", "bea"}},
		{empty, []string{"import", file}},
		{base, []string{"context", "ada", "--compact"}},
		{base, []string{"ask", "ada", "run echo hello", "--offline"}},
	} {
		multi := 0
		for n, lines := range w.appends(copied(w, c.home), c.args...) {
			if bytes.Count(lines, []byte("\n")) == 1 {
				continue
			}
			multi++
			for _, cut := range cuts(lines) {
				for _, other := range append(others, nil) {
					if tried++; tried%every == 0 {
						t.Run(fmt.Sprintf("%s, append %d at byte %d, then %q", c.args[0], n, cut, other), func(t *testing.T) {
							(&torn{T: t}).tornThen(c.home, n, cut, other, c.args...)
						})
					}
				}
			}
		}
		if multi == 0 {
			t.Errorf("%q appends no lines together", c.args)
		}
	}
}

// tornThen tears an append of a command and goes on, first with another one, if there is one.
func (w *torn) tornThen(home string, n, cut int, other []string, args ...string) {
	w.Helper()
	home = copied(w, home)
	w.tear(home, n, cut, args...)
	for _, next := range [][]string{other, args} {
		if next == nil {
			continue
		}
		w.run(w.Context(), home, next...)
		if left := holding(w, home, secretWord); args[0] == "erase" && len(left) > 0 {
			w.Errorf("after %q, what was to be erased is still in %v", next, left)
		}
	}
	for _, why := range []string{"branch", "erased", "lost"} {
		if notes := regexp.MustCompile(` note e\d+ why=`+why).FindAllString(w.life(home), -1); len(notes) > 1 {
			w.Errorf("it is told twice: %q", notes)
		}
	}
	if args[0] == "export" { // it goes on where it was taken to
		elsewhere := filepath.Join(lethetest.Dir(w), "home")
		w.lethe(elsewhere, "import", args[3])
		home = elsewhere
	}
	_ = w.lethe(home, "check")
	w.goesOn(home)
}

// life is the log of the only identity of a home.
func (w *torn) life(home string) string {
	w.Helper()
	logs, err := filepath.Glob(filepath.Join(home, "agents", "*", "LIFE.md"))
	lethetest.Must(w, err)
	return lethetest.Read(w, logs[0])
}
