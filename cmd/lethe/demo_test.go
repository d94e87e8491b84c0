//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
)

// TestDemo runs the tour as a user does, in a process of its own, and looks at
// what it tells.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes about 20 seconds")
	}
	tmp := t.TempDir()
	cmd := demoProcess(t, tmp, "--fast", "--keep")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, cmd.Stderr, out)
	}
	for _, want := range []string{
		`ready [0-9a-f]{16}… iris`, `fade e1\.\.e\d+ to=summary rel=\d+ ◱hash=[0-9a-f]{16} gist=`, `epoch 1 why=full`,
		`◆ e1\.\.e\d+ summary ◱hash=`, `◆ pins`, `│ hint e\d+ why=inbound ref=|the index did not answer in the quarter of a second`,
		`result e\d+\.1 UNCOMPACT status=ok`, `\$ lethe recall postcard`, `│ [0-9a-f]{16}  .*  e1\.\.e\d+  room dev`, `kill -9 \d+`, `signal: killed`,
		`within reach +100 % of [\d,]+ bytes`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the tour does not tell %s", want)
		}
	}
	if n := strings.Count(strings.Join(strings.Fields(string(out)), " "), demoDetail+".”"); n != 2 {
		t.Errorf("the detail was told %d times, not twice", n)
	}
	for line := range strings.Lines(string(out)) {
		if ansi.StringWidth(line) > 81 && !strings.Contains(line, tmp) || strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("not a plain line: %q", line)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	// It was kept, it is whole, and nobody runs it.
	id := demoIdentity(t, tmp)
	if _, running := agent.Running(id); running {
		t.Error("the daemon still runs")
	}
	var last string
	if err := life.Scan(id.LIFE(), func(e life.Event, _ int64) error { last = e.Kind; return nil }); err != nil || last != "stopped" {
		t.Errorf("LIFE ends with %q: %v", last, err)
	}
}

func demoProcess(t *testing.T, tmp string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"demo"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

// demoIdentity is the identity of the only demo in a directory.
func demoIdentity(t *testing.T, tmp string) agent.Identity {
	t.Helper()
	homes, err := filepath.Glob(filepath.Join(tmp, "lethe-demo-*", "home"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("homes %q, %v", homes, err)
	}
	id, err := agent.Home{Dir: homes[0]}.Find(demoName)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// newTour is a tour that tells to a buffer and finds its home under a directory
// of the test.
func newTour(t *testing.T, exe string) (*tour, *bytes.Buffer) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	path, err := exec.LookPath(exe)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return &tour{exe: path, limit: demoLimit, patience: demoPatience, story: demoLines(), teller: newTeller(&out, true)}, &out
}

// fails runs a tour that must fail, and checks that nothing is left of it.
func fails(t *testing.T, ctx context.Context, tour *tour, want string) error {
	t.Helper()
	err := tour.run(ctx)
	if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := os.Stat(tour.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home is still there: %v", err)
	}
	if tour.daemon != nil {
		select {
		case <-tour.daemon.gone:
		default:
			t.Error("the daemon still runs")
		}
	}
	return err
}

// program writes a shell script that is run in the place of lethe.
func programOf(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lethe")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDemoFailsWhenTheDaemonDoes(t *testing.T) {
	tour, _ := newTour(t, programOf(t, "echo no such thing >&2; exit 3"))
	err := fails(t, t.Context(), tour, `^demo: "A life begins" did not happen: wait for .*: the daemon ended \(exit status 3\): no such thing$`)
	if !strings.Contains((&program{}).hintOf(err), "--keep") {
		t.Errorf("hint %q", (&program{}).hintOf(err))
	}
}

func TestDemoFailsWhenTheDaemonHangs(t *testing.T) {
	tour, _ := newTour(t, programOf(t, "exec sleep 1000"))
	tour.patience = 100 * time.Millisecond
	fails(t, t.Context(), tour, `^demo: "A life begins" did not happen: wait for the daemon to say ready: not within 100ms$`)
}

func TestDemoFailsWhenNothingFades(t *testing.T) {
	tour, _ := newTour(t, "lethe")
	tour.story = tour.story[:2]
	fails(t, t.Context(), tour, `^demo: "Talk" did not happen: nothing has begun to fade`)
}

// Where no hint came in time, the identity finds it all the same, and the tour
// says that there was none.
func TestDemoWithoutHint(t *testing.T) {
	if testing.Short() {
		t.Skip("takes about 15 seconds")
	}
	tour, out := newTour(t, "lethe")
	tour.config = "[recall]\nhints = \"off\"\n"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tour.out = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "5  kill -9") {
			cancel()
		}
		return out.Write(p)
	})
	fails(t, ctx, tour, `^demo: interrupted at "kill -9"`)
	told := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"the index did not answer", "RECALL status=ok", "UNCOMPACT status=ok", demoDetail + ".”"} {
		if !strings.Contains(told, want) {
			t.Errorf("the tour does not tell %q:\n%s", want, out)
		}
	}
}

