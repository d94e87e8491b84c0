//go:build linux

package host

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

func TestWarnings(t *testing.T) {
	above := t.TempDir()
	home := filepath.Join(above, "home")
	lethetest.Must(t, os.Mkdir(home, 0o700))
	has := func(words string) bool {
		return slices.ContainsFunc(Warnings(home, ""), func(w Warning) bool { return strings.Contains(w.Text, words) })
	}
	change := func(mode os.FileMode) { lethetest.Must(t, os.Chmod(above, mode)) }
	change(0o700)
	if has("every user") || has("belongs to") || has("runs as root") != (os.Geteuid() == 0) {
		t.Errorf("told of a home of one's own: %q", Warnings(home, ""))
	}
	for mode, told := range map[os.FileMode]bool{0o777: true, 0o777 | os.ModeSticky: false, 0o775: false} {
		if change(mode); has("every user can replace the home "+home+", since they can write to "+above) != told {
			t.Errorf("mode %v: %q", mode, Warnings(home, ""))
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: a home of another user is not tried")
	}
	lethetest.Must(t, os.Chown(home, 65534, -1))
	if !has("belongs to user 65534") {
		t.Errorf("%q", Warnings(home, ""))
	}
}

// More lines of LIFE than a request has space for are told at the start.
func TestLinesThatDoNotFit(t *testing.T) {
	for lines, told := range map[int]bool{0: false, 30: false, 31: true, 50: true} {
		var log strings.Builder
		h := &Host{log: slog.New(slog.NewTextHandler(&log, nil)), home: home.Home{Dir: t.TempDir()}}
		h.settings.Life.Lines = lines
		h.warn()
		want := fmt.Sprintf("life.lines = %d: a request shows at most 6000 characters of them, about 30 lines", lines)
		if strings.Contains(log.String(), want) != told {
			t.Errorf("%d lines: %s", lines, log.String())
		}
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
