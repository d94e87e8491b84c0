package sandbox

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

	"lethe/internal/test/lethetest"
)

var modes = map[string]bool{"confined": true, "trusted": false}

// bothWays runs a test with and without confinement.
func bothWays(t *testing.T, test func(b *box)) {
	for name, confine := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newBox(t, confine))
		})
	}
	t.Run(Bubblewrap, func(t *testing.T) {
		t.Parallel()
		test(wrapped(t))
	})
}

// wrapped is a box that bubblewrap confines, although Landlock could.
func wrapped(t *testing.T) *box {
	t.Helper()
	if err := tryBubblewrap(); err != nil {
		t.Skip("bubblewrap confines nothing here:", err)
	}
	b := newBox(t, true)
	b.by = Bubblewrap
	return b
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

func (b *box) wantDead() {
	b.Helper()
	pids := strings.Fields(lethetest.Read(b, filepath.Join(b.Dir, "pids")))
	if len(pids) != 5 {
		b.Fatalf("%d processes were started, want 5", len(pids))
	}
	for _, s := range pids {
		if pid, _ := strconv.Atoi(s); b.by == "" && alive(pid) { // bubblewrap has numbers of its own
			b.Errorf("process %d is alive", pid)
		}
	}
	for _, path := range b.left() {
		b.Errorf("%s is there", path)
	}
}

// left are the processes that have the box's HOME.
func (b *box) left() (paths []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		if env, _ := os.ReadFile(path); bytes.Contains(env, []byte("HOME="+b.Private+"/home\x00")) {
			paths = append(paths, path)
		}
	}
	return paths
}

func alive(pid int) bool {
	p, ok := readProcess(pid)
	return ok && !p.dead
}

func TestNothingIsLeftWhenTheShellEnds(t *testing.T) {
	bothWays(t, func(b *box) {
		b.succeeds(detached)
		b.wantDead()
	})
}

func TestNothingIsLeftWhenTheContextEnds(t *testing.T) {
	bothWays(t, func(b *box) {
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan string, 1)
		go func() {
			defer close(ended)
			out, _ := b.runCtx(ctx, detached+"echo ready; touch ready; sleep 1000")
			ended <- out
		}()
		lethetest.Eventually(b.T, "the command runs", func() bool { return exists(filepath.Join(b.Dir, "ready")) })
		cancel()
		lethetest.Words(b.T, <-ended, "ready\n")
		b.wantDead()
	})
}

func TestForkBombEnds(t *testing.T) {
	bothWays(t, func(b *box) {
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			// Bounded by its depth, not by us: each process makes two until the limit.
			_, _ = b.runCtx(ctx, `f() { echo >> forks; [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 1000; }; f 7`)
		}()
		lethetest.Eventually(b.T, "it forks", func() bool {
			forks, err := os.ReadFile(filepath.Join(b.Dir, "forks"))
			return err == nil && len(forks) > 100
		})
		cancel()
		<-ended
		for _, path := range b.left() {
			b.Errorf("%s is there", path)
		}
	})
}

func TestKilledCallerLeavesNothing(t *testing.T) {
	for mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, modes[mode])
			caller := exec.Command(executable(t), "act-as", "caller", b.home, mode, detached+"touch ready; sleep 1000")
			lethetest.Must(t, caller.Start())
			lethetest.Eventually(t, "the command runs", func() bool { return exists(filepath.Join(b.Dir, "ready")) })
			below := descendants(caller.Process.Pid)
			if len(below) < 7 {
				t.Fatalf("only %d processes below the caller", len(below))
			}
			_ = caller.Process.Kill()
			_ = caller.Wait()
			for _, p := range below {
				lethetest.Eventually(t, fmt.Sprintf("the death of %d", p.pid), func() bool { return !alive(p.pid) })
			}
			b.wantDead()
		})
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("DEEPSEEK_API_KEY", "sk-leaked")
	t.Setenv("LETHE_HOME", "/leaked")
	hidden := lethetest.Dir(t)
	t.Setenv("PATH", hidden+":/usr/bin:/no/such")
	for _, confine := range modes {
		b := newBox(t, confine)
		if path := b.succeeds("echo $PATH"); strings.Contains(path, hidden) == confine || !strings.Contains(path, "/usr/bin") {
			t.Errorf("confined %v: PATH is %s", confine, path)
		}
		got := b.succeeds("env; ls -l /proc/self/fd | wc -l; cd $HOME && echo x > f && cat f; echo y > $TMPDIR/g && cat $TMPDIR/g")
		if strings.Contains(got, "leaked") || strings.Contains(got, "SECRET") {
			t.Errorf("the environment leaks: %s", got)
		}
		lethetest.Words(t, got, "HOME="+b.Private+"/home\n", "TMPDIR="+b.Private+"/tmp\n", "TERM=dumb\n", "\nx\ny\n")
		lethetest.Words(t, got, "\n5\n") // total, 0, 1, 2 and the directory itself
	}
}

// The command looks for the secret in the environment and the memory of all
// processes it can see, the caller's above all.
const lookForSecret = `
	for e in /proc/[0-9]*/environ; do
		case $e in /proc/self/*) continue;; esac
		tr '\0' '\n' < $e 2>/dev/null | grep -a '^LETHE_TEST_SECRET=' && echo "found in $e"
	done
	d=$PPID
	while [ $d -gt 1 ] && [ "$(tr '\0' ' ' < /proc/$d/cmdline | grep -c act-as)" = 0 ]; do
		d=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$d/stat); done
	echo caller $d
	head -c 1 /proc/$d/mem 2>&1 >/dev/null | sed 's/^/mem: /'
	(exec 9</proc/$d/mem) 2>/dev/null && echo "memory of the caller is open"
	wc -c < /proc/$d/environ 2>&1
	grep CapEff /proc/self/status
	grep NoNewPrivs /proc/self/status
`

func TestSecretsOfTheCallerAreOutOfReach(t *testing.T) {
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Geteuid() == 0 {
		// For root it is the lost capability that protects, for others that the
		// caller is not dumpable.
		users["another user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for who, credential := range users {
		for mode := range modes {
			t.Run(who+" "+mode, func(t *testing.T) {
				t.Parallel()
				home, program := publicProgram(t, credential)
				caller := exec.Command(program, "act-as", "caller", home, mode, lookForSecret)
				// A caller of another mode, or of another run of the tests, may still be starting.
				secret := fmt.Sprintf("s3cr3t of %s %s %d.", who, mode, os.Getpid())
				caller.Env = append(os.Environ(), "LETHE_TEST_SECRET="+secret)
				caller.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
				out, err := caller.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				text := string(out)
				lethetest.Words(t, text, "secret in getenv: true, in environ: false", fmt.Sprintf("caller %d\n", caller.Process.Pid), "NoNewPrivs:\t1")
				if strings.Contains(text, secret) || strings.Contains(text, "memory of the caller is open") {
					t.Errorf("the command got at its caller:\n%s", text)
				}
			})
		}
	}
}

// publicProgram is a home and a copy of this program that a user can use.
func publicProgram(t *testing.T, user *syscall.Credential) (home, program string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lethe-test")
	lethetest.Must(t, err)
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
	lethetest.Must(t, err)
	return home, program
}

func TestCommandThatCannotStartSaysWhy(t *testing.T) {
	b := newBox(t, true)
	b.Dir = "/no/such/directory"
	b.fails("true", "enter workspace")
}