func TestDemoIsInterrupted(t *testing.T) {
	tour, out := newTour(t, "lethe")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tour.out = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "2  Talk") {
			cancel()
		}
		return out.Write(p)
	})
	if err := fails(t, ctx, tour, `^demo: interrupted at "Talk"`); codeOf(err) != exitInterrupt {
		t.Errorf("exit code %d", codeOf(err))
	}
}

func TestDemoEndsWhenNobodyReads(t *testing.T) {
	tour, _ := newTour(t, "lethe")
	tour.out = writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE })
	fails(t, t.Context(), tour, `^tell the demo: broken pipe$`)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestReach(t *testing.T) {
	home, err := agent.OpenHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobs.Open(home.Blobs())
	if err != nil {
		t.Fatal(err)
	}
	id := agent.Identity{Name: demoName, Dir: filepath.Join(home.Agents(), "x")}
	if err := os.MkdirAll(id.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// No words of hexadecimal letters: an address could hold them.
	put := func(body string) string {
		h, err := store.Put(blobs.Meta{At: time.Now(), Gist: "g"}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return store.Short(h)
	}
	log, err := life.Create(id.LIFE())
	if err != nil {
		t.Fatal(err)
	}
	result := life.New(time.Now(), "result", []string{"e2.1", "LIST"})
	result.Refs = []blobs.Ref{{Hash: put("uu\n◆ g"), Gist: "g"}}
	page := life.New(time.Now(), "result", []string{"e3.1", "UNCOMPACT"})
	page.Refs = []blobs.Ref{{Hash: put("not seen before"), Gist: "g"}}
	if err := errors.Join(log.Append(result, page), log.Close()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"wwww\nvvvv", "yyyyyyyy", "zzzzzzzzzzzzzzzz"} {
		line, err := chat.Format(false, "you", time.Now(), text)
		if err == nil {
			_, _, err = chat.Append(chat.Path(home.Dir, demoRoom), line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	deep := put("x yyyyyyyy x")
	near := put("vvvv uu ◰4 g\nhash=" + deep + " gist=more (e1..e2)")
	view := fmt.Sprintf("wwww\n◱hash=%s gist=it◲ and hash=%s, which is nothing\n", near, strings.Repeat("0", 16))
	if err := os.WriteFile(filepath.Join(id.Dir, "context.md"), []byte(view), 0o600); err != nil {
		t.Fatal(err)
	}
	tour := &tour{home: home, store: store, id: id}
	r, err := tour.reach()
	if want := [4]int{4, 4 + 2 + len("◆ g"), 8, 16}; err != nil || r.at != want {
		t.Fatalf("%v, want %v: %v", r.at, want, err)
	}
	if p := r.percent(0, 3); math.Abs(p-100) > 1e-9 {
		t.Errorf("%v %% in all", p)
	}
}

func TestTellerStaysInItsWidth(t *testing.T) {
	var out bytes.Buffer
	tell := newTeller(&out, true)
	tell.wide = 40
	long := strings.Repeat("sea and \x1b[31m sky ", 30) + strings.Repeat("x", 100)
	tell.text("A sentence of several words that is longer than the forty columns.")
	tell.line("you", long, 3)
	tell.excerpt(2, long, "◆ e1..e6 summary")
	tell.gauge("read watch/1907-01.md", 10, 20)
	tell.table([][2]string{{"a", "b"}, {"a name", "something that has to be broken, for it is long"}})
	for line := range strings.Lines(out.String()) {
		if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > 70 || !strings.Contains(line, "█") && n > 40 {
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
