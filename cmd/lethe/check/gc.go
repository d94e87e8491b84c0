package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life"
)

// Garbage counts the blobs that nothing refers to.
type Garbage struct {
	Blobs   int      `json:"blobs"`
	Bytes   int64    `json:"bytes"`
	Removed []string `json:"removed,omitempty"` // directories that have waited for their time
}

const (
	keepFor = 30 * 24 * time.Hour // for files that were moved away, and uploads that nothing names
	fresh   = time.Hour           // age of a file that may be part of something under way
	gcDay   = "gc-2006-01-02"
)

// ErrInUse is wrapped by Collect's error while something in the home runs.
var ErrInUse = errors.New("running")

// Collect finds the blobs that no life, room or bridge's state names. With move it moves them to lost+found/gc-DATE,
// and removes for good directories there after 30 days. It holds the locks of all identities and bridges meanwhile, and
// nobody is booted. It refuses where a life refers to a missing blob, or a seal says that its lines were altered.
func Collect(place home.Home, store *blobs.Store, move bool) (garbage Garbage, err error) {
	release, err := holdAll(place)
	defer release()
	if err != nil {
		return garbage, err
	}
	keep, err := referred(place, store)
	if err != nil {
		return garbage, fmt.Errorf("what is referred to is not all known: %w", err)
	}
	now := time.Now()
	err = store.Each(func(hash blobs.Hash) error {
		path := store.Path(hash)
		info, err := os.Lstat(path)
		if err != nil || keep[hash] {
			return nil
		}
		if now.Sub(info.ModTime()) < fresh {
			return nil
		}
		blob, err := store.Get(hash)
		upload := blob.Life == "" && now.Sub(blob.At) < keepFor
		if err != nil || upload { // Home tells of damaged blobs
			return nil
		}
		garbage.Blobs, garbage.Bytes = garbage.Blobs+1, garbage.Bytes+info.Size()
		if !move {
			return nil
		}
		return moveAside(place, path, now.UTC().Format(gcDay))
	})
	old, _ := filepath.Glob(filepath.Join(place.Dir, lostFound, "gc-*"))
	for _, dir := range old {
		day, bad := time.Parse(gcDay, filepath.Base(dir))
		if bad != nil || now.Sub(day) <= keepFor {
			continue
		}
		garbage.Removed = append(garbage.Removed, strings.TrimPrefix(dir, place.Dir+"/"))
		if move {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return garbage, err
}

// referred are the blobs that lives, rooms and bridges' state name.
func referred(place home.Home, store *blobs.Store) (map[blobs.Hash]bool, error) {
	keep := map[blobs.Hash]bool{}
	err := mentioned(place, store, keep)
	lives, lerr := place.List()
	for _, id := range lives {
		verdict, verr := Verify(id, store, VerifyOptions{})
		err = errors.Join(err, id.Erasing(), verr, verdict.Reach.Unknown, lost(id, verdict))
		for _, hash := range verdict.Reach.Found {
			keep[hash] = true
		}
	}
	return keep, errors.Join(err, lerr)
}

// lost returns an error if lines of a life are gone from its log: nobody knows which blobs they referred to.
func lost(id home.Identity, verdict Verdict) error {
	had := max(1, life.SealedLines(id.LIFE()))
	if verdict.Lines >= had {
		return nil
	}
	return fmt.Errorf("%s: LIFE.md has %d lines of %d: put it back from a copy, or remove the identity with lethe rm",
		id.Name, verdict.Lines, had)
}

// holdAll takes the locks of a boot, of an import, and of all identities and bridges.
func holdAll(place home.Home) (release func(), err error) {
	var held []*flock.Flock
	release = func() {
		for _, lock := range held {
			lock.Close()
		}
	}
	lock := func(path string) error {
		lock := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
		free, err := lock.TryLock()
		if err == nil && free {
			held = append(held, lock)
			return nil
		}
		who := filepath.Base(strings.TrimSuffix(path, "/lock"))
		if id, ferr := place.Find(who); ferr == nil {
			who = id.Name
		}
		return errors.Join(fmt.Errorf("%s: %w", who, ErrInUse), err)
	}
	for _, path := range []string{place.Names(), place.Blobs()} { // from here on nobody is booted
		if err := lock(path); err != nil {
			return release, err
		}
	}
	agents, _ := filepath.Glob(filepath.Join(place.Agents(), "*", "lock"))
	bridges, _ := filepath.Glob(filepath.Join(place.Dir, "bridges", "*", "lock"))
	for _, path := range append(agents, bridges...) {
		if err := lock(path); err != nil {
			return release, err
		}
	}
	return release, nil
}

// mentioned keeps the blobs that rooms and bridges' state name.
func mentioned(place home.Home, store *blobs.Store, keep map[blobs.Hash]bool) error {
	look := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, short := range blobs.Mentions(string(text)) {
			if hash, err := store.Resolve(short); err == nil {
				keep[hash] = true
			}
		}
		return err
	}
	return errors.Join(filepath.WalkDir(place.Chats(), look), filepath.WalkDir(filepath.Join(place.Dir, "bridges"), look))
}
