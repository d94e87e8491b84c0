//go:build unix

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
)

// The tour itself runs in the tests of cmd/lethe, as a script.

// asTour makes the test binary a tour with the program that it names.
const asTour = "LETHE_TEST_TOUR"

func TestMain(m *testing.M) {
	if exe := os.Getenv(asTour); exe != "" {
		_ = Run(context.Background(), Options{Exe: exe, Out: os.Stdout, Fast: true})
		return
	}
	os.Exit(m.Run())
}

// programOf writes a shell script that is run in the place of lethe.
func programOf(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lethe")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A tour that fails says where, leaves no daemon, and its home only when that is to
// be kept.
func TestFailures(t *testing.T) {
	const dies, hangs = "echo no such thing >&2; exit 3", "exec sleep 1000"
	for name, tt := range map[string]struct {
		daemon string
		keep   bool
		write  func(cancel func(), p []byte) error
		want   string
	}{
		"dies":        {dies, false, nil, `^demo: "A life begins" did not happen: wait for .*: the daemon ended \(exit status 3\): no such thing$`},
		"kept":        {dies, true, nil, `^demo: "A life begins" did not happen`},
		"hangs":       {hangs, false, nil, `^demo: "A life begins" did not happen: wait for the daemon to say ready: not within 300ms$`},
		"nobody":      {hangs, false, func(func(), []byte) error { return syscall.EPIPE }, `^tell the demo: broken pipe$`},
		"interrupted": {hangs, false, func(cancel func(), p []byte) error { cancel(); return nil }, `^demo: interrupted at "A life begins": context canceled$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := writerFunc(func(p []byte) (int, error) {
				if tt.write != nil {
					return len(p), tt.write(cancel, p)
				}
				return len(p), nil
			})
			tour := &tour{exe: programOf(t, tt.daemon), keep: tt.keep, patience: time.Minute, teller: newTeller(ctx, out, true)}
			if name == "hangs" {
				tour.patience = 300 * time.Millisecond
			}
			err := tour.run()
			if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if name == "interrupted" && !errors.Is(err, context.Canceled) || name == "dies" && !errors.As(err, new(hinted)) {
				t.Errorf("%T", err)
			}
			if _, err := os.Stat(tour.dir); errors.Is(err, os.ErrNotExist) == tt.keep {
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

// A tour that is itself killed with kill -9 leaves no daemon behind.
func TestKilledTourLeavesNoDaemon(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can")
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asTour+"="+programOf(t, "echo $$ > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 1000"), "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	poll := func(what string, ok func() bool) {
		for deadline := time.Now().Add(time.Minute); !ok(); <-time.After(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	pid := 0
	poll("no daemon runs", func() bool {
		text, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	poll("the daemon has outlived the tour", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // a zombie, where nobody waits for orphans
	})
}

func TestReach(t *testing.T) {
	home, err := agent.OpenHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobs.Open(home.Blobs())
	if err != nil {
		t.Fatal(err)
	}
	id := agent.Identity{Name: name, Dir: filepath.Join(home.Agents(), "x")}
	if err := os.MkdirAll(id.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// No words of hexadecimal letters: an address could hold them.
	put := func(body string) string {
		return store.Short(must(store.Put(blobs.Meta{At: time.Now(), Gist: "g"}, []byte(body))))
	}
	log, err := life.Create(id.LIFE())
	if err != nil {
		t.Fatal(err)
	}
	result := event.Line(time.Now(), event.Result{ID: "e2.1", Tool: "LIST", Status: "ok"})
	result.Refs = []blobs.Ref{{Hash: put("uu\n◆ g"), Gist: "g"}}
	page := event.Line(time.Now(), event.Result{ID: "e3.1", Tool: "UNCOMPACT", Status: "ok"})
	page.Refs = []blobs.Ref{{Hash: put("not seen before"), Gist: "g"}}
	if err := errors.Join(log.Append(result, page), log.Close()); err != nil {
		t.Fatal(err)
	}
	tour := &tour{home: home, store: store, id: id}
	for _, text := range []string{"wwww\nvvvv", "yyyyyyyy", "zzzzzzzzzzzzzzzz"} {
		tour.post(text)
	}
	near := put("vvvv uu ◰4 g\nhash=" + put("x yyyyyyyy x") + " gist=more (e1..e2)")
	view := fmt.Sprintf("wwww\n◱hash=%s gist=it◲ and hash=%s, which is nothing\n", near, strings.Repeat("0", 16))
	if err := os.WriteFile(filepath.Join(id.Dir, "context.md"), []byte(view), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := tour.reach(), [4]int{4, 4 + 2 + len("◆ g"), 8, 16}; got != want || len(tour.lines()) != 3 {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestTellerStaysInItsWidth(t *testing.T) {
	var out bytes.Buffer
	tell := newTeller(t.Context(), &out, true)
	tell.wide = 40
	long := strings.Repeat("sea and \x1b[31m sky ", 30) + strings.Repeat("x", 100)
	tell.text("A sentence of several words that is longer than the forty columns.")
	tell.line("you", long, 3)
	tell.excerpt(2, long, "◆ e1..e6 summary")
	tell.gauge("read watch/1907-01.md", 10)
	tell.table([][2]string{{"a", "b"}, {"a name", "something that has to be broken, for it is long"}})
	for line := range strings.Lines(out.String()) {
		if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > 70 || !strings.Contains(line, "░") && n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	text := out.String()
	if strings.Contains(text, "\x1b") || !utf8.ValidString(text) || !strings.Contains(text, "…") {
		t.Errorf("%q", text)
	}
	if got := grouped(1234567) + grouped(999) + grouped(1000); got != "1,234,5679991,000" {
		t.Error(got)
	}
}
