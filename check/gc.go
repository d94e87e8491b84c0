package check

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
)

// Garbage are blobs that no life refers to, by where they come from.
type Garbage struct {
	Kinds   map[string]Amount `json:"kinds"`
	Removed []string          `json:"removed"` // directories that had waited for their time
}

// Amount is how many blobs there are of a kind.
type Amount struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

const (
	keepFor = 30 * 24 * time.Hour // what was moved to lost+found, and an upload that no room names
	fresh   = time.Hour           // what may be part of something under way
	gcDay   = "gc-2006-01-02"
)

// ErrInUse is wrapped by Collect's error while something in the home runs.
var ErrInUse = errors.New("it is in use")

// Collect finds the blobs that no life refers to, and that no room and no bridge's state names. With move it moves
// them to lost+found/gc-DATE, and removes for good what has been there for 30 days. Until it returns, it holds
// the locks of all identities and bridges, and no identity is booted. Where a life refers to what is missing, or cannot be
// read, nothing is moved.
func Collect(home agent.Home, store *blobs.Store, move bool) (g Garbage, err error) {
	g.Kinds = map[string]Amount{}
	names, err := os.Open(home.Names())
	if err != nil {
		return g, err
	}
	defer names.Close()
	if err := syscall.Flock(int(names.Fd()), syscall.LOCK_EX); err != nil { // as a boot does
		return g, err
	}
	locks, _ := filepath.Glob(filepath.Join(home.Agents(), "*", "lock"))
	bridges, _ := filepath.Glob(filepath.Join(home.Dir, "bridges", "*", "lock"))
	for _, path := range append(locks, bridges...) {
		lock := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
		if free, err := lock.TryLock(); err != nil || !free {
			return g, fmt.Errorf("%s: %w", filepath.Dir(path), errors.Join(err, ErrInUse))
		}
		defer lock.Unlock()
	}
	all, err := list(store)
	keep := map[blobs.Hash]bool{}
	here := map[string]bool{}
	lives, lerr := home.List()
	err = errors.Join(err, lerr)
	for _, id := range lives {
		here[id.Self] = true
		r := newReacher(id, all, func(h blobs.Hash) error { keep[h] = true; return nil }, func(_ blobs.Hash, lost error) { err = errors.Join(err, lost) })
		err = errors.Join(err, life.Scan(id.LIFE(), func(e life.Event, _ int64) error { return r.line(e) }))
	}
	for _, dir := range []string{home.Chats(), filepath.Join(home.Dir, "bridges")} {
		err = errors.Join(err, all.mentioned(dir, keep))
	}
	if err != nil {
		return g, fmt.Errorf("what is referred to is not all known: %w", err)
	}
	now := time.Now()
	for _, h := range all.sorted {
		fi, err := os.Lstat(store.Path(h))
		if err != nil || keep[h] || now.Sub(fi.ModTime()) < fresh {
			continue
		}
		b, err := store.Get(h)
		kind := "named by no line: a crash came between blob and line"
		switch {
		case err != nil:
			continue // fsck tells of it
		case b.Life == "" && now.Sub(b.At) < keepFor:
			continue
		case b.Life == "":
			kind = "uploads that no room names"
		case !here[b.Life]:
			kind = "of lives that are not here"
		}
		g.Kinds[kind] = Amount{g.Kinds[kind].Blobs + 1, g.Kinds[kind].Bytes + fi.Size()}
		if move {
			if err := moveAside(home, store.Path(h), now.UTC().Format(gcDay)); err != nil {
				return g, err
			}
		}
	}
	old, _ := filepath.Glob(filepath.Join(home.Dir, lostFound, "gc-*"))
	for _, dir := range old {
		if day, err := time.Parse(gcDay, filepath.Base(dir)); err == nil && now.Sub(day) > keepFor {
			g.Removed = append(g.Removed, dir)
			if move {
				if err := os.RemoveAll(dir); err != nil {
					return g, err
				}
			}
		}
	}
	return g, nil
}

// mentioned keeps the blobs that files in a directory name.
func (l listing) mentioned(dir string, keep map[blobs.Hash]bool) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewReader(f); ; {
			line, err := lines.ReadString('\n')
			for _, short := range blobs.Mentions(strings.ToValidUTF8(line, " ")) {
				if h, err := l.find(short); err == nil {
					keep[h] = true
				}
			}
			if err != nil {
				return nil
			}
		}
	})
}
