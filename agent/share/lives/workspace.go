package lives

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	ignore "github.com/sabhiram/go-gitignore"

	"lethe/blobs"
	"lethe/internal/durable"
)

// workspace is the workspace of an identity. It is stored at each epoch and at a stop: new files as large texts, and a
// list of all in workspace.list. Files that git ignores are left out, and so are links.
type workspace struct {
	dir  string
	most int64 // bytes; 0: it is not stored
}

// ErrLargeWorkspace says that a workspace has more than share.workspace allows.
var ErrLargeWorkspace = errors.New("the workspace is larger than share.workspace allows, and is not stored")

// list returns the lines of workspace.list for the workspace as it is now, and calls put for each text that the list
// before does not name.
func (w *workspace) list(before []byte, put func(blobs.Hash, []byte) error) ([]byte, error) {
	root, err := os.OpenRoot(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer root.Close()
	known := map[blobs.Hash]bool{}
	for _, now := range parseList(before) {
		known[now.hash] = true
	}
	var lines bytes.Buffer
	left := w.most
	rules := map[string]*ignore.GitIgnore{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && ignored(rules, name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			if text, err := root.ReadFile(path.Join(name, ".gitignore")); err == nil {
				rules[name] = ignore.CompileIgnoreLines(strings.Split(string(text), "\n")...)
			}
			return nil
		case !d.Type().IsRegular() || !listable(name):
			return nil
		}
		data, mode, err := readIn(root, name, left)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil {
			return err
		}
		hash := blobs.Sum(data)
		if !known[hash] {
			if err := put(hash, data); err != nil {
				return err
			}
		}
		known[hash], left = true, left-int64(len(data))
		fmt.Fprintf(&lines, "%s %o %s\n", hash, mode&0o700, name)
		return nil
	})
	return lines.Bytes(), err
}

// readIn reads a file of a workspace. It returns ErrLargeWorkspace where the file has more than so many bytes.
func readIn(root *os.Root, name string, most int64) (data []byte, mode fs.FileMode, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if fi.Size() > most || !fi.Mode().IsRegular() {
		return nil, 0, ErrLargeWorkspace
	}
	data, err = io.ReadAll(io.LimitReader(f, most))
	return data, fi.Mode().Perm(), err
}

// ignored reports whether a .gitignore above a file ignores it.
func ignored(rules map[string]*ignore.GitIgnore, name string, dir bool) bool {
	for above := path.Dir(name); ; above = path.Dir(above) {
		below := strings.TrimPrefix(name, above+"/")
		if dir {
			below += "/"
		}
		if r := rules[above]; r != nil && r.MatchesPath(below) {
			return true
		}
		if above == "." {
			return false
		}
	}
}

// listable reports whether a file can have a line in workspace.list.
func listable(name string) bool { return filepath.IsLocal(name) && !strings.ContainsAny(name, "\n\r") }

// restored names a file in a workspace until it is whole.
const restored = ".lethe-restored"

// restore brings the files of a list into the workspace, and removes stale ones, unless they were changed here. Files
// that were not stored are kept. Where one file fails, the others are restored.
func (w *workspace) restore(list []byte, stale map[string]bool, get func(blobs.Hash) ([]byte, error)) error {
	if err := durable.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := parseList(list)
	for old := range stale {
		_, name, _ := strings.Cut(old, " ")
		if _, stays := files[name]; !stays && hashIn(root, name).as(name) == old {
			_ = root.Remove(name)
		}
	}
	for name, now := range files {
		here := hashIn(root, name)
		if here.hash == now.hash {
			continue
		}
		text, ferr := get(now.hash)
		if ferr == nil && blobs.Sum(text) != now.hash {
			ferr = errors.New("it is another text")
		}
		if ferr == nil {
			ferr = makeWay(root, name, stale[here.as(name)])
		}
		if ferr == nil {
			ferr = place(root, name, text, now.mode)
		}
		if ferr != nil {
			err = errors.Join(err, fmt.Errorf("restore %s in the workspace: %w", name, ferr))
		}
	}
	return err
}

// hashIn returns the hash of a file in a workspace, zero where there is no regular one.
func hashIn(root *os.Root, name string) (l listed) {
	if fi, err := root.Lstat(name); err == nil && fi.Mode().IsRegular() {
		if text, err := root.ReadFile(name); err == nil {
			l.hash = blobs.Sum(text)
		}
	}
	return l
}

// makeWay renames what is in the way of a file: one of its name, unless that is stored, and above it all but
// directories.
func makeWay(root *os.Root, name string, isStored bool) error {
	for at := name; at != "."; at = path.Dir(at) {
		fi, err := root.Lstat(at)
		if err != nil {
			continue // nothing is there
		}
		stays := fi.IsDir()
		if at == name {
			stays = isStored
		}
		if stays {
			continue
		}
		aside := at + ".here"
		for _, err := root.Lstat(aside); err == nil; _, err = root.Lstat(aside) {
			aside += ".here"
		}
		if err := root.Rename(at, aside); err != nil {
			return err
		}
	}
	return nil
}

// place writes a file of a workspace, whole or not at all.
func place(root *os.Root, name string, text []byte, mode fs.FileMode) error {
	_ = root.Remove(restored)
	f, err := root.OpenFile(restored, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	return root.Rename(restored, name)
}

type listed struct {
	hash blobs.Hash
	mode fs.FileMode
}

// as returns the file as position.Stale names it.
func (l listed) as(name string) string { return l.hash.String() + " " + name }

func parseList(text []byte) map[string]listed {
	out := map[string]listed{}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(words) < 3 || !listable(words[2]) {
			continue
		}
		hash, err := blobs.ParseHash(words[0])
		var mode fs.FileMode
		if _, merr := fmt.Sscanf(words[1], "%o", &mode); err == nil && merr == nil {
			out[words[2]] = listed{hash, mode & 0o700}
		}
	}
	return out
}
