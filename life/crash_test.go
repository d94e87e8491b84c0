package life

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// Each step of an append fails, lost or done all the same: the log refuses to go
// on, and opened again it holds all of the append or nothing.
func TestAppendFaults(t *testing.T) {
	defer func() { durable.Fault = nil }()
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for _, op := range []string{"append", "sync"} {
			l, path := newLog(t)
			appendAll(t, l, numbered("epoch", 1, 1)...)
			durable.Fault = func(s durable.Stage, o, _ string) error {
				if s == stage && o == op {
					return syscall.ENOSPC
				}
				return nil
			}
			err := l.Append(numbered("note", 2, 2)...)
			durable.Fault = nil
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s %s: append: %v", stage, op, err)
			}
			err = l.Append(numbered("note", 2, 1)...)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "earlier") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %s: second append: %v", stage, op, err)
			}
			if _, err := l.SinceEpoch(); err == nil {
				t.Errorf("%s %s: an unsure log is read: %v", stage, op, err)
			}
			if _, err := l.Lines(1); err == nil {
				t.Errorf("%s %s: an unsure log is read: %v", stage, op, err)
			}
			l = mustOpen(t, path)
			want := "epoch:e1 note:e2 note:e3"
			if stage == durable.Before && op == "append" {
				want = "epoch:e1"
			}
			if got, err := l.SinceEpoch(); err != nil || args(got) != want || l.Torn != "" {
				t.Errorf("%s %s: reopened: %s %v, torn %q", stage, op, args(got), err, l.Torn)
			}
			appendAll(t, l, numbered("note", 4, 1)...)
		}
	}
}

// The repair itself fails at each step; the next one ends it, and the torn bytes
// are never lost.
func TestMendFaults(t *testing.T) {
	defer func() { durable.Fault = nil }()
	before, group := build(t, 2)
	data := before + group[:len(group)-9]
	keep := strings.LastIndex(data, "\n") + 1
	steps := 0
	for step := 1; ; step++ {
		path := filepath.Join(t.TempDir(), "LIFE.md")
		lethetest.Must(t, os.WriteFile(path, []byte(data), 0o600))
		n := 0
		durable.Fault = func(durable.Stage, string, string) error {
			if n++; n == step {
				return syscall.EIO
			}
			return nil
		}
		l, err := Open(path)
		durable.Fault = nil
		if err == nil {
			l.Close()
			break
		}
		steps++
		if !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "\n") {
			t.Errorf("step %d: %v", step, err)
		}
		l = mustOpen(t, path)
		if got := mustRead(t, path); got != data[:keep] {
			t.Errorf("step %d: %d bytes kept, want %d", step, len(got), keep)
		}
		if !slices.ContainsFunc(torn(t, path), func(f string) bool { return mustRead(t, f) == data[keep:] }) {
			t.Errorf("step %d: the torn end is gone", step)
		}
		appendAll(t, l, numbered("note", 9, 1)...)
	}
	if steps < 12 {
		t.Errorf("only %d steps", steps)
	}
}

// What Open found is synced before anybody acts on it: its writer may have died
// between write and sync.
func TestOpenSyncs(t *testing.T) {
	defer func() { durable.Fault = nil }()
	l, path := newLog(t)
	appendAll(t, l, numbered("epoch", 1, 1)...)
	var steps []string
	durable.Fault = func(s durable.Stage, op, p string) error {
		if s == durable.After {
			steps = append(steps, op+" "+filepath.Base(p))
		}
		return nil
	}
	mustOpen(t, path)
	if want := []string{"sync LIFE.md", "syncdir " + filepath.Base(filepath.Dir(path))}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
}
