package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/lethetest"
)

// The test binary runs itself in the roles of programs that a Process keeps running.
const role = "LETHE_TEST_CHILD"

func TestMain(m *testing.M) {
	roles := map[string]func(string){
		"exit":     playExit,
		"obedient": playObedient,
		"stubborn": playStubborn,
		"deaf":     func(string) { deafen() },
		"talker":   playTalker,
		"parent":   playParent,
	}
	name, arg, _ := strings.Cut(os.Getenv(role), " ")
	if play := roles[name]; play != nil {
		play(arg)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// must is for steps that are not what a test is about.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// playExit ends with the next of the exit codes in a file, 9 when there is none; "k"
// is by signal.
func playExit(path string) {
	data, _ := os.ReadFile(path)
	next, rest, _ := strings.Cut(string(data), " ")
	_ = os.WriteFile(path, []byte(rest), 0o600)
	if next == "k" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	code, err := strconv.Atoi(next)
	if err != nil {
		code = 9
	}
	os.Exit(code)
}

// playObedient tells of each SIGHUP, and ends at SIGTERM.
func playObedient(string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGHUP)
	fmt.Println("pid", os.Getpid())
	for <-asked == syscall.SIGHUP {
		fmt.Println("hup")
	}
	fmt.Println("bye")
}

// deafen never ends by itself.
func deafen() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("pid", os.Getpid())
	for {
		time.Sleep(time.Hour)
	}
}

// playStubborn is deaf and has a deaf child of its own, which holds its output.
func playStubborn(string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=deaf")
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	deafen()
}

// playTalker prints lines of all lengths, on both streams, and ends in one.
func playTalker(name string) {
	for i := range 200 {
		out := []*os.File{os.Stdout, os.Stderr}[i%2]
		fmt.Fprintf(out, "%s %d %s\n", name, i, strings.Repeat(name, i*10))
	}
	fmt.Print(strings.Repeat(name, maxLine+1), "\nend of ", name)
}

// playParent supervises a deaf child for ever.
func playParent(string) {
	_ = childOf("deaf", os.Stdout, nil).Run(context.Background())
}

// childOf is this binary in a role.
func childOf(as string, out io.Writer, log io.Writer) Process {
	c := Process{Name: "telegram", Path: must(os.Executable()), Env: append(os.Environ(), role+"="+as), Output: out,
		first: time.Millisecond}
	if log != nil {
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	}
	return c
}

// await waits for n lines that begin with prefix, and returns what follows it.
func await(t *testing.T, log *lethetest.Log, prefix string, n int) (found []string) {
	t.Helper()
	lethetest.Eventually(t, fmt.Sprintf("%d lines %q", n, prefix), func() bool {
		found = nil
		for line := range strings.Lines(log.String()) {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(rest, "\n") {
				found = append(found, strings.TrimSpace(rest))
			}
		}
		return len(found) >= n
	})
	return found
}

// gone waits until a process has ended; a zombie has.
func gone(t *testing.T, pid string) {
	t.Helper()
	lethetest.Eventually(t, "the end of process "+pid, func() bool { return !runs(pid) })
}

func runs(pid string) bool {
	n := must(strconv.Atoi(pid))
	if syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z"))
}

