package chat

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// told reports whether the kernel surely tells of each change in dir. It does on file systems that only this kernel
// changes. On others, such as those of networks, FUSE and virtual machines, it may not.
func told(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		0x2fc12fc1, 0xca451a4e: // the last two: ZFS, bcachefs
		return true
	}
	return false
}

// clockPut calls tell when the machine has slept or its clock was set, until stop is called. It returns nil if the
// system does not tell.
func clockPut(tell func()) (stop func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	timer, done := os.NewFile(uintptr(fd), "clock"), make(chan struct{})
	arm := func() error {
		never := &unix.ItimerSpec{Value: unix.NsecToTimespec(math.MaxInt64)}
		return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, never, nil)
	}
	if arm() != nil {
		timer.Close()
		return nil
	}
	go func() { // ends with stop
		defer close(done)
		for {
			if _, err := timer.Read(make([]byte, 8)); !errors.Is(err, unix.ECANCELED) {
				return
			}
			if arm() != nil {
				return
			}
			tell()
		}
	}()
	return func() { timer.Close(); <-done }
}
