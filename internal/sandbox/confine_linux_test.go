package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

func TestConfinedWrites(t *testing.T) {
	extra := lethetest.Dir(t)
	b := newBox(t, true)
	b.Write = append(b.Write, extra)
	outside := lethetest.Dir(t)
	for _, c := range []struct {
		command string
		allowed bool
	}{
		{"echo x > f", true},
		{"mkdir -p a b && echo x > a/f && mv a/f b/f && ln b/f a/g && rm -r a b", true},
		{"echo x > $HOME/f && mv $HOME/f moved", true},
		{"echo x > $(mktemp)", true},
		{"echo x > /dev/null", true},
		{"echo x > " + extra + "/f", true},
		{"echo x > " + outside + "/f", false},
		{"mkdir " + outside + "/d", false},
		{"ln -s /etc/passwd " + outside + "/l", false},
		{"echo x > /tmp/lethe-sandbox-test", false},
		{"echo x > /dev/shm/lethe-sandbox-test", false},
		{"echo x > ../MEMORY.md", false},
		{"echo x >> ../LIFE.md", false},
		{"truncate -s 0 ../LIFE.md", false},
		{"rm ../SOUL.md", false},
		{"mv ../SOUL.md .", false},
		{"ln ../SOUL.md .", false},
		{"mv ../workspace ../elsewhere", false},
		{"echo x >> " + b.home + "/chats/dev.md", false},
		{"mknod disk b 8 0", false},
		{"mount -t tmpfs none .", false},
	} {
		if out, ok := b.run(c.command); ok != c.allowed {
			t.Errorf("%s: allowed %v, want %v: %s", c.command, ok, c.allowed, out)
		}
	}
	if got := lethetest.Read(b, filepath.Join(b.home, "agents/51c0/LIFE.md")); got != "life\n" {
		t.Errorf("LIFE.md is %q", got)
	}
}

func TestConfinedReads(t *testing.T) {
	b := newBox(t, true)
	outside := lethetest.Dir(t)
	lethetest.Write(b, filepath.Join(outside, "f"), "SECRET elsewhere\n")
	lethetest.Write(b, filepath.Join(b.Dir, "own"), "mine\n")
	lethetest.Must(t, os.Symlink(filepath.Join(b.home, "config.toml"), filepath.Join(b.Dir, "link")))
	for _, command := range []string{
		"cat " + b.home + "/config.toml", "cat link", "cat " + b.home + "/chats/private.md", "ls " + b.home,
		"cat ../LIFE.md", "cat ../../other/MEMORY.md", "ls ..", "cat " + outside + "/f", "ls /root /home", "ls /tmp",
		"cat /proc/1/environ", "ls -l /proc/1/root/ /proc/1/cwd/",
	} {
		if out, ok := b.run(command); ok || strings.Contains(out, "SECRET") {
			t.Errorf("%s: %s", command, out)
		}
	}
	b.succeeds("cat own && ls / >/dev/null; ls /usr/bin > /dev/null && head -c 8 /dev/urandom | wc -c && cat /etc/passwd > " +
		"/dev/null && cat /proc/self/status > /dev/null")
}

func TestHidesSecretFiles(t *testing.T) {
	b := newBox(t, true)
	b.Hide = append(b.Hide, "/etc/passwd", "/etc/is/not/there")
	b.fails("cat /etc/passwd", "ermission denied")
	b.succeeds("cat /etc/group > /dev/null")
}

func TestSignals(t *testing.T) {
	b := newBox(t, true)
	victim := exec.Command("sleep", "1000")
	lethetest.Must(t, victim.Start())
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	b.fails(fmt.Sprintf("kill -9 %d", victim.Process.Pid), "Operation not permitted")
	// Its own supervisor would let what it starts go free.
	b.fails("kill -9 $PPID", "Operation not permitted")
	out, _ := b.run(`for t in /proc/$PPID/task/*; do kill -9 ${t##*/} || echo no; done; echo end`)
	lethetest.Words(t, out, "no\nend\n")
	lethetest.Words(t, b.probe("trace; true"), "traced: 0\n")
	b.fails(fmt.Sprintf("ulimit -t 100; prlimit --pid %d --cpu=1", victim.Process.Pid), "Operation not permitted")
	if !alive(victim.Process.Pid) {
		t.Error("the sandbox let a signal out")
	}
}

// Local sockets lead to services that would do for a command what it may not.
func TestSockets(t *testing.T) {
	b := newBox(t, true)
	dir, err := os.MkdirTemp("", "s") // socket names are short
	lethetest.Must(t, err)
	defer os.RemoveAll(dir)
	path := serve(t, "unix", filepath.Join(dir, "s"))
	if got := b.probe("dial unix " + path); !strings.Contains(got, "dial failed") {
		t.Errorf("a local socket can be used: %s", got)
	}
	abstract := serve(t, "unix", fmt.Sprintf("@lethe-test-%d", os.Getpid()))
	if got := b.probe("dial unix " + abstract); !strings.Contains(got, "dial failed") {
		t.Errorf("an abstract socket can be used: %s", got)
	}
	address := serve(t, "tcp", "127.0.0.1:0")
	if got := b.probe("dial tcp " + address); !strings.Contains(got, "dial ok: served") {
		t.Errorf("the network cannot be used: %s", got)
	}
	lethetest.Words(t, b.probe("datagrams"), "datagrams: permission denied", "streams: <nil>")
	trusted := newBox(t, false)
	if got := trusted.probe("dial unix " + path); !strings.Contains(got, "dial ok: served") {
		t.Errorf("the probe itself does not work: %s", got)
	}
}

// serve accepts connections until the test ends and greets each.
func serve(t *testing.T, network, address string) string {
	l, err := net.Listen(network, address)
	lethetest.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "served")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestPrivileges(t *testing.T) {
	b := newBox(t, true)
	got := b.succeeds("grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c")
	lethetest.Words(t, got, "NoNewPrivs:\t1", "Seccomp:\t2", "\n0\n")
	b.fails(`f=/proc/sys/kernel/core_pattern; v=$(cat $f) && echo "$v" > $f`, "ermission denied")
	if os.Geteuid() == 0 {
		lethetest.Words(t, got, "CapEff:\t0000000000000002", "CapBnd:\t0000000000000002")
	}
}

func TestTrustedReadsAndWritesEverywhere(t *testing.T) {
	b := newBox(t, false)
	outside := lethetest.Dir(t)
	b.succeeds("echo x > " + outside + "/f && cat ../LIFE.md")
}
