//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lethe/agent"
	"lethe/internal/lethetest"
)

func TestWarnings(t *testing.T) {
	above := t.TempDir()
	p := &program{home: agent.Home{Dir: filepath.Join(above, "home")}}
	lethetest.Must(t, os.Mkdir(p.home.Dir, 0o700))
	has := func(words string) bool {
		return slices.ContainsFunc(p.warnings(), func(w string) bool { return strings.Contains(w, words) })
	}
	change := func(mode os.FileMode) { lethetest.Must(t, os.Chmod(above, mode)) }
	change(0o700)
	if has("every user") || has("belongs to") || has("runs as root") != (os.Geteuid() == 0) {
		t.Errorf("told of a home of one's own: %q", p.warnings())
	}
	for mode, told := range map[os.FileMode]bool{0o777: true, 0o777 | os.ModeSticky: false, 0o775: false} {
		if change(mode); has("every user can replace the home "+p.home.Dir+", since they can write to "+above) != told {
			t.Errorf("mode %v: %q", mode, p.warnings())
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: a home of another user is not tried")
	}
	lethetest.Must(t, os.Chown(p.home.Dir, 65534, -1))
	if !has("belongs to user 65534") {
		t.Errorf("%q", p.warnings())
	}
}

func TestFileSystems(t *testing.T) {
	for dir, weak := range map[string]bool{"/proc": true, "/nowhere": true} {
		if got := weakFileSystem(dir); (got != "") != weak {
			t.Errorf("%s: %q", dir, got)
		}
	}
	if !slices.Contains(local, unix.EXT4_SUPER_MAGIC) || slices.Contains(local, unix.NFS_SUPER_MAGIC) {
		t.Error("ext4 is no local disk, or NFS is one")
	}
}
