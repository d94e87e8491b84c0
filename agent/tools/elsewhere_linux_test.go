package tools

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

// overSSH starts a real sshd for this user, where one is installed, and returns the command that leads there.
func overSSH(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	server, err := exec.LookPath("/usr/sbin/sshd")
	_, keygen := exec.LookPath("ssh-keygen")
	if err != nil || keygen != nil {
		t.Skip("needs openssh-server")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	lethetest.Must(t, err)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	for _, name := range []string{"key", "host"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	config := fmt.Sprintf("ListenAddress 127.0.0.1:%s\nHostKey %s/host\nAuthorizedKeysFile %[2]s/key.pub\nStrictModes no\nUsePAM no\n"+
		"PidFile none\nPermitRootLogin yes\n", port, dir)
	lethetest.Write(t, filepath.Join(dir, "config"), config)
	_ = os.MkdirAll("/run/sshd", 0o755) // root needs it
	daemon := exec.Command(server, "-D", "-e", "-f", filepath.Join(dir, "config"))
	log, err := os.Create(filepath.Join(dir, "log"))
	lethetest.Must(t, err)
	daemon.Stderr = log
	lethetest.Must(t, daemon.Start())
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait(); log.Close() })
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return []string{"ssh", "-T", "-i", filepath.Join(dir, "key"), "-p", port, "-o", "UserKnownHostsFile=/dev/null",
		"-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "127.0.0.1"}
}

// inPodman starts a container of busybox, where podman can run one, and returns the command that leads there. It shows the
// directory of temporary files.
func inPodman(t *testing.T) []string {
	t.Helper()
	shell, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("needs busybox-static and podman")
	}
	root, name := t.TempDir(), "lethe-"+rand.Text()[:8]
	for _, dir := range []string{"bin", "tmp", "proc", "dev", "etc", "sys"} {
		lethetest.Must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	program, err := os.ReadFile(shell)
	lethetest.Must(t, err)
	lethetest.Must(t, os.WriteFile(filepath.Join(root, "bin/busybox"), program, 0o755))
	var said []byte
	for _, options := range []string{"--rm", "--rm --ulimit nofile=1024:1024 --ulimit nproc=1000:1000"} { // not every host lets it raise limits
		for _, runtime := range []string{"crun", "runc"} {
			run := strings.Fields("--runtime " + runtime + " run -d " + options + " --network none --name " + name)
			run = append(run, "-v", os.TempDir()+":"+os.TempDir(), "--rootfs", root, "/bin/busybox", "sleep", "1000")
			_ = exec.Command("podman", "rm", "-f", name).Run()
			if said, err = exec.Command("podman", run...).CombinedOutput(); err == nil {
				t.Cleanup(func() { _ = exec.Command("podman", "--runtime", runtime, "rm", "-f", "-t", "0", name).Run() })
				through := []string{"podman", "--runtime", runtime, "exec", "-i", name, "/bin/busybox", "sh", "-c"}
				install := append(through[:len(through):len(through)], "/bin/busybox --install -s /bin")
				if said, err := exec.Command(install[0], install[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				return through
			}
		}
	}
	t.Skipf("podman runs nothing here: %s", said)
	return nil
}

func inBusybox(t *testing.T) []string {
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip("needs busybox")
	}
	return []string{"busybox", "sh", "-c"}
}

// Commands, jobs and checks run elsewhere, in the same workspace, and nothing of them is left there when they are killed.
func TestElsewhere(t *testing.T) {
	for name, shell := range map[string]func(*testing.T) []string{
		"sh": func(*testing.T) []string { return []string{"sh", "-c"} }, "ssh": overSSH, "podman": inPodman,
		"busybox": inBusybox,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := newIdentity(t, func(c *Config) { c.Shell = shell(t) })
			lethetest.Must(t, sandbox.Try(id.Shell, id.work))
			id.file("note", "it's here\n")
			lethetest.Words(t, id.ok("BASH", "command", "cat note; x='a b'; echo \"$x\"; pwd; exit 0"), "it's here\na b\n"+id.work+"\n[exit 0]")
			if r := id.do("BASH", "command", "exit 3"); !strings.Contains(string(r.Body), "[exit 3") {
				t.Errorf("%s", r.Body)
			}
			if r := id.do("BASH", "command", "kill -9 $$"); !strings.Contains(string(r.Body), "[exit 137") {
				t.Errorf("%s", r.Body)
			}
			if why, ran := id.Check(t.Context(), "grep -q needle", "a needle", nil, time.Minute); why != "" || !ran {
				t.Error(why, ran)
			}
			if why, ran := id.Check(t.Context(), "grep needle", "hay", nil, time.Minute); why == "" || !ran {
				t.Error(why, ran)
			}
			if printed, why := id.RunTrigger(t.Context(), "new", "cat note"); printed != "it's here" || why != "" {
				t.Error(printed, why)
			}
			for n, end := range []string{"sleep 100", "exit 0"} { // it is killed; it ends
				ctx, cancel := context.WithCancel(t.Context())
				beat := filepath.Join(id.work, fmt.Sprint("beat", n))
				go func() {
					for end != "exit 0" && ctx.Err() == nil {
						time.Sleep(100 * time.Millisecond)
						if _, err := os.Stat(beat); err == nil {
							cancel()
						}
					}
				}()
				id.doCtx(ctx, "BASH", "command", "setsid sh -c 'while :; do date >>"+beat+"; sleep .1; done' & "+
					"until [ -e "+beat+" ]; do sleep .1; done; "+end)
				cancel()
				time.Sleep(time.Second)
				was, err := os.Stat(beat)
				lethetest.Must(t, err)
				time.Sleep(time.Second)
				if is, err := os.Stat(beat); err != nil || is.Size() != was.Size() {
					t.Errorf("%s: it goes on: %v", end, err)
				}
			}
			id.Confined = func() bool { return true } // who is heard by others has its commands here
			if r := id.do("BASH", "command", "cat "+id.home+"/config.toml"); r.Err == false {
				t.Errorf("%s", r.Body)
			}
		})
	}
}

// endAll kills the processes that have a mark in their environment.
func endAll(t *testing.T, mark string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), mark+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			lethetest.Must(t, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// An identity does not start where commands find another workspace, go on when they are killed, or do not run.
func TestElsewhereIsTried(t *testing.T) {
	for script, want := range map[string]string{
		`cd /; sh -c "$(printf %s "$1" | sed "s|$0|/nowhere|g")"`: "says \"cat: .", "exit 7; #": "says \"\" ({Exit:7 ",
		"": "says \"left\\n",
	} {
		id := newIdentity(t, nil)
		if script == "" { // the input of the script stays open there
			mark := "LETHE_TEST=" + id.work
			t.Cleanup(func() { endAll(t, mark) })
			script = "for s; do :; done; exec " + strings.Join(overSSH(t), " ") + ` "export ` + mark + `; sleep 12 | { $s
}"`
		}
		through := []string{"sh", "-c", script, id.work}
		err := sandbox.Try(through, id.work)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		left, _ := filepath.Glob(filepath.Join(id.work, ".[A-Z]*"))
		lethetest.Equal(t, "left in the workspace", len(left), 0)
	}
}