// runChild runs c; stop ends it and returns what Run did.
func runChild(t *testing.T, c Process) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }() // ends with ctx
	var err error
	stop = sync.OnceValue(func() error {
		cancel()
		err = <-done
		return err
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestChildIsRunAgain(t *testing.T) {
	codes := filepath.Join(t.TempDir(), "codes")
	must(0, os.WriteFile(codes, []byte("1 0 k 4 5"), 0o600))
	var log bytes.Buffer
	c := childOf("exit "+codes, nil, &log)
	asked := []int{}
	c.Permanent = func(exit int) bool { asked = append(asked, exit); return exit == 5 }
	err := c.Run(context.Background())
	var ended *Error
	if !errors.As(err, &ended) || ended.Exit != 5 || !strings.Contains(err.Error(), "telegram") {
		t.Fatalf("Run: %v", err)
	}
	if fmt.Sprint(asked) != "[1 0 137 4 5]" {
		t.Errorf("it ended with %v", asked)
	}
	for _, exit := range []string{"exit=1 in=", "exit=0 in=", "exit=137 in=", "exit=4 in="} {
		if strings.Count(log.String(), exit) != 1 {
			t.Errorf("%q is not logged once:\n%s", exit, &log)
		}
	}
	if strings.Contains(log.String(), "exit=5") {
		t.Errorf("the end that is final is said to be followed by another run:\n%s", &log)
	}
}

func TestRestartPauses(t *testing.T) {
	r := newPauses(firstPause)
	about := func(got, want time.Duration) {
		t.Helper()
		if got < want*8/10 || got > min(want*12/10+1, mostPause) {
			t.Errorf("a pause of %v, want about %v", got, want)
		}
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		about(r.after(steadyAfter-1), want*time.Second)
	}
	about(r.after(steadyAfter), time.Second)
	about(r.after(0), 2*time.Second)
}

func TestMissingProgramIsTriedAgain(t *testing.T) {
	log := new(lethetest.Log)
	c := childOf("deaf", nil, log)
	c.Path = filepath.Join(t.TempDir(), "lethe") // it may be back in a moment, after an upgrade
	c.Permanent = func(int) bool { return true }
	stop := runChild(t, c)
	lethetest.Eventually(t, "the third try", func() bool { return strings.Count(log.String(), "no such file") >= 3 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A program that was told of SIGHUP, and outlived the threads of its parent, ends when it is
// asked to. On Linux it dies with the thread that started it, and the runtime ends threads at will.
func TestChildIsAskedToStop(t *testing.T) {
	out := new(lethetest.Log)
	c := childOf("obedient", out, nil)
	c.grace, c.Forward = time.Minute, []os.Signal{syscall.SIGHUP}
	stop := runChild(t, c)
	pid := await(t, out, "pid ", 1)[0]
	must(0, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	await(t, out, "hup", 1)
	for range 20 {
		var threads sync.WaitGroup
		for range 20 {
			threads.Go(func() { runtime.LockOSThread() }) // a goroutine that ends locked takes its thread along
		}
		threads.Wait()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if runs(pid) {
		t.Error("Run returned before the child was gone")
	}
	if all := out.String(); all != "pid "+pid+"\nhup\nbye\n" {
		t.Errorf("it printed %q", all)
	}
}

// A program that does not stop is killed, and what it leaves in its group dies with it
// and does not hold up the next run.
func TestChildLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this asks /proc")
	}
	out := new(lethetest.Log)
	c := childOf("stubborn", out, nil)
	c.grace = 50 * time.Millisecond
	stop := runChild(t, c)
	pids := await(t, out, "pid ", 2)
	for _, pid := range pids {
		stat := string(must(os.ReadFile("/proc/" + pid + "/stat")))
		if f := strings.Fields(stat[strings.LastIndex(stat, ")"):]); f[3] == pid { // the leader of its group
			must(0, syscall.Kill(must(strconv.Atoi(pid)), syscall.SIGKILL))
		}
	}
	next := await(t, out, "pid ", 4)
	for _, pid := range pids {
		gone(t, pid)
	}
	_ = stop()
	for _, pid := range next {
		gone(t, pid)
	}
}

func TestLinesStayWhole(t *testing.T) {
	out := new(lethetest.Log) // one for two children, as a terminal is
	var both sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		c := childOf("talker "+name, out, nil)
		c.Permanent = func(int) bool { return true }
		both.Go(func() { _ = c.Run(context.Background()) })
	}
	both.Wait()
	next := map[string]int{}
	for line := range strings.Lines(out.String()) {
		if !strings.HasSuffix(line, "\n") || len(line) > maxLine+1 {
			t.Fatalf("%d bytes are not one line: %.60q", len(line), line)
		}
		var name, text string
		var i int
		if n, _ := fmt.Sscanf(line, "%s %d %s", &name, &i, &text); n >= 2 && len(name) == 1 {
			if i != next[name] || text != strings.Repeat(name, i*10) {
				t.Fatalf("line %d of %s is %.60q", next[name], name, line)
			}
			next[name]++
		}
	}
	all := out.String()
	if next["a"] != 200 || next["b"] != 200 || !strings.Contains(all, "end of a\n") || !strings.Contains(all, "end of b\n") {
		t.Errorf("lines are missing: %v", next)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child")
	}
	r, w, err := os.Pipe()
	lethetest.Must(t, err)
	parent := exec.Command(must(os.Executable()))
	parent.Env = append(os.Environ(), role+"=parent")
	parent.Stdout = w
	must(0, parent.Start())
	w.Close()
	out := new(lethetest.Log)
	copied := make(chan struct{})
	go func() { copyLines(out, r); close(copied) }() // ends with the pipe
	child := await(t, out, "pid ", 1)[0]
	if !runs(child) {
		t.Fatal("the child does not run")
	}
	must(0, parent.Process.Kill())
	_ = parent.Wait()
	gone(t, child)
	<-copied
	r.Close()
}
