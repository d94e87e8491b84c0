package main

import (
	"fmt"
	"os"
	"path/filepath"

	"lethe/tools"
)

// warnings are what weakens the promises here, a line each. They are told when
// identities start to run, and stand in their status.
func (p *program) warnings() []string {
	var list []string
	if os.Geteuid() == 0 {
		list = append(list, "runs as root: whatever gets past the sandbox owns the machine; run it as a user of its own")
	}
	if fi, err := os.Stat(p.home.Dir); err == nil {
		list = append(list, ofOthers(p.home.Dir, fi)...)
		if weak := weakFileSystem(p.home.Dir); weak != "" {
			list = append(list, fmt.Sprintf("the home %s is on %s", p.home.Dir, weak))
		}
	}
	if mode := p.settings.Tools.Bash; mode == "" || mode == tools.BashSandbox {
		if err := tools.CanConfine(); err != nil {
			list = append(list, "BASH is refused: "+err.Error())
		}
	}
	return list
}

// ofOthers tells who else may write to the home.
func ofOthers(dir string, fi os.FileInfo) (list []string) {
	if uid := ownerOf(fi); uid != os.Geteuid() {
		list = append(list, fmt.Sprintf("the home %s belongs to user %d, who can change all that is in it; chown it", dir, uid))
	}
	if fi.Mode().Perm()&0o022 != 0 {
		list = append(list, fmt.Sprintf("other users can write to the home %s; chmod 700 %s", dir, filepath.Clean(dir)))
	}
	return list
}
