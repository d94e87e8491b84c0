//go:build unix

package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The tour itself runs in the tests of cmd/lethe, as a script.

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A tour that fails says where, and leaves no daemon and no home.
func TestFailures(t *testing.T) {
	const dies, hangs = "echo no such thing >&2; exit 3", "exec sleep 1000"
	for name, tt := range map[string]struct {
		daemon string
		write  func(cancel func(), p []byte) error
		want   string
	}{
		"dies":   {dies, nil, `^demo: "A life begins" did not happen: wait for .*: the daemon ended \(exit status 3\): no such thing$`},
		"hangs":  {hangs, nil, `^demo: "A life begins" did not happen: wait for the daemon to say ready: not within 300ms$`},
		"nobody": {hangs, func(func(), []byte) error { return syscall.EPIPE }, `^tell the demo: broken pipe$`},
		"interrupted": {hangs, func(cancel func(), p []byte) error { cancel(); return nil },
			`^demo: interrupted at "A life begins": context canceled$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			exe := filepath.Join(t.TempDir(), "lethe") // in the place of lethe
			if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+tt.daemon+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := writerFunc(func(p []byte) (int, error) {
				if tt.write != nil {
					return len(p), tt.write(cancel, p)
				}
				return len(p), nil
			})
			tour := &tour{exe: exe, patience: time.Minute, teller: &teller{ctx: ctx, out: out, fast: true}}
			if name == "hangs" {
				tour.patience = 300 * time.Millisecond
			}
			err := tour.run()
			if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if name == "interrupted" && !errors.Is(err, context.Canceled) {
				t.Errorf("%T", err)
			}
			if _, err := os.Stat(tour.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the home: %v", err)
			}
			if tour.daemon != nil {
				select {
				case <-tour.daemon.gone:
				default:
					t.Error("the daemon still runs")
				}
			}
		})
	}
}

func TestTellerStaysInItsWidth(t *testing.T) {
	var out bytes.Buffer
	tell := &teller{ctx: t.Context(), out: &out, fast: true}
	long := strings.Repeat("sea and \x1b[31m sky ", 30) + strings.Repeat("x", 100)
	tell.text("A sentence of several words that is longer than the eighty columns which the lines of a page are given here.")
	tell.line("you", long)
	tell.excerpt(long, 1)
	for line := range strings.Lines(out.String()) {
		if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if text := out.String(); strings.Contains(text, "\x1b") || !utf8.ValidString(text) || !strings.Contains(text, "…") {
		t.Errorf("%q", text)
	}
}
