package check

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/blobs"
	"lethe/home"
)

// Garbage counts the blobs that nothing refers to.
type Garbage struct {
	Blobs   int      `json:"blobs"`
	Bytes   int64    `json:"bytes"`
	Removed []string `json:"removed,omitempty"` // directories that have waited for their time
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
func Collect(h home.Home, store *blobs.Store, move bool) (g Garbage, err error) {
	release, err := holdAll(h)
	defer release()
	if err != nil {
		return g, err
	}
	all, err := list(store)
	if err != nil {
		return g, err
	}
	keep, err := all.referred(h)
	if err != nil {
		return g, fmt.Errorf("what is referred to is not all known: %w", err)
	}
	now := time.Now()
	for _, hash := range all.sorted {
		path := store.Path(hash)
		fi, err := os.Lstat(path)
		if err != nil || keep[hash] || now.Sub(fi.ModTime()) < fresh {
			continue
		}
		b, err := store.Get(hash)
		upload := b.Life == "" && now.Sub(b.At) < keepFor
		if err != nil || upload { // Home tells of the damaged
			continue
		}
		g.Blobs, g.Bytes = g.Blobs+1, g.Bytes+fi.Size()
		if !move {
			continue
		}
		if err := moveAside(h, path, now.UTC().Format(gcDay)); err != nil {
			return g, err
		}
	}
	old, _ := filepath.Glob(filepath.Join(h.Dir, lostFound, "gc-*"))
	for _, dir := range old {
		day, bad := time.Parse(gcDay, filepath.Base(dir))
		if bad != nil || now.Sub(day) <= keepFor {
			continue
		}
		g.Removed = append(g.Removed, strings.TrimPrefix(dir, h.Dir+"/"))
		if move {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return g, err
}

// referred are the blobs that lives, rooms and bridges' state name.
func (l listing) referred(h home.Home) (map[blobs.Hash]bool, error) {
	keep := map[blobs.Hash]bool{}
	lives, err := h.List()
	for _, id := range lives {
		err = errors.Join(err, id.Erasing(), l.reach(id, math.MaxInt64, func(h blobs.Hash) error {
			keep[h] = true
			return nil
		}))
	}
	return keep, errors.Join(err, l.mentioned(h, keep))
}

// holdAll takes the locks of a boot, of an import, and of all identities and bridges.
func holdAll(h home.Home) (release func(), err error) {
	var held []*flock.Flock
	release = func() {
		for _, lock := range held {
			lock.Close()
		}
	}
	names := flock.New(h.Names(), flock.SetFlag(os.O_RDONLY))
	if err := names.Lock(); err != nil {
		return release, err
	}
	held = append(held, names)
	locks := []string{h.Blobs()}
	for _, dir := range []string{"agents", "bridges"} {
		more, _ := filepath.Glob(filepath.Join(h.Dir, dir, "*", "lock"))
		locks = append(locks, more...)
	}
	for _, path := range locks {
		lock := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
		if free, err := lock.TryLock(); err != nil || !free {
			who := filepath.Base(filepath.Dir(path))
			if path == h.Blobs() {
				who = path
			} else if id, ferr := h.Find(who); ferr == nil {
				who = id.Name
			}
			return release, errors.Join(fmt.Errorf("%s: %w", who, ErrInUse), err)
		}
		held = append(held, lock)
	}
	return release, nil
}

// mentioned keeps the blobs that rooms and bridges' state name.
func (l listing) mentioned(h home.Home, keep map[blobs.Hash]bool) error {
	look := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewReader(f)
		for err == nil {
			var line string
			line, err = lines.ReadString('\n')
			for _, short := range blobs.Mentions(line) {
				if h, err := l.find(short); err == nil {
					keep[h] = true
				}
			}
		}
		return nil
	}
	return errors.Join(filepath.WalkDir(h.Chats(), look), filepath.WalkDir(filepath.Join(h.Dir, "bridges"), look))
}
