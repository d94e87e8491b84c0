package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"lethe/internal/test/lethetest"
)

// Where memory is short the kernel kills what a command starts before the daemon.
func TestMemoryOfCommandsGoesFirst(t *testing.T) {
	bothWays(t, func(b *box) {
		if out, ok := b.run("bash -c 'cat /proc/self/oom_score_adj'"); !ok || strings.TrimSpace(out) != "1000" {
			b.Errorf("%q, %v", out, ok)
		}
		if b.by == "" { // the supervisor is no command
			own := strings.TrimSpace(lethetest.Read(b, "/proc/self/oom_score_adj"))
			b.succeeds(`until [ "$(cat /proc/$PPID/oom_score_adj)" = "` + own + `" ]; do sleep 0.01; done`)
		}
	})
}

// A command begins with the signals and the open files that its caller was given, not with those of the supervisor. The
// shell that is asked for the open files learns no secret.
func TestBeginsAsAnyProgram(t *testing.T) {
	bin := lethetest.Dir(t)
	asked := filepath.Join(bin, "asked")
	lethetest.Write(t, filepath.Join(bin, "sh"), "#!/bin/bash\nenv >> "+asked+"\nexec /bin/sh \"$@\"\n")
	lethetest.Must(t, os.Chmod(filepath.Join(bin, "sh"), 0o700))
	for mode := range modes {
		home := filepath.Join(lethetest.Dir(t), "home")
		caller := exec.Command("bash", "-c", `trap '' HUP PIPE USR1; ulimit -Sn 777; exec "$@"`, "-", executable(t),
			"act-as", "caller", home, mode, "grep Sig[BI] /proc/self/status; ulimit -Sn; echo $(ulimit -Hn)")
		caller.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LETHE_TEST_SECRET=s3cr3t")
		out, err := caller.CombinedOutput()
		lethetest.Must(t, err)
		if env := lethetest.Read(t, asked); env == "" || strings.Contains(env, "SECRET") {
			t.Errorf("the shell got %q", env)
		}
		const blank = ":\t0000000000000000\n"
		hard, err := exec.Command("bash", "-c", "ulimit -Hn").Output()
		lethetest.Must(t, err)
		lethetest.Words(t, string(out), "SigBlk"+blank, "SigIgn"+blank, "\n777\n"+string(hard))
	}
}

// The shell ends with its supervisor, which alone could end it.
func TestKilledSupervisor(t *testing.T) {
	b := newBox(t, true)
	c := b.Command
	c.Line = "echo $PPID $$ > pids; exec sleep 1000"
	ended := make(chan error, 1)
	go func() { _, err := Run(b.Context(), c, io.Discard); ended <- err }()
	pids := filepath.Join(b.Dir, "pids")
	lethetest.Eventually(t, "it runs", func() bool { return exists(pids) && lethetest.Read(b, pids) != "" })
	var supervisor, shell int
	_, err := fmt.Sscan(lethetest.Read(b, pids), &supervisor, &shell)
	lethetest.Must(t, err)
	lethetest.Must(t, syscall.Kill(supervisor, syscall.SIGKILL))
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "it was killed") {
		t.Error(err)
	}
	lethetest.Eventually(t, "the shell is dead", func() bool { return !alive(shell) })
}

// No command can trace the supervisor, whose threads have rights that commands of root lack, and which holds the
// variables of programs.
func TestSupervisorIsNotTraced(t *testing.T) {
	for mode, confine := range modes {
		b := newBox(t, confine)
		out := b.probe("trace; head -c 1 /proc/$PPID/mem 2>&1; readlink /proc/$PPID/fd/0 || echo closed")
		lethetest.Words(t, out, "traced: 0\n", "closed\n")
		if strings.Count(out, "ermission denied") != 1 {
			t.Errorf("%s: %s", mode, out)
		}
	}
}

// A program talks over pipes while it runs, its errors apart, with the variables that it was given and no others.
func TestProgram(t *testing.T) {
	bothWays(t, func(b *box) {
		c := b.Command
		c.Args = []string{"sh", "-c", `echo "trouble $GIVEN $HOME" >&2; while read line; do echo "got $line"; done; echo bye`}
		c.Env = []string{"GIVEN=gift"}
		in, feed := io.Pipe()
		listen, out := io.Pipe()
		var errs bytes.Buffer
		c.Input, c.Errors = in, &errs
		ended := make(chan string, 1)
		go func() {
			end, err := Run(context.Background(), c, out)
			out.Close()
			ended <- fmt.Sprint(end, err)
		}()
		lines := bufio.NewScanner(listen)
		for _, line := range []string{"one", "two"} {
			fmt.Fprintln(feed, line)
			if !lines.Scan() || lines.Text() != "got "+line {
				b.Errorf("%q, want got %s", lines.Text(), line)
			}
		}
		feed.Close()
		for lines.Scan() {
			lethetest.Words(b.T, lines.Text(), "bye")
		}
		lethetest.Words(b.T, <-ended, fmt.Sprint(Outcome{}, nil))
		lethetest.Words(b.T, errs.String(), "trouble gift "+filepath.Join(b.Private, "home")+"\n")
	})
}

