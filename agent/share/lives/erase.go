package lives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
)

// Erased makes the store hold the life as this disk does after an erasure, and nothing else. The line that tells of the
// erasure was shipped before. After an error the caller calls it again.
func (c *Tenure) Erased(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside.Wait()
	add := func(files ...File) error {
		segment := c.empty()
		segment.Files = files
		return c.create(ctx, segment)
	}
	err := c.storeWorkspace(ctx)
	old := c.at.N
	c.files.known = map[string]blobs.Hash{} // earlier ones are left out
	if err == nil {
		_, err = c.send(ctx, nil)
	}
	if err == nil {
		err = add() // the newest one stays as it is
	}
	if err == nil {
		err = c.rewrite(ctx, old)
	}
	if err == nil {
		err = c.save()
	}
	if err == nil {
		err = add() // with which other hosts notice
	}
	if err == nil && c.Erase != nil {
		err = c.Erase(ctx, c.id.Self)
	}
	if err == nil {
		err = add(File{Name: home.PlanFile, Gone: true})
	}
	if err != nil {
		return fmt.Errorf("erase from what is stored of %s: %w", c.id.Name, err)
	}
	return nil
}

// rewrite makes segments anew from this disk; up to a number, without own files.
func (c *Tenure) rewrite(ctx context.Context, old int) error {
	log, err := os.ReadFile(c.id.LIFE())
	if err != nil {
		return err
	}
	erased, err := c.files.read("LIFE.erased")
	if err == nil {
		err = c.shorten(ctx, &erased, segmentSize/8) // it stands beside what fills a segment
	}
	if err != nil {
		return err
	}
	keep := []blobs.Hash{}
	for _, now := range c.listed() {
		keep = append(keep, now.hash)
	}
	for _, sum := range c.files.known {
		keep = append(keep, sum)
	}
	n, first := 0, true
	made := func(lost int, text []byte) ([][]byte, error) {
		n++
		segment, err := decode(text)
		if lost > 0 {
			err = fmt.Errorf("%w; lethe run %s mends it, if it is started anew", streams.ErrDamaged, c.id.Name)
		}
		if err != nil || segment.Begins {
			return [][]byte{text}, err
		}
		if n <= old {
			segment.Files = nil
		}
		if first { // with it a reader knows which lines were changed
			first, segment.Files = false, append([]File{erased}, segment.Files...)
		}
		from := segment.After.Offset
		segment.Lines = log[from : from+int64(len(segment.Lines))]
		for k, text := range segment.Texts {
			if segment.Texts[k], err = c.here(addressOf(text)); err != nil {
				return nil, err
			}
		}
		for k, hash := range segment.Large {
			if segment.Large[k], err = c.replace(ctx, hash); err != nil {
				return nil, err
			}
		}
		keep = append(keep, segment.Large...)
		return [][]byte{segment.encode()}, nil
	}
	c.at.Gen, err = c.Streams.Rewrite(ctx, c.stream(), begins, made)
	if err == nil {
		err = c.Streams.KeepLarge(ctx, c.stream(), keep)
	}
	return err
}

// addressOf returns the address of the file of a blob.
func addressOf(text []byte) blobs.Hash {
	if b, err := blobs.Decode(text); err == nil && b.Gone != nil {
		return b.Gone.Of
	}
	return blobs.Sum(text)
}

// here returns the file of a blob as it is on this disk.
func (c *Tenure) here(hash blobs.Hash) ([]byte, error) { return os.ReadFile(c.store.Path(hash)) }

// replace stores a large text as this disk has it, and returns the hash of that. The old one stays until nothing refers
// to it.
func (c *Tenure) replace(ctx context.Context, hash blobs.Hash) (blobs.Hash, error) {
	address := hash
	if !c.store.Has(hash) { // something was erased from it before
		text, err := c.large(ctx, hash)
		if err != nil {
			return hash, err
		}
		address = addressOf(text)
	}
	text, err := c.here(address)
	if now := blobs.Sum(text); err == nil && now != hash {
		hash, err = now, c.putLarge(ctx, now, text)
	}
	return hash, err
}

// copies are the files that repeat a life, and LIFE behind them.
var copies = []string{
	"recall.db*", home.ContextFile, "status.json", "summaries.json", "live.*", "*.torn-*", "*.here", "triggers/*", "jobs/*/*",
	"MEMORY.md", "SEGMENT.md", "SUMMARISE.md", "task.toml", "hired.toml", "rest.toml", workspaceFile,
	"LIFE.md", "LIFE.erased", home.PlanFile, ".tmp-*",
}

// wipe removes the files of the life here, which are read anew.
func (c *Tenure) wipe() error {
	c.passOver() // the store has those, too
	if err := c.workspace.restore(nil, c.at.Stale, nil); err != nil {
		return err
	}
	for _, pattern := range copies {
		if pattern == home.PlanFile && c.files.known[pattern].IsZero() { // the store does not know it
			continue
		}
		files, _ := filepath.Glob(filepath.Join(c.id.Dir, pattern))
		for _, file := range files {
			if err := shred(file); err != nil {
				return err
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(c.Home.Blobs(), "*", ".tmp-*")) // of processes that died
	for _, file := range left {
		fi, err := os.Lstat(file)
		if err == nil && time.Since(fi.ModTime()) > time.Minute {
			err = shred(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c.at, c.files.known = position{}, map[string]blobs.Hash{}
	return durable.Remove(positionFile(c.id))
}

// shred removes a file, and first what stands in it.
func shred(file string) error {
	fi, err := os.Lstat(file)
	if err != nil || !fi.Mode().IsRegular() {
		return err
	}
	err = durable.Patch(file, durable.Piece{Data: make([]byte, fi.Size())})
	if err == nil {
		err = durable.Remove(file)
	}
	return err
}
