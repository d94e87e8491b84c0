package tools

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSandboxWrites(t *testing.T) {
	extra := realTempDir(t)
	id := newIdentity(t, func(c *Config) { c.ExtraRoots = []string{extra} })
	outside := realTempDir(t)
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
		{"echo x >> " + id.home + "/chats/dev.md", false},
		{"mknod disk b 8 0", false},
		{"mount -t tmpfs none .", false},
	} {
		r := id.do("BASH", "command", c.command)
		if r.Err == c.allowed {
			t.Errorf("%s: allowed %v, want %v: %s", c.command, !r.Err, c.allowed, r.Body)
		}
	}
	if got := id.content(filepath.Join(id.dir, "LIFE.md")); got != "life\n" {
		t.Errorf("LIFE.md is %q", got)
	}
}

func TestSandboxReads(t *testing.T) {
	id := newIdentity(t, nil)
	outside := realTempDir(t)
	id.put(filepath.Join(outside, "f"), "SECRET elsewhere\n")
	id.file("own", "mine\n")
	if err := os.Symlink(filepath.Join(id.home, "config.toml"), filepath.Join(id.work, "link")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"cat " + id.home + "/config.toml", "cat link", "cat " + id.home + "/chats/private.md", "ls " + id.home,
		"cat ../LIFE.md", "cat ../../other/MEMORY.md", "ls ..", "cat " + outside + "/f", "ls /root /home", "ls /tmp",
		"cat /proc/1/environ", "ls -l /proc/1/root/ /proc/1/cwd/",
	} {
		r := id.do("BASH", "command", command)
		if !r.Err || strings.Contains(string(r.Body), "SECRET") {
			t.Errorf("%s: %s", command, r.Body)
		}
	}
	id.ok("BASH", "command", "cat own && ls / >/dev/null; ls /usr/bin > /dev/null && head -c 8 /dev/urandom | wc -c && cat /etc/passwd > /dev/null && cat /proc/self/status > /dev/null")
}

func TestSandboxHidesSecretFiles(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Secrets = []string{"/etc/passwd", "/etc/is/not/there"} })
	if r := id.do("BASH", "command", "cat /etc/passwd"); !r.Err || strings.Contains(string(r.Body), "root:") {
		t.Errorf("a secret file was read: %s", r.Body)
	}
	id.ok("BASH", "command", "cat /etc/group > /dev/null")
}

func TestSandboxSignals(t *testing.T) {
	id := newIdentity(t, nil)
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	id.fails([]string{"Operation not permitted"}, "BASH", "command", fmt.Sprintf("kill -9 %d", victim.Process.Pid))
	// Its own supervisor would let what it starts go free.
	id.fails([]string{"Operation not permitted"}, "BASH", "command", "kill -9 $PPID")
	id.fails([]string{"Operation not permitted"}, "BASH", "command", fmt.Sprintf("ulimit -t 100; prlimit --pid %d --cpu=1", victim.Process.Pid))
	if !alive(victim.Process.Pid) {
		t.Error("the sandbox let a signal out")
	}
}

// Local sockets lead to services that would do for a command what it may not.
func TestSandboxSockets(t *testing.T) {
	id := newIdentity(t, nil)
	dir, err := os.MkdirTemp("", "s") // socket names are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := serve(t, "unix", filepath.Join(dir, "s"))
	if got := id.probe("dial unix " + path); !strings.Contains(got, "dial failed") {
		t.Errorf("a local socket can be used: %s", got)
	}
	abstract := serve(t, "unix", fmt.Sprintf("@lethe-test-%d", os.Getpid()))
	if got := id.probe("dial unix " + abstract); !strings.Contains(got, "dial failed") {
		t.Errorf("an abstract socket can be used: %s", got)
	}
	address := serve(t, "tcp", "127.0.0.1:0")
	if got := id.probe("dial tcp " + address); !strings.Contains(got, "dial ok: served") {
		t.Errorf("the network cannot be used: %s", got)
	}
	wantWords(t, id.probe("datagrams"), "datagrams: permission denied", "streams: <nil>")
	trusted := newIdentity(t, func(c *Config) { c.Bash = BashTrusted })
	if got := trusted.probe("dial unix " + path); !strings.Contains(got, "dial ok: served") {
		t.Errorf("the probe itself does not work: %s", got)
	}
}

// serve accepts connections until the test ends and greets each.
func serve(t *testing.T, network, address string) string {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
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

func TestSandboxPrivileges(t *testing.T) {
	id := newIdentity(t, nil)
	got := id.ok("BASH", "command", "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c")
	wantWords(t, got, "NoNewPrivs:\t1", "Seccomp:\t2", "\n0\n[exit 0]")
	if os.Geteuid() == 0 {
		wantWords(t, got, "CapEff:\t0000000000000002", "CapBnd:\t0000000000000002")
	}
}

func TestTrustedReadsAndWritesEverywhere(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashTrusted })
	outside := realTempDir(t)
	id.ok("BASH", "command", "echo x > "+outside+"/f && cat ../LIFE.md")
	if strings.Contains(id.description("BASH"), "are confined") {
		t.Error("the model is told of a sandbox that is not there")
	}
}

func TestAround(t *testing.T) {
	root := realTempDir(t)
	for _, d := range []string{"bin", "app/lethe/agents", "app/lib", "share"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	rel := func(hide ...string) string {
		for i := range hide {
			hide[i] = filepath.Join(root, hide[i])
		}
		parts := around(root, hide)
		for i := range parts {
			parts[i], _ = filepath.Rel(root, parts[i])
		}
		return strings.Join(parts, " ")
	}
	for _, c := range []struct{ hide, want string }{
		{"elsewhere/../../x", "."},
		{"app/lethe", "app/lib bin share"},
		{"app", "bin share"},
		{".", ""},
	} {
		if got := rel(c.hide); got != c.want {
			t.Errorf("around without %s: %q, want %q", c.hide, got, c.want)
		}
	}
	if got := rel("app/lib", "bin"); got != "app/lethe share" {
		t.Errorf("around without two: %q", got)
	}
}
