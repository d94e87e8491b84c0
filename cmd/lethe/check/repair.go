package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life/event"
)

// lostFound is the directory of a home that files are moved to, below the paths that they had.
const lostFound = "lost+found"

// Repair checks and mends until nothing is left that can be mended, and returns the findings that it has mended and the
// report of the rest. It deletes nothing, and after a kill the next Repair goes on. While an identity of the home runs,
// it changes nothing and returns an *home.RunningError.
func Repair(place home.Home, store *blobs.Store, options Options) (mended []Finding, left *Report, err error) {
	all, err := place.List()
	for _, id := range all {
		if pid, running := home.Running(id); running {
			return nil, nil, &home.RunningError{Identity: id, PID: pid}
		}
		// Repair must not move a text that is to go, nor put it back from lost+found.
		if err := journal.FinishErasure(place, id, nil); err != nil && !errors.Is(err, home.ErrCorrupt) {
			return nil, nil, err
		}
	}
	for more := true; err == nil && more; {
		if left, err = Home(place, store, options); err != nil {
			break
		}
		more = false
		for _, finding := range left.Findings {
			again := slices.ContainsFunc(mended, func(before Finding) bool {
				return before.Where == finding.Where && before.What == finding.What
			})
			if finding.fix == nil || again {
				continue
			}
			if err := finding.fix(); err != nil {
				return mended, left, fmt.Errorf("mend %s: %w", finding.Where, err)
			}
			mended, more = append(mended, finding), true
		}
	}
	return mended, left, err
}

// moveAside moves a file, if it is there, to a directory of lost+found.
func moveAside(home home.Home, path, below string) error {
	name, err := filepath.Rel(home.Dir, path)
	if err != nil {
		return err
	}
	to := filepath.Join(home.Dir, lostFound, below, name)
	if err := durable.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := durable.Rename(path, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(durable.SyncDir(filepath.Dir(to)), durable.SyncDir(filepath.Dir(path)))
}

// replace puts a missing blob back: from lost+found, from meta and body, or from candidates; or else a tombstone with
// meta and body. Zeros at the end of the address are unknown.
func (f *folder) replace(address blobs.Hash, meta blobs.Meta, body []byte, candidates ...[]byte) error {
	short := address.String()[:16]
	if parent, err := f.store.Resolve(meta.Parent.String()[:16]); err == nil {
		meta.Parent = parent // what was lost, too, may have its whole address by now
	}
	switch blob, err := f.store.Find(short); {
	case err == nil:
		return nil // another life that shares it came first
	case !blob.Hash.IsZero():
		if err := f.aside(f.store.Path(blob.Hash)); err != nil {
			return err
		}
	}
	candidates = append(candidates, blobs.Encode(meta, body))
	for _, name := range []string{"SEGMENT.md", "SUMMARISE.md"} { // of these, texts name a part of the address
		text, _, _ := durable.ReadRegular(filepath.Join(f.id.Dir, name), 1<<28)
		own := blobs.Meta{At: time.Unix(0, 0), Gist: name, Life: f.id.Self}
		candidates = append(candidates, blobs.Encode(own, text))
	}
	kept, _ := filepath.Glob(filepath.Join(f.home.Dir, lostFound, "*", "blobs", short[:3], short[3:]+"*"))
	for _, path := range kept {
		data, _, _ := durable.ReadRegular(path, 1<<30)
		candidates = append(candidates, data)
		address, _ = home.Address(f.store, short[:3]+filepath.Base(path))
	}
	for _, data := range candidates {
		if blob, err := blobs.Decode(data); err == nil && strings.HasPrefix(blobs.Sum(data).String(), short) {
			_, err := f.store.Put(blob.Meta, blob.Body)
			return err
		}
	}
	// A seal, the next blob, or a snapshot names its whole address.
	named := slices.Concat(f.v.lost, slices.Collect(maps.Keys(f.v.lasts)), slices.Collect(maps.Values(f.v.Reach.Parent)))
	for _, hash := range named {
		if strings.HasPrefix(hash.String(), short) && hash.String() > address.String() {
			address = hash
		}
	}
	_, err := f.store.Bury(blobs.Tombstone{Of: address, Why: blobs.Lost, At: time.Now()}, meta, body)
	return err
}

// maxNamed bounds the tombstones that a note names.
const maxNamed = 20

// recordLost records in LIFE that texts are lost, and tells the identity in a note.
func (f *folder) recordLost(lost []blobs.Hash) error {
	text := fmt.Sprintf("Texts of your life that were missing or damaged on the disk and could not be restored: %d. "+
		"Where one stood you read now: %s", len(lost), LostText)
	gone := event.Erased{Why: blobs.Lost}
	for i, hash := range lost {
		gone.Blobs = append(gone.Blobs, event.Buried{Address: hash.String(), Tombstone: f.v.left[hash.String()]})
		if blob, err := f.store.Get(hash); err == nil && i < maxNamed {
			ref := blobs.Ref{Hash: f.store.Short(hash), Gist: blob.Gist}
			text += fmt.Sprintf("\n- %s of %s", ref, blob.At.Format(time.DateTime))
		}
	}
	held, err := journal.Hold(f.home, f.id, f.store, nil) // sets a torn end aside
	if err != nil {
		return err
	}
	defer held.Close()
	if len(lost) == 0 {
		return nil
	}
	return held.TellGone(gone, nil, "texts that are lost", text)
}
