package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 2 && os.Args[1] == "act-as" {
		acts[os.Args[2]](os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m)
}

// acts make this test binary another program.
var acts map[string]func(args []string)

func init() {
	acts = map[string]func(args []string){
		"caller":    actAsCaller,
		"servers":   actAsServers,
		"dial":      dial,
		"datagrams": func([]string) { makePairs() },
		"trace":     func([]string) { traceParent() },
		"set-id":    func([]string) { trySetID() },
		"shared":    func([]string) { tryShared() },
		"govern":    func(args []string) { tryGovern(args[0]) },
		"without":   func(args []string) { runWithout(args[0], args[1:]) },
	}
}

// actAsCaller runs a command: HOME, "confined", "bubblewrap" or "trusted", LINE.
func actAsCaller(args []string) {
	HideEnvironment()
	own, _ := os.ReadFile("/proc/self/environ") // root may read any: what is blank here is blank for everybody
	var out bytes.Buffer
	c := makeDirs(args[0], args[1] != "trusted", args[2])
	if args[1] == Bubblewrap {
		c.by = Bubblewrap
	}
	end, err := Run(context.Background(), c, &out)
	fmt.Printf("%s\n%+v %v\nsecret in getenv: %v, in environ: %v\n", out.Bytes(), end, err,
		os.Getenv("LETHE_TEST_SECRET") != "", bytes.Contains(own, []byte("LETHE_TEST_SECRET")))
}

// makeDirs makes the directories of one identity in a home.
func makeDirs(home string, confine bool, line string) Command {
	agent := filepath.Join(home, "agents", "51c0")
	c := Command{Line: line, Dir: filepath.Join(agent, "workspace"), Private: filepath.Join(agent, "sandbox"),
		Confine: confine, Hide: []string{home, agent}}
	c.Write = []string{c.Dir}
	for _, d := range []string{c.Dir, c.Private + "/home", c.Private + "/tmp"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			panic(err)
		}
	}
	return c
}

// box is a home with one identity and what its commands may do.
type box struct {
	*testing.T
	Command
	home string
}

func newBox(t *testing.T, confine bool) *box {
	t.Helper()
	home := filepath.Join(lethetest.Dir(t), "home")
	b := &box{T: t, Command: makeDirs(home, confine, ""), home: home}
	for name, text := range map[string]string{
		"agents/51c0/SOUL.md": "soul\n", "agents/51c0/LIFE.md": "life\n", "agents/51c0/MEMORY.md": "memory\n",
		"agents/other/MEMORY.md": "SECRET of another\n", "chats/private.md": "SECRET of a room\n", "config.toml": "SECRET of the configuration\n",
	} {
		lethetest.Write(b, filepath.Join(home, name), text)
	}
	return b
}

// run runs a command with a time limit and returns its output, and whether it did well.
func (b *box) run(line string) (out string, ok bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	return b.runCtx(ctx, line)
}

func (b *box) runCtx(ctx context.Context, line string) (string, bool) {
	b.Helper()
	c := b.Command
	c.Line = line
	var out lethetest.Log
	end, err := Run(ctx, c, &out)
	if errors.Is(err, ErrStuck) { // a busy machine takes more than the grace: killing it goes on
		lethetest.Eventually(b, "the death of what was stuck", func() bool { return len(b.left()) == 0 })
	} else if err != nil {
		b.Errorf("run %s: %v", line, err)
	}
	return out.String() + end.Failed, end == Outcome{}
}

func (b *box) succeeds(line string) string {
	b.Helper()
	out, ok := b.run(line)
	if !ok {
		b.Fatalf("%s failed: %s", line, out)
	}
	return out
}

func (b *box) fails(line, words string) {
	b.Helper()
	if out, ok := b.run(line); ok || !strings.Contains(out, words) {
		b.Errorf("%s: %v, %s", line, ok, out)
	}
}

// probe copies this test binary into the workspace and runs it there.
func (b *box) probe(args string) string {
	b.Helper()
	if out, err := exec.Command("cp", executable(b.T), filepath.Join(b.Dir, "probe")).CombinedOutput(); err != nil {
		b.Fatalf("cp: %v: %s", err, out)
	}
	out, _ := b.run("./probe act-as " + args)
	return out
}

func dial(args []string) {
	conn, err := net.Dial(args[0], args[1])
	if err != nil {
		fmt.Println("dial failed:", err)
		return
	}
	text, _ := io.ReadAll(conn)
	fmt.Printf("dial ok: %s\n", text)
}

func makePairs() {
	_, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	fmt.Println("datagrams:", err)
	_, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	fmt.Println("streams:", err)
}

// traceParent tries to trace each thread of its parent's parent, which is the supervisor.
func traceParent() {
	shell, _ := readProcess(os.Getppid())
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", shell.parent)); !strings.Contains(string(line), helperName) {
		panic(fmt.Sprint(line, err))
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", shell.parent))
	if err != nil || len(threads) < 2 {
		panic(fmt.Sprint(threads, err))
	}
	traced := 0
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		if err := syscall.PtraceAttach(id); err != syscall.EPERM {
			traced++
			_ = syscall.PtraceDetach(id)
		}
	}
	fmt.Println("traced:", traced)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	lethetest.Must(t, err)
	return self
}
