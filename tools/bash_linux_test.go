package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// everyMode runs a test with and without the sandbox.
func everyMode(t *testing.T, test func(t *testing.T, id *identity)) {
	for _, mode := range []string{BashSandbox, BashTrusted} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, newIdentity(t, func(c *Config) { c.Bash = mode }))
		})
	}
}

func TestBashOutputAndExit(t *testing.T) {
	everyMode(t, func(t *testing.T, id *identity) {
		if got := id.ok("BASH", "command", "echo out; echo err >&2; echo more"); got != "out\nerr\nmore\n[exit 0]" {
			t.Errorf("got %q", got)
		}
		r := id.do("BASH", "command", "printf 'no newline'; exit 3")
		if string(r.Body) != "no newline\n[exit 3]" || !r.Err {
			t.Errorf("got %q, err %v", r.Body, r.Err)
		}
		if r := id.do("BASH", "command", "kill -9 $$"); !r.Err || !strings.HasPrefix(string(r.Body), "[killed by signal 9 (killed)") {
			t.Errorf("got %q, err %v", r.Body, r.Err)
		}
		if got := id.ok("BASH", "command", "cat; pwd"); got != id.work+"\n[exit 0]" {
			t.Errorf("standard input or directory: %q", got)
		}
	})
}

func TestBashArguments(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"command is empty"}, "BASH", "command", " ")
	id.fails([]string{"zero byte"}, "BASH", "command", "echo \x00")
	id.fails([]string{"too long", "WRITE_FILE"}, "BASH", "command", strings.Repeat("x", maxCommand+1))
	id.fails([]string{"at least 1"}, "BASH", "command", "true", "timeout", 0)
	id.fails([]string{"an integer", "soon"}, "BASH", "command", "true", "timeout", "soon")
	id.ok("BASH", "command", ": "+strings.Repeat("x", maxCommand-2), "timeout", "5")
}

func TestBashTimeoutEndsInTime(t *testing.T) {
	everyMode(t, func(t *testing.T, id *identity) {
		started := time.Now()
		text := id.fails([]string{"partial\n", "[timeout after 3 s"}, "BASH", "command", "echo partial; sleep 60; true", "timeout", 3)
		if took := time.Since(started); took < 3*time.Second || took > 30*time.Second {
			t.Errorf("took %v: %s", took, text)
		}
	})
}

// detached is a command that leaves behind processes of every kind, each
// writing its id to a file and holding the output open, and then goes on.
const detached = `
	(trap '' TERM HUP INT; sleep 1000 & echo $! >> pids; wait) &
	echo $! >> pids
	setsid bash -c 'echo $$ >> pids; exec sleep 1000' &
	(setsid bash -c '(setsid bash -c "echo \$\$ >> pids; exec sleep 1000" &) ; sleep 0.1' &)
	nohup sleep 1000 & echo $! >> pids
	until [ $(wc -l < pids) = 5 ]; do sleep 0.01; done
`

func (id *identity) wantDead() {
	id.t.Helper()
	pids := strings.Fields(id.content(filepath.Join(id.work, "pids")))
	if len(pids) != 5 {
		id.t.Fatalf("%d processes were started, want 5", len(pids))
	}
	for _, s := range pids {
		pid, _ := strconv.Atoi(s)
		if alive(pid) {
			id.t.Errorf("process %d is alive", pid)
		}
	}
}

func alive(pid int) bool {
	p, ok := readProcess(pid)
	return ok && !p.dead
}

func TestBashLeavesNothingBehind(t *testing.T) {
	t.Run("when the shell ends", func(t *testing.T) {
		everyMode(t, func(t *testing.T, id *identity) {
			started := time.Now()
			id.ok("BASH", "command", detached+"echo done")
			if took := time.Since(started); took > 30*time.Second {
				t.Errorf("the call took %v: it waited for a child", took)
			}
			id.wantDead()
		})
	})
	t.Run("at the timeout", func(t *testing.T) {
		everyMode(t, func(t *testing.T, id *identity) {
			id.fails([]string{"timeout"}, "BASH", "command", detached+"sleep 1000", "timeout", 6)
			id.wantDead()
		})
	})
	t.Run("when the context ends", func(t *testing.T) {
		everyMode(t, func(t *testing.T, id *identity) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan Result, 1)
			go func() { ended <- id.doCtx(ctx, "BASH", "command", detached+"echo ready; touch ready; sleep 1000") }()
			eventually(t, "the command runs", func() bool {
				_, err := os.Stat(filepath.Join(id.work, "ready"))
				return err == nil
			})
			cancel()
			canceled := time.Now()
			r := <-ended
			if took := time.Since(canceled); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			wantWords(t, string(r.Body), "ready\n", "[interrupted: it and everything")
			id.wantDead()
		})
	})
}

