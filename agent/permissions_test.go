package agent

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	lethetest.Must(t, err)
	return fi.Mode().Perm()
}

// Opening a home and an identity gives what belongs to them its permissions back:
// its owner gets what is missing, others get nothing.
func TestModesAreRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev", "ops")
	elsewhere := filepath.Join(filepath.Dir(w.home.Dir), "elsewhere.md")
	lethetest.Must(t, errors.Join(os.Rename(w.path("ops"), elsewhere), os.Symlink(elsewhere, w.path("ops")), os.Chmod(elsewhere, 0o444)))
	paths := []struct {
		path      string
		was, want fs.FileMode
	}{
		{id.LIFE(), 0, 0o600},
		{w.own(id, "MEMORY.md"), 0o666, 0o600},
		{w.own(id, "SOUL.md"), 0o444, 0o400},
		{id.Subs(), 0o500, 0o700},
		{id.Dir, 0, 0o700},
		{w.path("dev"), 0o440, 0o600},
		{w.home.Chats(), 0o755, 0o700},
		{w.home.Names(), 0, 0o700},
		{w.home.Dir, 0o777, 0o700},
		{elsewhere, 0o444, 0o444},
	}
	for _, p := range paths {
		lethetest.Must(t, os.Chmod(p.path, p.was))
	}
	h, err := home.Open(w.home.Dir)
	lethetest.Must(t, err)
	contains(t, h.Restored, w.home.Dir+" had 0777")
	contains(t, h.Restored, "names had 0")
	w.run(id).stop()
	for _, p := range paths {
		equal(t, "mode of "+p.path, modeOf(t, p.path), p.want)
	}
	if h, err = home.Open(w.home.Dir); err != nil || h.Restored != "" {
		t.Errorf("restored again: %q, %v", h.Restored, err)
	}
	if os.Geteuid() == 0 {
		lethetest.Must(t, errors.Join(os.Chown(w.path("dev"), 65534, 65534), os.Chmod(w.path("dev"), 0o444)))
		w.run(id).stop()
		equal(t, "mode of another user's file", modeOf(t, w.path("dev")), 0o444)
	}
}

// What somebody takes away from a daemon that is no root user, before it is opened and
// while it runs, costs nothing.
func TestModesAreTakenAway(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, always("the answer"))
	r.ask("first")
	r.stop()
	last := w.fold(id).LastBlob
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("cp", os.Args[0], program).CombinedOutput()
	if err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	child := exec.Command(program)
	child.Env = append(os.Environ(), childEnv+"="+w.home.Dir, childURL+"="+w.url)
	if os.Geteuid() == 0 { // modes are nothing to root
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for _, dir := range []string{filepath.Dir(w.home.Dir), filepath.Dir(filepath.Dir(w.home.Dir)), filepath.Dir(program)} {
			lethetest.Must(t, os.Chmod(dir, 0o755))
		}
		lethetest.Must(t, filepath.WalkDir(w.home.Dir, func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, 65534, 65534) }))
	}
	for _, path := range []string{w.store.Path(last), filepath.Dir(w.store.Path(last)), id.LIFE(), w.path("dev"), id.Dir, w.home.Dir} {
		lethetest.Must(t, os.Chmod(path, 0))
	}
	child.Stderr = t.Output()
	lethetest.Must(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	idle := func() {
		t.Helper()
		w.shows(id, "the child is idle", func(s status.Status) bool { return s.PID == child.Process.Pid && s.State == status.Idle })
	}
	idle()
	w.ask("dev", "second")
	idle()
	lethetest.Must(t, os.Chmod(w.path("dev"), 0o200)) // it neither hears
	w.ask("dev", "third")
	idle()
	f, err := os.OpenFile(w.path("dev"), os.O_WRONLY|os.O_APPEND, 0) // before it cannot be opened
	lethetest.Must(t, err)
	lethetest.Must(t, os.Chmod(w.path("dev"), 0o400)) // nor speaks
	_, err = f.WriteString("fourth\n")
	lethetest.Must(t, errors.Join(err, f.Close()))
	w.answered("dev", 4)
	equal(t, "mode of the room", modeOf(t, w.path("dev")), 0o600)
	equal(t, "mode of a blob", modeOf(t, w.store.Path(last)), 0o400)
	equal(t, "mode of a shard", modeOf(t, filepath.Dir(w.store.Path(last))), 0o700)
}
