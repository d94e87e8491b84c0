package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lethe/internal/sandbox"
	"lethe/tools"
)

// warnings lists what makes Lethe less safe on this machine, a line each. They are
// logged when identities start, and stand in their status.
func warnings(home, bash string) []string {
	var list []string
	if os.Geteuid() == 0 {
		list = append(list, "runs as root: whatever gets past the sandbox owns the machine; run it as a user of its own")
	}
	if fi, err := os.Stat(home); err == nil {
		list = append(list, ofOthers(home, fi)...)
		if weak := weakFileSystem(home); weak != "" {
			list = append(list, fmt.Sprintf("the home %s is on %s", home, weak))
		}
	}
	if bash == "" || bash == tools.BashSandbox {
		if err := sandbox.Available(); err != nil {
			list = append(list, "BASH is refused: "+err.Error())
		}
	}
	return list
}

// ofOthers tells who else may change the home. What its own permissions let others
// do has been taken from them when it was opened.
func ofOthers(dir string, fi os.FileInfo) (list []string) {
	if uid := int(fi.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() {
		list = append(list, fmt.Sprintf("the home %s belongs to user %d, who can change all that is in it; chown it", dir, uid))
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		fi, err := os.Stat(above)
		if err == nil && fi.Mode()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0 {
			list = append(list, fmt.Sprintf("every user can replace the home %s, since they can write to %s", dir, above))
		}
		if above == filepath.Dir(above) {
			return list
		}
	}
}
