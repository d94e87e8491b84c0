package lives

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/life"
)

// Erased has the store hold of the life what this disk does, from which something was erased, and nothing else. The newest
// segment, which tells of it, was shipped before. Cut short, it is done again.
func (c *Custody) Erased(ctx context.Context) error {
	log, err := os.ReadFile(c.id.LIFE())
	if err != nil {
		return err
	}
	list, _ := os.ReadFile(filepath.Join(c.id.Dir, workspaceFile))
	kept, gone := parseList(list), map[blobs.Hash]bool{}
	first := true
	c.at.Gen, err = c.lives.Streams.Rewrite(ctx, Stream(c.id.Self), begins, func(text []byte) ([]byte, error) {
		s, err := decode(text)
		if err != nil || s.Begins {
			return text, err
		}
		if first { // whoever reads the lines has to know which of them were changed
			first = false
			s.Files = append([]File{{Name: "LIFE.erased"}}, s.Files...)
		}
		from := s.After.Offset
		s.Lines = log[from : from+int64(len(s.Lines))]
		for k, text := range s.Texts {
			if s.Texts[k], err = c.here(addressOf(text)); err != nil {
				return nil, err
			}
		}
		for _, h := range s.Large {
			if err := c.replace(ctx, h); err != nil {
				return nil, err
			}
		}
		for k, f := range s.Files {
			if f.Name == workspaceFile {
				for name, was := range parseList(f.Data) {
					gone[was.hash] = kept[name].hash != was.hash
				}
			}
			data, _, rerr := durable.ReadRegular(filepath.Join(c.id.Dir, f.Name), maxFile)
			s.Files[k] = File{Name: f.Name, Data: data, Gone: rerr != nil}
			if len(data) > segmentSize {
				s.Files[k] = File{Name: f.Name, Large: blobs.Sum(data)}
				if err := c.putLarge(ctx, s.Files[k].Large, data); err != nil {
					return nil, err
				}
			}
		}
		return s.encode(), nil
	})
	for _, f := range kept {
		gone[f.hash] = false
	}
	for h, is := range gone {
		if is && err == nil {
			err = c.lives.Streams.DropLarge(ctx, Stream(c.id.Self), h)
		}
	}
	if err != nil {
		return fmt.Errorf("erase from what is stored of %s: %w", c.id.Name, err)
	}
	return nil
}

// addressOf returns the address of the file of a blob.
func addressOf(text []byte) blobs.Hash {
	if b, err := blobs.Decode(text); err == nil && b.Gone != nil {
		return b.Gone.Of
	}
	return blobs.Sum(text)
}

// here returns the file of a blob as it is on this disk.
func (c *Custody) here(h blobs.Hash) ([]byte, error) { return os.ReadFile(c.store.Path(h)) }

// replace has the store hold of a large text what this disk does.
func (c *Custody) replace(ctx context.Context, h blobs.Hash) error {
	text, err := c.here(h)
	if err != nil || addressOf(text) == blobs.Sum(text) {
		return err
	}
	if err := c.lives.Streams.DropLarge(ctx, Stream(c.id.Self), h); err != nil {
		return err
	}
	return c.putLarge(ctx, h, text)
}

// Forget removes what this host has of a life that another one has, to read it anew: something was erased from it. The
// caller has the lock.
func (l *Lives) Forget(ctx context.Context, id home.Identity, store *blobs.Store) error {
	derived, _ := filepath.Glob(filepath.Join(id.Dir, "recall.db*"))
	for _, name := range []string{home.ContextFile, "status.json", "live.json"} {
		derived = append(derived, filepath.Join(id.Dir, name))
	}
	path := id.LIFE()
	for _, file := range append(derived, path, life.ErasedPath(path), positionFile(id)) {
		if data, err := os.ReadFile(file); err == nil {
			err = durable.Patch(file, durable.Piece{Data: make([]byte, len(data))})
			if err == nil {
				err = durable.Remove(file)
			}
			if err != nil {
				return err
			}
		}
	}
	c, err := l.catchUp(ctx, id, store)
	if err == nil && c.at.Host.ID != l.Host.ID {
		err = id.MarkMirror(c.at.Custody)
	}
	return err
}
