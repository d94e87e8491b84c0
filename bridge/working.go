package bridge

import (
	"path/filepath"

	"lethe/internal/status"
)

// Working says whether an identity of home is working on something that room
// waits for: when to show that it types. It reads the status files of the
// identities, which is cheap and tells no more than they do.
func Working(home, room string) bool {
	dirs, _ := filepath.Glob(filepath.Join(home, "agents", "*")) // the pattern is well-formed, unless home is odd
	for _, dir := range dirs {
		s, err := status.Read(dir)
		if err == nil && s.BusyIn(room) && status.Alive(s.PID) {
			return true
		}
	}
	return false
}