func TestBashForkBombEnds(t *testing.T) {
	everyMode(t, func(t *testing.T, id *identity) {
		// Bounded by the depth, not by us: each process makes two until the limit.
		started := time.Now()
		id.fails([]string{"timeout"}, "BASH", "timeout", 3, "command",
			`echo $$ > session; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 1000; }; f 7`)
		if took := time.Since(started); took > 60*time.Second {
			t.Errorf("took %v", took)
		}
		session := strings.TrimSpace(id.content(filepath.Join(id.work, "session")))
		if left := processesOfSession(t, session); left != 0 {
			t.Errorf("%d processes left", left)
		}
	})
}

func processesOfSession(t *testing.T, session string) (n int) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Fatal("no processes at all", err)
	}
	for _, s := range stats {
		b, _ := os.ReadFile(s)
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 3 && f[3] == session && f[0] != "Z" {
			n++
		}
	}
	return n
}

func TestBashKilledDaemonLeavesNoOrphan(t *testing.T) {
	everyMode(t, func(t *testing.T, id *identity) {
		mode := BashSandbox
		if !strings.Contains(id.description("BASH"), "Commands are confined") {
			mode = BashTrusted
		}
		daemon := exec.Command(executable(t), "act-as", "daemon", id.home, mode, detached+"touch ready; sleep 1000")
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the command runs", func() bool {
			_, err := os.Stat(filepath.Join(id.work, "ready"))
			return err == nil
		})
		below := descendants(daemon.Process.Pid)
		if len(below) < 7 {
			t.Fatalf("only %d processes below the daemon", len(below))
		}
		if err := daemon.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = daemon.Wait()
		for _, p := range below {
			eventually(t, fmt.Sprintf("the death of %d", p.pid), func() bool { return !alive(p.pid) })
		}
		id.wantDead()
	})
}

func TestBashOutputIsBoundedAndReachable(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.MaxOutput = 64 << 10 })
	const size = 100 << 20
	r := id.do("BASH", "command", fmt.Sprintf("echo first; head -c %d /dev/zero | tr '\\0' 'x'; echo; echo last", size))
	if r.Err || len(r.Body) > 66<<10 {
		t.Fatalf("err %v, %d bytes", r.Err, len(r.Body))
	}
	if want := int64(size + 12 - 64<<10); r.Truncated != want {
		t.Errorf("truncated %d, want %d", r.Truncated, want)
	}
	wantWords(t, string(r.Body), "first\nxxx", "xxx\nlast\n[exit 0", ".output/e12.1.txt")
	fi, err := os.Stat(filepath.Join(id.work, ".output/e12.1.txt"))
	if err != nil || fi.Size() != size+12 {
		t.Fatalf("kept %v, %v", fi, err)
	}
	if got := id.ok("READ_FILE", "path", ".output/e12.1.txt", "offset", 3); !strings.HasSuffix(got, "]\nlast\n") {
		t.Errorf("read back %q", clip(got, 200))
	}
}

func TestBashOutputThatCannotBeKept(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.MaxOutput = 1 << 10 })
	outside := filepath.Join(id.home, "agents", "other")
	if err := os.Symlink(outside, filepath.Join(id.work, ".output")); err != nil {
		t.Fatal(err)
	}
	r := id.do("BASH", "command", "seq 10000")
	wantWords(t, string(r.Body), "could not be kept", "[exit 0")
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("written through the link: %v", entries)
	}
}

func TestBashEnvironmentIsClean(t *testing.T) {
	t.Setenv("DEEPSEEK_API_KEY", "sk-leaked")
	t.Setenv("LETHE_HOME", "/leaked")
	for _, mode := range []string{BashSandbox, BashTrusted} {
		id := newIdentity(t, func(c *Config) { c.Bash = mode })
		got := id.ok("BASH", "command", "env; ls -l /proc/self/fd | wc -l; cd $HOME && echo x > f && cat f; echo y > $TMPDIR/g && cat $TMPDIR/g")
		if strings.Contains(got, "leaked") || strings.Contains(got, "SECRET") {
			t.Errorf("the environment leaks: %s", got)
		}
		wantWords(t, got, "HOME="+id.dir+"/sandbox/home\n", "TMPDIR="+id.dir+"/sandbox/tmp\n", "TERM=dumb\n", "\nx\ny\n")
		// total, 0, 1, 2 and the directory itself.
		wantWords(t, got, "\n5\n")
	}
}

// The command looks for the secret in the environment and the memory of all
// processes it can see, the daemon's above all.
const lookForSecret = `
	for e in /proc/[0-9]*/environ; do
		case $e in /proc/self/*) continue;; esac
		tr '\0' '\n' < $e 2>/dev/null | grep -a '^LETHE_TEST_SECRET=' && echo "found in $e"
	done
	d=$PPID
	while [ $d -gt 1 ] && [ "$(tr '\0' ' ' < /proc/$d/cmdline | grep -c act-as)" = 0 ]; do d=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$d/stat); done
	echo daemon $d
	head -c 1 /proc/$d/mem 2>&1 >/dev/null | sed 's/^/mem: /'
	(exec 9</proc/$d/mem) 2>/dev/null && echo "memory of the daemon is open"
	wc -c < /proc/$d/environ 2>&1
	grep CapEff /proc/self/status
	grep NoNewPrivs /proc/self/status
`

