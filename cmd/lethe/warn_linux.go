package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownerOf(fi os.FileInfo) int { return int(fi.Sys().(*syscall.Stat_t).Uid) }

const (
	remote   = "a network file system or FUSE (%s): power loss may take what was synced, and what other machines write may be noticed late"
	inMemory = "%s, in memory: a restart of the machine loses it"
)

// fileSystems are those that are known, with what is weak about them. Lethe relies on
// fsync and inotify: what is synced survives power loss, and a change is noticed
// whoever makes it.
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.F2FS_SUPER_MAGIC: "",
	unix.OVERLAYFS_SUPER_MAGIC: "", 0x2fc12fc1: "" /* ZFS */, 0xca451a4e: "", /* bcachefs */
	unix.TMPFS_MAGIC: fmt.Sprintf(inMemory, "tmpfs"), unix.RAMFS_MAGIC: fmt.Sprintf(inMemory, "ramfs"),
	unix.NFS_SUPER_MAGIC: fmt.Sprintf(remote, "NFS"), unix.SMB_SUPER_MAGIC: fmt.Sprintf(remote, "SMB"), unix.SMB2_SUPER_MAGIC: fmt.Sprintf(remote, "SMB"),
	unix.CIFS_SUPER_MAGIC: fmt.Sprintf(remote, "SMB"), unix.V9FS_MAGIC: fmt.Sprintf(remote, "9p"), unix.FUSE_SUPER_MAGIC: fmt.Sprintf(remote, "FUSE"),
	unix.CEPH_SUPER_MAGIC: fmt.Sprintf(remote, "Ceph"), unix.AFS_SUPER_MAGIC: fmt.Sprintf(remote, "AFS"),
}

// weakFileSystem says what a directory is on, where that promises less than a
// local disk.
func weakFileSystem(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "a file system that cannot be asked what it is: " + err.Error()
	}
	return weakness(int64(uint32(fs.Type))) // signed on some architectures
}

func weakness(magic int64) string {
	if what, known := fileSystems[magic]; known {
		return what
	}
	return fmt.Sprintf("a file system that Lethe does not know (type 0x%x): nobody tried whether what is synced survives power loss", magic)
}
