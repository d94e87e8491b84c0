package chat

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// fileID tells a directory from another that took its place.
type fileID struct{ dev, ino uint64 }

func idOf(fi fs.FileInfo) fileID {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), st.Ino}
	}
	return fileID{}
}

// sighting is what a look at a directory entry remembers; zero for none.
type sighting struct{ entry, target stamp }

type stamp struct {
	id    fileID
	size  int64
	mtime time.Time
}

func stampOf(fi fs.FileInfo) stamp { return stamp{idOf(fi), fi.Size(), fi.ModTime()} }

// take looks at an entry. follow says to look also at what a link points to: a
// room kept elsewhere changes without an event here.
func take(path string, follow bool) (s sighting) {
	fi, err := os.Lstat(path)
	if err != nil {
		return sighting{}
	}
	s.entry = stampOf(fi)
	if follow && fi.Mode()&fs.ModeSymlink != 0 {
		if fi, err := os.Stat(path); err == nil {
			s.target = stampOf(fi)
		}
	}
	return s
}

// look compares an entry with the last look and signals its subscribers if it
// differs, or in any case when sure. It looks before it signals, so
// whatever was seen has been signalled since.
func (w *Watcher) look(d *watched, dir, name string, sure bool) {
	w.mu.Lock()
	wanted, follow := d.wants(name)
	w.mu.Unlock()
	if !wanted {
		return
	}
	now := take(filepath.Join(dir, name), follow)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !sure && d.seen[name] == now {
		return
	}
	if now == (sighting{}) {
		delete(d.seen, name)
	} else {
		d.seen[name] = now
	}
	for s, names := range d.subs {
		if names.has(name) {
			s.signal()
		}
	}
}

// wants says whether a subscriber hears of the entry, and whether one named it.
func (d *watched) wants(name string) (wanted, named bool) {
	for _, n := range d.subs {
		wanted = wanted || n.has(name)
		named = named || n[name]
	}
	return wanted, named
}

func (w *Watcher) checkAll() {
	w.mu.Lock()
	dirs := make([]string, 0, len(w.dirs))
	for dir := range w.dirs {
		dirs = append(dirs, dir)
	}
	w.mu.Unlock()
	for _, dir := range dirs {
		w.check(dir)
	}
}

// check sees to it that dir is watched, if it exists, and looks at what its
// subscribers hear of.
func (w *Watcher) check(dir string) {
	d := w.rewatch(dir)
	if d == nil {
		return
	}
	for _, name := range w.due(d, dir) {
		w.look(d, dir, name, false)
	}
}

// due lists the entries to look at: the named ones, those seen before, and, if
// somebody wants all, those that are there.
func (w *Watcher) due(d *watched, dir string) []string {
	all := false
	var due []string
	w.mu.Lock()
	for _, names := range d.subs {
		all = all || names == nil
		for name := range names {
			due = append(due, name)
		}
	}
	for name := range d.seen {
		due = append(due, name)
	}
	w.mu.Unlock()
	if all {
		entries, _ := os.ReadDir(dir) // a missing directory has no entries
		for _, e := range entries {
			due = append(due, e.Name())
		}
	}
	slices.Sort(due)
	return slices.Compact(due)
}

// rewatch puts a watch on dir if it has none, or has one on a directory that
// is no longer there under this name.
func (w *Watcher) rewatch(dir string) *watched {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.mu.Lock()
	d := w.dirs[dir]
	var id fileID
	if d != nil {
		id = d.id
	}
	w.mu.Unlock()
	if d == nil || w.notify == nil {
		return d
	}
	var now fileID
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		now = idOf(fi)
	}
	if now == id && (now == fileID{} || slices.Contains(w.notify.WatchList(), dir)) {
		return d
	}
	_ = w.notify.Remove(dir) // of the old directory, if any
	if (now != fileID{}) {
		if err := w.notify.Add(dir); err != nil {
			now = fileID{} // the poll tries again
			if !w.warned[dir] {
				w.warned[dir] = true
				w.log.Warn("no file events for a directory, polling it", "dir", dir, "every", w.poll, "err", err)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now != d.id {
		d.id = now
		for s := range d.subs {
			s.signal()
		}
	}
	return d
}
