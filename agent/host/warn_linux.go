package host

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// local are file systems on which Lethe can rely: what is synced survives power loss, and a
// change is noticed whoever makes it.
var local = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1 /* ZFS */, 0xca451a4e, /* bcachefs */
}

// weakFileSystem names the file system of a directory, if it promises less than a
// local disk.
func weakFileSystem(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "a file system that cannot be asked what it is: " + err.Error()
	}
	magic := int64(uint32(fs.Type)) // signed on some architectures
	if slices.Contains(local, magic) {
		return ""
	}
	return fmt.Sprintf("a file system that Lethe does not know as a local disk (type 0x%x, see df -T): over a network, "+
		"through FUSE or in memory, power loss may take what was synced, "+
		"and what other machines write may be noticed late", magic)
}