// Whatever a program has started is dead when its caller has stopped it, also if it reads nothing and writes nothing.
func TestProgramIsStopped(t *testing.T) {
	bothWays(t, func(b *box) {
		c := b.Command
		c.Args = []string{"bash", "-c", detached + "touch ready; sleep 1000"}
		in, feed := io.Pipe()
		defer feed.Close()
		c.Input, c.Errors = in, io.Discard
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { _, err := Run(ctx, c, io.Discard); ended <- err }()
		lethetest.Eventually(b.T, "the program runs", func() bool { return exists(filepath.Join(b.Dir, "ready")) })
		cancel()
		lethetest.Must(b.T, <-ended)
		b.wantDead()
	})
}

func TestNoSuchProgram(t *testing.T) {
	b := newBox(t, true)
	c := b.Command
	c.Args = []string{"no-such-program"}
	end, err := Run(b.Context(), c, io.Discard)
	if err != nil || !strings.Contains(end.Failed, "find no-such-program: there is no such program in the PATH of commands") {
		t.Errorf("%+v %v", end, err)
	}
}

func TestNoProgram(t *testing.T) {
	b := newBox(t, true)
	c := b.Command
	c.Args = []string{filepath.Join(b.Dir, "text")}
	lethetest.Write(b, c.Args[0], "no program\n")
	end, err := Run(b.Context(), c, io.Discard)
	if want := "execute " + c.Args[0] + ": permission denied"; err != nil || end.Failed != want {
		t.Errorf("%+v %v", end, err)
	}
}

// What is hidden can be read where that is said, and not written.
func TestReadWhatIsHidden(t *testing.T) {
	t.Parallel()
	b := newBox(t, true)
	open := filepath.Join(b.home, "skills")
	lethetest.Write(b, filepath.Join(open, "plan.md"), "steps\n")
	b.fails("cat "+open+"/plan.md", "ermission denied")
	b.Read = []string{open, filepath.Join(b.home, "config.toml"), filepath.Join(b.home, "missing")}
	lethetest.Words(t, b.succeeds("cat "+open+"/plan.md "+b.home+"/config.toml"), "steps\nSECRET of the configuration\n")
	b.fails("echo x >> "+open+"/plan.md", "ermission denied")
	b.fails("cat "+b.home+"/chats/private.md", "ermission denied")
}

// A directory that a command may read by a link is in its PATH.
func TestPathOverALink(t *testing.T) {
	b := newBox(t, true)
	tools := lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(tools, "1.2/bin/hello"), "#!/bin/sh\necho hello\n")
	lethetest.Must(t, errors.Join(os.Chmod(filepath.Join(tools, "1.2/bin/hello"), 0o755),
		os.Symlink("1.2", filepath.Join(tools, "current"))))
	b.Read = []string{filepath.Join(tools, "current")}
	t.Setenv("PATH", filepath.Join(tools, "current/bin")+":"+os.Getenv("PATH"))
	lethetest.Words(t, b.succeeds("hello"), "hello\n")
}

// An offline command reaches no network: not this machine's either, and not by datagrams.
func TestOffline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	lethetest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	bothWays(t, func(b *box) {
		if out := b.probe("dial tcp " + listener.Addr().String()); !strings.Contains(out, "dial ok") {
			b.Errorf("online: %s", out)
		}
		b.Offline = true
		for _, network := range []string{"tcp", "udp"} {
			if out := b.probe("dial " + network + " " + listener.Addr().String()); !strings.Contains(out, "dial failed") ||
				!strings.Contains(out, "permission denied") {
				b.Errorf("offline, %s: %s", network, out)
			}
		}
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	b := newBox(t, true)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3")
	}
	b.Memory = 64 << 20
	b.succeeds("python3 -c 'bytearray(16 << 20)'")
	b.fails("python3 -c 'bytearray(128 << 20)'", "MemoryError")
}

// actAsServers runs five programs, as servers of tools are run, for ever: HOME, and what confines them.
func actAsServers(args []string) {
	c := makeDirs(args[0], args[1] != "trusted", "")
	c.by = map[string]string{"confined": Landlock, Bubblewrap: Bubblewrap}[args[1]]
	c.Errors = io.Discard
	var all sync.WaitGroup
	for i := range 5 {
		c := c
		c.Args = []string{"bash", "-c",
			fmt.Sprintf("(setsid bash -c 'sleep 1000 & touch ready%d; wait' &); while read line; do echo $line; done", i)}
		c.Input, _ = io.Pipe()
		all.Go(func() { _, _ = Run(context.Background(), c, io.Discard) })
	}
	all.Wait()
}

// A daemon that is killed with five servers leaves none of their processes, however they were confined.
func TestKilledWithServers(t *testing.T) {
	for _, mode := range []string{"confined", "trusted", Bubblewrap} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if mode == Bubblewrap {
				wrapped(t)
			}
			b := newBox(t, true)
			caller := exec.Command(executable(t), "act-as", "servers", b.home, mode)
			lethetest.Must(t, caller.Start())
			lethetest.Eventually(t, "five servers run", func() bool {
				ready, _ := filepath.Glob(filepath.Join(b.Dir, "ready*"))
				return len(ready) == 5
			})
			below, seen := descendants(caller.Process.Pid), len(b.left())
			_ = caller.Process.Kill()
			_ = caller.Wait()
			if len(below) < 15 || seen < 15 {
				t.Errorf("only %d processes, of which %d are seen", len(below), seen)
			}
			for _, p := range below {
				lethetest.Eventually(t, fmt.Sprintf("the death of %d", p.pid), func() bool { return !alive(p.pid) })
			}
			for _, path := range b.left() {
				t.Errorf("%s is there", path)
			}
		})
	}
}