func TestBashCannotReadTheDaemonsSecrets(t *testing.T) {
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Geteuid() == 0 {
		// For root it is the lost capability that protects, for others that the
		// daemon is not dumpable.
		users["another user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for who, credential := range users {
		for _, mode := range []string{BashSandbox, BashTrusted} {
			t.Run(who+" "+mode, func(t *testing.T) {
				t.Parallel()
				home, program := publicProgram(t, credential)
				daemon := exec.Command(program, "act-as", "daemon", home, mode, lookForSecret)
				daemon.Env = append(os.Environ(), "LETHE_TEST_SECRET=s3cr3t")
				daemon.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
				out, err := daemon.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				text := string(out)
				wantWords(t, text, "secret in getenv: true", fmt.Sprintf("daemon %d\n", daemon.Process.Pid), "NoNewPrivs:\t1")
				if strings.Contains(text, "s3cr3t") || strings.Contains(text, "memory of the daemon is open") {
					t.Errorf("the command got at the daemon:\n%s", text)
				}
			})
		}
	}
}

// publicProgram is a home and a copy of this program that a user can use.
func publicProgram(t *testing.T, user *syscall.Credential) (home, program string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lethe-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	home, program = filepath.Join(dir, "home"), filepath.Join(dir, "program")
	// Not written by this process: a child that another test forks meanwhile would
	// inherit the open file, and a file that is open for writing cannot be run.
	out, err := exec.Command("cp", executable(t), program).CombinedOutput()
	if err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chmod(program, 0o755))
	if err == nil && user != nil {
		err = os.Chown(home, int(user.Uid), int(user.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return home, program
}

func TestHideEnvironmentIsNotAnAccidentOfPermissions(t *testing.T) {
	// Root may read any environ, so what is blank here is blank for everybody.
	daemon := exec.Command(executable(t), "act-as", "daemon", t.TempDir(), BashTrusted, "sleep 1000")
	daemon.Env = append(os.Environ(), "LETHE_TEST_SECRET=s3cr3t")
	daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	eventually(t, "the command runs", func() bool { return len(descendants(daemon.Process.Pid)) >= 2 })
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", daemon.Process.Pid))
	if err == nil && bytes.Contains(b, []byte("s3cr3t")) {
		t.Error("the environment can still be read")
	}
}

func (id *identity) description(name string) string {
	for _, tool := range id.tools {
		if tool.Name == name {
			return tool.Description
		}
	}
	return ""
}

func TestEpitaphTellsDurationsThatMatter(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		want string
	}{{999 * time.Millisecond, "[exit 2]"}, {1300 * time.Millisecond, "[exit 2, 1.3 s]"}} {
		if got, good := epitaph(outcome{Exit: 2}, nil, nil, time.Minute, c.took); got != c.want || good {
			t.Errorf("%v: %s", c.took, got)
		}
	}
	got, _ := epitaph(outcome{}, errStuck, errTimeout, time.Minute, time.Minute)
	wantWords(t, got, "timeout after 60 s", "takes long to die")
}

func TestBashThatNeverStopsWritingIsKilled(t *testing.T) {
	id := newIdentity(t, nil)
	c, err := Config{AgentDir: id.dir, Home: id.home, MaxOutput: 1 << 10}.complete()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBash(c, id.files)
	if err != nil {
		t.Fatal(err)
	}
	b.most = 1 << 20
	r := b.run(t.Context(), Call{ID: "e1.1", Args: []byte(`{"command":"yes"}`)})
	wantWords(t, string(r.Body), "y\ny\n", "[too much output", "everything it started was killed")
	if fi, err := os.Stat(filepath.Join(id.work, ".output/e1.1.txt")); err != nil || fi.Size() > b.most {
		t.Errorf("kept %v, %v", fi, err)
	}
}

func TestWithoutLandlockTheWayOutIsTold(t *testing.T) {
	for abi, words := range map[int]string{0: "has no Landlock", 2: "has Landlock ABI 2 and 3 is needed"} {
		text, good := epitaph(outcome{Exit: 126, Failed: confinable(abi, true).Error()}, nil, nil, time.Minute, 0)
		wantWords(t, text, "not started", words, `tools.bash = "trusted"`)
		if good {
			t.Error("that is not well")
		}
	}
}

func TestBashThatCannotStartSaysWhy(t *testing.T) {
	id := newIdentity(t, nil)
	if err := os.RemoveAll(id.work); err != nil {
		t.Fatal(err)
	}
	id.fails([]string{"not started", "enter workspace", "no such file"}, "BASH", "command", "true")
	broken := newIdentity(t, func(c *Config) { c.Self = "/no/such/program" })
	broken.fails([]string{"start the helper", "no such file"}, "BASH", "command", "true")
	deaf := newIdentity(t, func(c *Config) { c.Self = "/bin/true" })
	deaf.fails([]string{"hear from the helper"}, "BASH", "command", "true")
}
