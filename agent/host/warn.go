package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lethe/agent/tools"
	"lethe/internal/sandbox"
)

// Warning names a thing that makes Lethe less safe on this machine, and a command that mends it.
type Warning struct{ Text, Remedy string }

// Warnings are logged when identities start, and stand in their status.
func Warnings(home, bash string) (list []Warning) {
	if os.Geteuid() == 0 {
		list = append(list, Warning{
			"runs as root: whatever gets past the sandbox owns the machine; run it as a user of its own", "sudo -u USER lethe",
		})
	}
	if fi, err := os.Stat(home); err == nil {
		list = append(list, ofOthers(home, fi)...)
		if weak := weakFileSystem(home); weak != "" {
			list = append(list, Warning{fmt.Sprintf("the home %s is on %s", home, weak), "df -T " + home})
		}
	}
	if bash == "" || bash == tools.BashSandbox {
		if err := sandbox.Available(); err != nil {
			list = append(list, Warning{Text: "BASH is refused: " + err.Error()})
		}
	}
	return list
}

// replaceable reports whether every user can replace what is in a directory of a mode.
func replaceable(dir fs.FileMode) bool { return dir&0o002 != 0 && dir&fs.ModeSticky == 0 }

// ofOthers warns of others who may change the home. What its own permissions let others
// do has been taken from them when it was opened.
func ofOthers(dir string, fi os.FileInfo) (list []Warning) {
	if uid := int(fi.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() {
		text := fmt.Sprintf("the home %s belongs to user %d, who can change all that is in it; chown it", dir, uid)
		list = append(list, Warning{text, "sudo chown -R $(id -un) " + dir})
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		fi, err := os.Stat(above)
		if err == nil && replaceable(fi.Mode()) {
			text := fmt.Sprintf("every user can replace the home %s, since they can write to %s", dir, above)
			list = append(list, Warning{text, "sudo chmod o-w " + above})
		}
		if above == filepath.Dir(above) {
			return list
		}
	}
}
