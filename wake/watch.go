package wake

import (
	"cmp"
	"errors"
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
	"lethe/mind"
)

const (
	maxWatched = 16 << 20 // bytes: of a larger file the size and the time are its content
	maxListed  = 10_000   // names of a watched directory
)

// open opens what a trigger watches, and waits for no pipe: of the identity's own only what is in the workspace,
// whatever links are there.
func (t *Triggers) open(r *loaded) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if !r.own {
		return os.OpenFile(t.leads(r.Watch), flags, 0)
	}
	work, err := os.OpenRoot(t.Tools.Workspace)
	if err != nil {
		return nil, err
	}
	defer work.Close()
	return work.OpenFile(filepath.Clean(r.Watch), flags, 0)
}

// watched reports whether what a trigger watches is another thing than known tells, once
// it has been left alone for a while.
func (t *Triggers) watched(r *loaded, fired mind.Firing, now time.Time) (m moment, ok bool) {
	known := fired.Seen
	look, newest, err := t.look(r, false)
	if err != nil {
		r.failure = err.Error()
		return m, false
	}
	switch {
	case r.look == look:
	case r.look == "" && known == "" && !newest.After(r.since): // as it was when the trigger was made
		r.base, _, _ = t.look(r, true)
		fallthrough // what changes it in the same step of its clock looks the same
	default:
		r.changed = now
	}
	r.look = look
	if r.changed.IsZero() {
		return m, false
	}
	at := r.changed.Add(settleTime)
	if least := fired.Last.Add(leastPause); r.own && at.Before(least) && least.Before(now.Add(clockJumped)) {
		at = least // what it does in a turn may change what it watches
	}
	if r.wake = at; now.Before(at) { // in quiet hours it waits on
		return m, false
	}
	r.wake = time.Time{}
	content, _, err := t.look(r, true)
	known = cmp.Or(r.base, known)
	if err != nil || content == known {
		r.changed, r.base = time.Time{}, known
		return m, false
	}
	return moment{at: now, seen: content}, true
}

// look returns what tells a watched thing from how it was, by names, sizes and times or
// by its content, and when it last changed. It waits for nothing.
func (t *Triggers) look(r *loaded, content bool) (as string, newest time.Time, err error) {
	f, err := t.open(r)
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
		all, err := list(f, nil)
		if err != nil {
			return "", newest, err
		}
		for _, fi := range all {
			add(fi)
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
	return mind.Digest([]byte(text.String())), newest, nil
}

// list closes a directory, after it has read what is in it, in the order of names: at most maxListed.
func list(dir *os.File, err error) ([]fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdir(maxListed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(all, func(x, y fs.FileInfo) int { return strings.Compare(x.Name(), y.Name()) })
	return all, err
}
