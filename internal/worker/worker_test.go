package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func init() {
	Register("upper", func(in io.Reader, out io.Writer) error {
		text, err := io.ReadAll(in)
		fmt.Fprint(out, strings.ToUpper(string(text)))
		return err
	})
	Register("refuse", func(io.Reader, io.Writer) error { return errors.New("page 3 is encrypted") })
	Register("panic", func(io.Reader, io.Writer) error { panic("index out of range") })
	Register("memory", func(io.Reader, io.Writer) error {
		var all [][]byte
		for {
			all = append(all, make([]byte, 16<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = 1
			}
		}
	})
	Register("hang", func(io.Reader, io.Writer) error { select {} })
	Register("endless", func(_ io.Reader, out io.Writer) error {
		for {
			if _, err := out.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
	})
	Register("reach", func(_ io.Reader, out io.Writer) error {
		_, read := os.ReadFile("/etc/hostname")
		_, home := os.ReadDir(os.TempDir())
		_, write := os.Create("/tmp/lethe-worker-was-here")
		_, dial := net.DialTimeout("tcp", "127.0.0.1:9", time.Second)
		fmt.Fprintf(out, "read %v\nhome %v\nwrite %v\ndial %v\nkey %s.", read, home, write, dial, os.Getenv("LETHE_TEST_KEY"))
		return nil
	})
}

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	text := strings.Repeat("hello ", 1<<20)
	out, err := Run(t.Context(), "upper", []byte(text))
	if err != nil || string(out) != strings.ToUpper(text) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// What a file does to its reader is one clear error, and nothing of it stays.
func TestBounds(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	if sandbox.Available() != nil {
		t.Skip(sandbox.Available())
	}
	for name, want := range map[string]string{
		"refuse": "page 3 is encrypted", "panic": "it broke the program that reads it: index out of range",
		"memory": "reading it needs more than 256 MB of memory", "endless": "it holds more than 64 MB of text",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Run(t.Context(), name, nil); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errTime)
	defer cancel()
	if _, err := Run(ctx, "hang", nil); !errors.Is(err, errTime) {
		t.Errorf("hang: %v", err)
	}
}

func TestConfined(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	if sandbox.Available() != nil {
		t.Skip(sandbox.Available())
	}
	t.Setenv("LETHE_TEST_KEY", "secret")
	out, err := Run(t.Context(), "reach", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"home open", "write open", "dial dial tcp", "permission denied", "key ."} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
