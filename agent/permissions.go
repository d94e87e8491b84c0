package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// What Lethe makes is for its own user alone: directories 0700, files 0600, SOUL.md
// and blobs 0400. No sandbox governs chmod, so a command of one identity can change
// that for all of them; here it is restored.

// private restores the permissions of a file or a directory, and says what they
// were where that did harm: their owner lacked one, or others could write. A file
// that others could only read is what an editor or echo makes, and nobody reaches it
// in a directory of mode 0700. Links, pipes and what belongs to another user are left
// alone.
func private(path string, want fs.FileMode) (found []string) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() && !fi.Mode().IsRegular() || ownerOf(fi) != os.Geteuid() {
		return nil
	}
	if fi.IsDir() {
		want = 0o700
	}
	was := fi.Mode().Perm()
	now := (was | want) & 0o700
	if now == was || os.Chmod(path, now) != nil {
		return nil
	}
	if fi.Mode().IsRegular() && was&want == want && was&0o002 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s had %#o", path, was)}
}

// ownerOf is the user that a file belongs to, or -1.
func ownerOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// allPrivate is private for a directory and what is directly in it.
func allPrivate(dir string, want fs.FileMode) (found []string) {
	found = private(dir, want)
	entries, _ := os.ReadDir(dir) // where there are none, there is nothing to restore
	for _, e := range entries {
		mode := want
		if e.Name() == "SOUL.md" {
			mode = 0o400
		}
		found = append(found, private(filepath.Join(dir, e.Name()), mode)...)
	}
	return found
}

// restore restores the permissions of the home's fixed parts and of its rooms.
func (h Home) restore() (found []string) {
	for _, path := range []string{h.Dir, filepath.Join(h.Dir, "config.toml"), h.Blobs(), h.Agents(), h.Names()} {
		found = append(found, private(path, 0o600)...)
	}
	return append(found, allPrivate(h.Chats(), 0o600)...)
}

// restoreFor restores the permissions that an operation was refused for: of the path in
// err, of what is above it in the home, and of all shards if it is a blob.
func (h Home) restoreFor(err error) (found []string) {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	rel, err := filepath.Rel(h.Dir, at.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	found = h.restore()
	want, path := fs.FileMode(0o600), h.Dir
	if strings.HasPrefix(at.Path, h.Blobs()+string(filepath.Separator)) {
		want = 0o400
		found = append(found, allPrivate(h.Blobs(), want)...)
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		path = filepath.Join(path, part)
		found = append(found, private(path, want)...)
	}
	return found
}

// restoredFor reports whether what err was refused for is mended, and says so.
func (a *Agent) restoredFor(err error) bool { return a.cfg.restored(a.cfg.Home.restoreFor(err)) }

// restored warns of permissions that were restored, and reports whether any were.
func (c *Config) restored(found []string) bool {
	if len(found) > 0 {
		c.Log.Warn("the home is for its owner alone; permissions were restored", "were", shorten(found))
	}
	return len(found) > 0
}

// shorten names the first of what was found.
func shorten(found []string) string {
	const most = 5
	text := strings.Join(found[:min(len(found), most)], ", ")
	if len(found) > most {
		text += fmt.Sprintf(" and %d more", len(found)-most)
	}
	return text
}
