package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCapabilities takes from the calling thread, for good, all capabilities
// that keep does not want. It matters to root only. CAP_SYS_PTRACE goes in every
// mode: with it a command could read the daemon's memory.
func dropCapabilities(keep func(capability int) bool) error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if keep(c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		// EPERM: nothing to lose. EINVAL: a kernel with fewer capabilities.
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // EINVAL before Linux 4.3
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for i := range sets {
		var mask uint32
		for bit := range 32 {
			if c := i*32 + bit; c <= unix.CAP_LAST_CAP && keep(c) {
				mask |= 1 << bit
			}
		}
		sets[i].Permitted &= mask
		sets[i].Effective &= mask
		sets[i].Inheritable = 0
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
