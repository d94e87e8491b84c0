package child

import (
	"bytes"
	"context"
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

	"lethe/internal/test/lethetest"
)

// The test binary runs itself in the roles of programs that a Process keeps running.
const role = "LETHE_TEST_CHILD"

func TestMain(m *testing.M) {
	roles := map[string]func(string){
		"exit":     playExit,
		"obedient": playObedient,
		"stubborn": playStubborn,
		"deaf":     func(string) { deafen() },
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

// playObedient ends at SIGTERM.
func playObedient(string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	fmt.Println("pid", os.Getpid())
	<-asked
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
	if err == nil || err.Error() != "run telegram: it ended with exit code 5, which trying again does not mend" {
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
	var got []int
	var pause time.Duration
	for _, lived := range []time.Duration{0, 0, 0, 0, 0, steadyAfter - 1, 0, 0, steadyAfter, 0} {
		pause = Process{}.nextPause(pause, lived)
		got = append(got, int(pause.Seconds()))
	}
	if fmt.Sprint(got) != "[1 2 4 8 16 32 60 60 1 2]" {
		t.Errorf("pauses of %v", got)
	}
}

// A program that is missing may be back in a moment, after an upgrade.
func TestMissingProgramIsTriedAgain(t *testing.T) {
	log := new(lethetest.Log)
	c := childOf("deaf", nil, log)
	c.Path = filepath.Join(t.TempDir(), "lethe")
	stop := runChild(t, c)
	lethetest.Eventually(t, "the third try", func() bool { return strings.Count(log.String(), "no such file") >= 3 })
	lethetest.Must(t, stop())
}

// A program that outlived the threads of its parent ends when it is asked to. On Linux it dies with the thread that
// started it, and the runtime ends threads at will.
func TestChildIsAskedToStop(t *testing.T) {
	out := new(lethetest.Log)
	c := childOf("obedient", out, nil)
	c.grace = time.Minute
	stop := runChild(t, c)
	pid := await(t, out, "pid ", 1)[0]
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
	if all := out.String(); all != "pid "+pid+"\nbye\n" {
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
	go func() { defer close(copied); _, _ = io.Copy(out, r) }() // ends with the pipe
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
