package home

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"

	"lethe/blobs"
	"lethe/internal/durable"
)

// Child is the task of an identity that another one has spawned, task.toml in its directory: its parent, and the
// settings that it runs with.
type Child struct {
	At     time.Time  `toml:"-"` // of the call: the same call boots the same identity
	Parent blobs.Hash `toml:"parent"`
	Of     string     `toml:"of"` // the parent's name
	Room   string     `toml:"room"`
	Brief  string     `toml:"brief"` // its gist
	Tools  []string   `toml:"tools"`
	Model  string     `toml:"model"`
	USD    float64    `toml:"usd,omitzero"`
	Schema string     `toml:"schema,omitempty"`
	Check  string     `toml:"check,omitempty"`
	Files  []string   `toml:"files,omitempty"` // of the workspace, which alone it may write; none: all
	Pins   []string   `toml:"pins,omitempty"`  // the parent's; not in SOUL.md, where nothing can be erased
}

const taskFile = "task.toml"

// write writes a value into a file of the identity, as TOML.
func (id Identity) write(file string, value any) error {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(value); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(id.Dir, file), b.Bytes(), 0o600)
}

// read reads a file that write has written; nil if there is none.
func read[T any](id Identity, file string) (*T, error) {
	text, _, err := durable.ReadRegular(filepath.Join(id.Dir, file), maxOwn)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	value := new(T)
	if err == nil {
		err = toml.Unmarshal(text, value)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", filepath.Join(id.Dir, file), id.Name, err)
	}
	return value, nil
}

// Child returns what the identity was spawned with; nil where nobody has.
func (id Identity) Child() (*Child, error) { return read[Child](id, taskFile) }

// IsChild reports whether another identity has spawned this one.
func (id Identity) IsChild() bool {
	_, err := os.Lstat(filepath.Join(id.Dir, taskFile))
	return err == nil
}

// maxAbove bounds how far up a child's ancestors are looked for.
const maxAbove = 8

// Ancestry are the identities that an identity is a child, or a child's child, of; the
// nearest first.
func Ancestry(store *blobs.Store, self string) (out []string) {
	for len(out) < maxAbove {
		h, err := blobs.ParseHash(self)
		if err != nil {
			return out
		}
		boot, err := store.Get(h)
		isChild := boot.Life == "" && !boot.Parent.IsZero()
		if err != nil || !isChild {
			return out
		}
		self = boot.Parent.String()
		out = append(out, self)
	}
	return out
}
