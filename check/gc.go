package check

import (
	"bufio"
	"cmp"
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

// Garbage are blobs that nothing refers to, by where they come from.
type Garbage struct {
	Kinds   map[string]Amount `json:"kinds"`
	Removed []string          `json:"removed,omitempty"` // directories that have waited for their time
}

// Amount is how many blobs there are of a kind.
type Amount struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

const (
	keepFor = 30 * 24 * time.Hour // what was moved away, and an upload that nothing names
	fresh   = time.Hour           // what may be part of something under way
	gcDay   = "gc-2006-01-02"
)

// ErrInUse is wrapped by Collect's error while something in the home runs.
var ErrInUse = errors.New("running")

// Collect finds the blobs that no life, room or bridge's state names. With move it moves them to
// lost+found/gc-DATE, and removes for good what has been there for 30 days. It holds the locks of all identities
// and bridges meanwhile, and nobody is booted. Where a life refers to what is missing, it refuses.
func Collect(home agent.Home, store *blobs.Store, move bool) (g Garbage, err error) {
	g.Kinds = map[string]Amount{}
	names := flock.New(home.Names(), flock.SetFlag(os.O_RDONLY))
	defer names.Close()
	if err := names.Lock(); err != nil { // as a boot does
		return g, err
	}
	stored := flock.New(home.Blobs(), flock.SetFlag(os.O_RDONLY))
	defer stored.Close()
	if free, err := stored.TryLock(); err != nil || !free { // as an import does, which counts on what is here
		return g, fmt.Errorf("%s: %w", home.Blobs(), cmp.Or(err, ErrInUse))
	}
	for _, dir := range []string{"agents", "bridges"} {
		locks, _ := filepath.Glob(filepath.Join(home.Dir, dir, "*", "lock"))
		for _, path := range locks {
			lock := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
			if free, err := lock.TryLock(); err != nil || !free {
				who := filepath.Base(filepath.Dir(path))
				if id, ferr := home.Find(who); ferr == nil {
					who = id.Name
				}
				return g, errors.Join(fmt.Errorf("%s: %w", who, ErrInUse), err)
			}
			defer lock.Unlock()
		}
	}
	all, err := list(store)
	lives, lerr := home.List()
	err = errors.Join(err, lerr)
	keep, here, now := map[blobs.Hash]bool{}, map[string]bool{}, time.Now()
	for _, id := range lives {
		here[id.Self] = true
		err = errors.Join(err, id.Erasing())
		r := newReacher(id, all, func(h blobs.Hash) error { keep[h] = true; return nil }, func(_ blobs.Hash, lost error) { err = errors.Join(err, lost) })
		err = errors.Join(err, all.scan(id, func(e life.Event, _ int64) error { return r.line(e) }))
	}
	for _, dir := range []string{"chats", "bridges"} {
		err = errors.Join(err, all.mentioned(filepath.Join(home.Dir, dir), keep))
	}
	if err != nil {
		return g, fmt.Errorf("what is referred to is not all known: %w", err)
	}
	for _, h := range all.sorted {
		fi, err := os.Lstat(store.Path(h))
		if err != nil || keep[h] || now.Sub(fi.ModTime()) < fresh {
			continue
		}
		b, err := store.Get(h)
		kind := "of lives that are not here"
		switch {
		case err != nil || b.Life == "" && now.Sub(b.At) < keepFor: // fsck tells of the damaged
			continue
		case b.Life == "":
			kind = "uploads, and souls without a life"
		case here[b.Life]:
			kind = "left by a crash before their lines"
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
		if day, bad := time.Parse(gcDay, filepath.Base(dir)); bad == nil && now.Sub(day) > keepFor {
			g.Removed = append(g.Removed, strings.TrimPrefix(dir, home.Dir+"/"))
			if move {
				err = errors.Join(err, os.RemoveAll(dir))
			}
		}
	}
	return g, err
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
		for lines, err := bufio.NewReader(f), error(nil); err == nil; {
			var line string
			line, err = lines.ReadString('\n')
			for _, short := range blobs.Mentions(line) {
				if h, err := l.find(short); err == nil {
					keep[h] = true
				}
			}
		}
		return nil
	})
}
