package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// Under bubblewrap the rules are those of Landlock: what may be written can be, and nothing else.
func TestBubblewrap(t *testing.T) {
	b, outside := wrapped(t), lethetest.Dir(t)
	t.Setenv("HOME", filepath.Dir(b.home)) // as ~/.lethe is
	extra, open := lethetest.Dir(t), filepath.Join(b.home, "skills")
	lethetest.Write(b, filepath.Join(outside, "f"), "SECRET elsewhere\n")
	lethetest.Write(b, filepath.Join(open, "plan.md"), "steps\n")
	lethetest.Must(t, os.Symlink(filepath.Join(b.home, "config.toml"), filepath.Join(b.Dir, "link")))
	b.Write, b.Read = append(b.Write, extra), []string{open, filepath.Join(b.home, "missing")}
	b.Hide = append(b.Hide, "/etc/passwd", "/usr/share", "/etc/is/not/there")
	for _, line := range []string{
		"echo x > f && mkdir -p a/b && mv f a/b && ln a/b/f g && rm -r a", "echo x > $HOME/f && mv $HOME/f moved", "echo x > $(mktemp)",
		"echo x > /dev/null && head -c 8 /dev/urandom | wc -c", "echo x > " + extra + "/f", "cat " + open + "/plan.md",
		"cat /etc/group > /dev/null && ls /usr/bin /sys > /dev/null && cat /proc/self/status > /dev/null", "cat <(echo x)",
		"[ $(ls /usr/share | wc -l) = 0 ]", "bash -c 'kill -9 $$'; [ $? = 137 ]", "[ $PWD = " + b.Dir + " ]",
	} {
		b.succeeds(line)
	}
	for _, line := range []string{
		"echo x > " + outside + "/f", "mkdir " + outside + "/d", "echo x > /tmp/f", "echo x > /dev/shm/f", "echo x > /dev/f", "echo x > /f",
		"echo x > /etc/f", "echo x > ../f", "echo x >> ../LIFE.md", "rm ../SOUL.md", "mv ../workspace ../elsewhere", "echo x > " + open + "/f",
		"cat " + outside + "/f", "cat " + b.home + "/config.toml", "cat link", "cat ../LIFE.md", "cat /etc/passwd", "ls /home",
		"mount -t tmpfs none .", "unshare -r true && unshare -rm mount -t tmpfs none . && touch /etc/f", "cp /bin/sh sh && chmod u+s sh",
		"f=/proc/sys/kernel/core_pattern; v=$(cat $f) && echo \"$v\" > $f", "echo 0 > /proc/sysrq-trigger",
	} {
		if out, ok := b.run(line); ok || strings.Contains(out, "SECRET") {
			b.Errorf("%s: %s", line, out)
		}
	}
	if out := b.succeeds("ls " + b.home + " .. && ps -e | wc -l"); strings.Contains(out, ".md") || strings.Contains(out, "config") {
		b.Errorf("the home is seen: %s", out)
	}
	lethetest.Words(t, b.succeeds("grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c"),
		"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "\n0\n")
	lethetest.Words(t, b.probe("dial tcp "+serve(t, "tcp", "127.0.0.1:0")), "dial ok: served")
	for _, address := range []string{filepath.Join(extra, "s"), fmt.Sprintf("@lethe-bwrap-%d", os.Getpid())} {
		lethetest.Words(t, b.probe("dial unix "+serve(t, "unix", address)), "dial failed")
	}
	c := b.Command
	c.Args = []string{"no-such-program"}
	end, err := Run(t.Context(), c, &bytes.Buffer{})
	if err != nil || !strings.Contains(end.Failed, "find no-such-program") {
		t.Errorf("%+v %v", end, err)
	}
}

// Where the kernel has no Landlock, bubblewrap confines by itself, and the program says how to get it where it is missing.
func TestWithoutLandlock(t *testing.T) {
	b := wrapped(t)
	for path, words := range map[string]string{
		os.Getenv("PATH"): "ran apart\n", lethetest.Dir(t): "it is not installed (apt install bubblewrap)",
	} {
		line := "cat " + b.home + "/config.toml; [ $(ls -d /proc/[0-9]* | wc -l) -le 5 ] && echo ran apart"
		cmd := exec.Command(executable(t), "act-as", "without", "landlock", "caller", b.home, "confined", line)
		if bash, err := exec.LookPath("bash"); err == nil && path != os.Getenv("PATH") {
			lethetest.Must(t, os.Symlink(bash, filepath.Join(path, "bash")))
		}
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, err := cmd.CombinedOutput()
		lethetest.Must(t, err)
		lethetest.Words(t, string(out), words)
		if strings.Contains(string(out), "SECRET") {
			t.Errorf("the home is seen: %s", out)
		}
	}
}
