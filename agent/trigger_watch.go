package agent

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/blobs"
)

const (
	maxWatched = 16 << 20 // bytes: of a larger file the size and the time are its content
	maxListed  = 10_000   // names of a watched directory
)

// disk is the part of the file system that a trigger may see: for a person's all of it,
// for the identity's own the workspace, whatever links are in it.
type disk interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Close() error
}

type wholeDisk struct{}

func (wholeDisk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (wholeDisk) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (wholeDisk) Close() error { return nil }

// disk opens what a trigger may see, with the name of path there.
func (t *triggers) disk(r *armed, path string) (disk, string, error) {
	if !r.own {
		return wholeDisk{}, t.path(path), nil
	}
	root, err := os.OpenRoot(t.a.workspace())
	return root, filepath.Clean(path), err
}

// watched reports whether what a trigger watches is another thing than known tells, once
// it has been left alone for a while.
func (t *triggers) watched(r *armed, known string, now time.Time) (m moment, ok bool) {
	look, newest, err := t.look(r, false)
	if err != nil {
		r.failure = err.Error()
		return m, false
	}
	switch {
	case r.look == look:
	case r.look == "" && known == "" && !newest.After(r.since): // as it was when the trigger was made
		r.base, _, _ = t.look(r, true)
	default:
		r.changed = now
	}
	r.look = look
	if r.changed.IsZero() {
		return m, false
	}
	if r.wake = r.Loud(r.changed.Add(settleTime)); now.Before(r.wake) {
		return m, false
	}
	r.wake = time.Time{}
	content, _, err := t.look(r, true)
	if r.base != "" {
		known = r.base
	}
	if err != nil || content == known {
		r.changed, r.base = time.Time{}, known
		return m, false
	}
	if r.Run != "" { // it is looked at again when it changes again
		r.changed = time.Time{}
	}
	return moment{at: now, seen: content}, true
}

// look returns what tells a watched thing from how it was, by names, sizes and times or
// by its content, and when it last changed. It reads no pipe and waits for nothing.
func (t *triggers) look(r *armed, content bool) (as string, newest time.Time, err error) {
	on, name, err := t.disk(r, r.Watch)
	if err != nil {
		return "", newest, err
	}
	defer on.Close()
	f, err := on.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if os.IsNotExist(err) {
		return "none", newest, nil
	}
	if err != nil {
		return "", newest, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", newest, err
	}
	var text strings.Builder
	add := func(fi fs.FileInfo) {
		fmt.Fprintf(&text, "%s %d %d\n", fi.Name(), fi.Size(), fi.ModTime().UnixNano())
		if fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
	}
	switch {
	case fi.IsDir():
		names, _ := f.Readdirnames(maxListed)
		slices.Sort(names)
		for _, n := range names {
			if fi, err := on.Lstat(filepath.Join(name, n)); err == nil {
				add(fi)
			}
		}
		if fi.ModTime().After(newest) { // of a name that went, too
			newest = fi.ModTime()
		}
	case content && fi.Mode().IsRegular() && fi.Size() <= maxWatched:
		data, err := io.ReadAll(io.LimitReader(f, maxWatched))
		return blobs.Sum(data).String()[:16], fi.ModTime(), err
	default:
		add(fi)
	}
	return digest([]byte(text.String())), newest, nil
}
