package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
)

// lostFound is the directory of a home to which files are moved, under the paths that they had.
const lostFound = "lost+found"

// Repair checks and mends until nothing is left that can be mended, and returns what it has mended and what
// is left. It deletes nothing, and where it was killed the next one goes on. While an identity of the
// home runs it does nothing: an *agent.RunningError.
func Repair(home agent.Home, store *blobs.Store, lives []agent.Identity, tell func(blobs, of int, bytes int64)) (mended []Finding, left *Report, err error) {
	all, err := home.List()
	for _, id := range all {
		if pid, running := agent.Running(id); running {
			return nil, nil, &agent.RunningError{Identity: id, PID: pid}
		}
		// Nothing of what is to go may be moved, or put back from where it was moved to.
		if err := home.FinishErasure(id, nil); err != nil && !errors.Is(err, agent.ErrCorrupt) {
			return nil, nil, err
		}
	}
	for more := true; err == nil && more; {
		if left, err = Fsck(home, store, lives, tell); err != nil {
			break
		}
		more = false
		for _, f := range left.Findings {
			again := slices.ContainsFunc(mended, func(m Finding) bool { return m.Where == f.Where && m.What == f.What })
			if f.fix == nil || again {
				continue
			}
			if err := f.fix(); err != nil {
				return mended, left, fmt.Errorf("mend %s: %w", f.Where, err)
			}
			mended, more = append(mended, f), true
		}
	}
	return mended, left, err
}

// moveAside moves a file, if it is there, to a directory of lost+found.
func moveAside(home agent.Home, path, below string) error {
	name, err := filepath.Rel(home.Dir, path)
	if err != nil {
		return err
	}
	to := filepath.Join(lostFound, below, name)
	if err := durable.MkdirAll(filepath.Join(home.Dir, filepath.Dir(to)), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(home.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := durable.Move(root, name, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace puts a missing blob back, if it is in lost+found or what m and body make, or one of candidates; else a
// tombstone with that. Of the address, zeros at the end are not known.
func (f *folder) replace(address blobs.Hash, m blobs.Meta, body []byte, candidates ...[]byte) error {
	short := address.String()[:16]
	if parent, err := f.all.Resolve(m.Parent.String()[:16]); err == nil && !m.Parent.IsZero() {
		m.Parent = parent // what was lost, too, may have its whole address by now
	}
	if h, err := f.all.Resolve(short); err == nil {
		if _, err := f.all.Get(h); err == nil {
			return nil // another life that shares it came first
		}
		if err := f.aside(f.all.Path(h)); err != nil {
			return err
		}
	}
	candidates = append(candidates, blobs.Encode(m, body))
	kept, _ := filepath.Glob(filepath.Join(f.home.Dir, lostFound, "*", "blobs", short[:3], short[3:]+"*"))
	for _, path := range kept {
		data, _, _ := durable.ReadRegular(path, 1<<30)
		candidates = append(candidates, data)
		address, _ = f.all.find(short[:3] + filepath.Base(path))
	}
	for _, data := range candidates {
		if m, body, err := blobs.Decode(data); err == nil && strings.HasPrefix(blobs.Sum(data).String(), short) {
			_, err := f.all.Put(m, body)
			return err
		}
	}
	for _, last := range f.lasts {
		if strings.HasPrefix(last, short) {
			address, _ = blobs.ParseHash(last)
		}
	}
	err := f.all.Each(func(h blobs.Hash) error { // whoever came next, and a snapshot, name all of the address
		b, err := f.all.Get(h)
		if strings.HasPrefix(b.Parent.String(), short) {
			address = b.Parent
		} else if i := bytes.Index(b.Body, []byte(`"`+short)); err == nil && i >= 0 && strings.HasPrefix(b.Gist, "epoch ") {
			if named, err := blobs.ParseHash(string(b.Body[i+1 : min(i+65, len(b.Body))])); err == nil {
				address = named
			}
		}
		return nil
	})
	_, berr := f.all.Bury(blobs.Tombstone{Of: address, Why: blobs.Lost, At: time.Now()}, m, body)
	return cmp.Or(err, berr)
}

// maxBuried is how many tombstones a line of LIFE states, and maxNamed how many a note names.
const maxBuried, maxNamed = 1000, 20

// tellLost has LIFE state what is lost, and the identity know.
func (f *folder) tellLost(lost []blobs.Hash) error {
	held, err := agent.Hold(f.id, agent.Config{Home: f.home, Store: f.all.Store})
	if err != nil {
		return err
	}
	defer held.Close()
	if len(lost) == 0 {
		return nil
	}
	var records []agent.Record
	for _, p := range held.State().Owed().Calls { // nothing stands between a call and its result
		status, text := mind.NotStarted, "not run: the daemon stopped before this call's turn came"
		if p.Call.Started {
			status, text = mind.Interrupted, "interrupted, effect unknown: the daemon stopped while this ran. Look before you repeat it."
		}
		records = append(records, agent.Record{Event: event.Result{ID: p.ID(), Tool: p.Call.Tool, Status: status}, Texts: []agent.Text{{Gist: text, Data: []byte(text)}}})
	}
	note := fmt.Sprintf("Texts of your life that were missing or damaged on the disk and could not be restored: %d. Where one stood you read now: %s", len(lost), LostText)
	for _, h := range lost[:min(len(lost), maxNamed)] {
		if b, err := f.all.Get(h); err == nil {
			note += fmt.Sprintf("\n- %s of %s", blobs.Ref{Hash: f.all.Short(h), Gist: b.Gist}, b.At.Format(time.DateTime))
		}
	}
	for part := range slices.Chunk(lost, maxBuried) {
		e := event.Erased{Why: blobs.Lost}
		for _, h := range part {
			e.Blobs = append(e.Blobs, event.Buried{Address: h.String(), Tombstone: f.lost[h].String()})
		}
		records = append(records, agent.Record{Event: e})
	}
	e := event.Note{N: held.State().Next, Why: blobs.Lost}
	return held.Epoch(blobs.Lost, nil, append(records, agent.Record{Event: e, Texts: []agent.Text{{Gist: "texts that are lost", Data: []byte(note)}}})...)
}
