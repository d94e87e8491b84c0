//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lethe/agent"
)

func TestWarnings(t *testing.T) {
	p := &program{home: agent.Home{Dir: t.TempDir()}}
	has := func(words string) bool {
		return slices.ContainsFunc(p.warnings(), func(w string) bool { return strings.Contains(w, words) })
	}
	change := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(p.home.Dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	change(0o700)
	if has("other users") || has("belongs to") || has("runs as root") != (os.Geteuid() == 0) {
		t.Errorf("told of a home of one's own: %q", p.warnings())
	}
	for _, mode := range []os.FileMode{0o720, 0o702} {
		if change(mode); !has("other users can write to the home " + p.home.Dir) {
			t.Errorf("mode %v: %q", mode, p.warnings())
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: a home of another user is not tried")
	}
	if err := os.Chown(p.home.Dir, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if !has("belongs to user 65534") {
		t.Errorf("%q", p.warnings())
	}
}

func TestFileSystems(t *testing.T) {
	for magic, words := range map[int64]string{
		unix.EXT4_SUPER_MAGIC: "", unix.OVERLAYFS_SUPER_MAGIC: "", unix.NFS_SUPER_MAGIC: "NFS", unix.FUSE_SUPER_MAGIC: "FUSE",
		unix.TMPFS_MAGIC: "in memory", 0x1234: "does not know (type 0x1234)",
	} {
		if got := weakness(magic); !strings.Contains(got, words) || (got == "") != (words == "") {
			t.Errorf("0x%x: %q", magic, got)
		}
	}
}
