package home

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// private restores the permissions of a file or a directory, and returns the old ones
// if they did harm: their owner lacked one, or others could write. An editor or echo
// makes files that others can only read, and nobody reaches them
// in a directory of mode 0700. Links, pipes and what belongs to another user are left
// alone.
func (h Home) private(path string) (found []string) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if !fi.IsDir() && !fi.Mode().IsRegular() {
		return nil
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil
	}
	want := fs.FileMode(0o600)
	switch {
	case fi.IsDir():
		want = 0o700
	case filepath.Base(path) == "SOUL.md" || strings.HasPrefix(path, h.Blobs()+"/"):
		want = 0o400
	}
	was := fi.Mode().Perm()
	now := (was | want) & 0o700
	if now == was || os.Chmod(path, now) != nil {
		return nil
	}
	harmless := was&want == want && was&0o002 == 0
	if fi.Mode().IsRegular() && harmless {
		return nil
	}
	return []string{fmt.Sprintf("%s had %#o", path, was)}
}

// homeParts are the parts of the home that Lethe keeps closed; bridges do so by themselves. A key that others could
// read stays as it is: somebody may have read it, and check tells the owner.
var homeParts = []string{"config.toml", "keys.env", "format", "ledger", "blobs", "chats", "agents", "names"}

// Restore restores the permissions of a directory and of the named entries in it;
// without names, of all.
func (h Home) Restore(dir string, names ...string) (found []string) {
	if _, err := os.Lstat(dir); err != nil { // most homes have no hooks, and are asked after each call
		return nil
	}
	found = h.private(dir)
	if len(names) == 0 {
		entries, _ := os.ReadDir(dir) // what cannot be read is passed over
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		found = append(found, h.private(filepath.Join(dir, name))...)
	}
	return found
}

// Repair restores permissions as Restore does, warns of wrong ones, and reports whether there were any.
func (h Home) Repair(log *slog.Logger, dir string, names ...string) (repaired bool) {
	found := h.Restore(dir, names...)
	if len(found) > 0 {
		log.Warn("the home is for its owner alone; permissions were restored", "were", Shorten(found))
	}
	return len(found) > 0
}

// RepairFor repairs the permissions on the way to the file of an error, if that was refused and is the home's, and
// reports whether any were wrong: then the step that failed is worth another try.
func (h Home) RepairFor(err error, log *slog.Logger) (repaired bool) {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) {
		return false
	}
	if !strings.HasPrefix(at.Path, h.Dir+"/") {
		return false
	}
	var way []string
	for path := at.Path; len(path) > len(h.Dir); path = filepath.Dir(path) {
		way = append(way, path[len(h.Dir):])
	}
	slices.Reverse(way)
	return h.Repair(log, h.Dir, way...)
}

// Shorten names the first findings.
func Shorten(found []string) string {
	const most = 5
	if more := len(found) - most; more > 0 {
		found = append(found[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, ", ")
}
