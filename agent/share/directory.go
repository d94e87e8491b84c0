package share

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"lethe/internal/durable"
)

// directory is a tree: link(2) creates a name once.
type directory string

func openDirectory(path string) engine {
	d := directory(path)
	t := tree{d.keys, d.forget}
	return engine{create: d.create, get: d.get, newest: t.newest, numbers: t.numbers, remove: t.remove, list: d.list,
		close: func() {}}
}

// there returns an error while the directory is away. Nobody makes it: a missing mount is no empty store.
func (d directory) there() error {
	if _, err := os.Stat(string(d)); err != nil {
		return fmt.Errorf("mount the directory, or make it with mkdir: %w", err)
	}
	return nil
}

func (d directory) path(key string) string { return filepath.Join(string(d), key) }

func (d directory) create(_ context.Context, stream string, n int, text []byte) error {
	if err := d.there(); err != nil {
		return err
	}
	if n > 1 { // or it was unmounted, and an empty one is in its place
		if err := directory(d.path(escape(stream))).there(); err != nil {
			return err
		}
	}
	path := d.path(key(stream, n))
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Create(path, text, 0o600)
}

func (d directory) get(_ context.Context, stream string, n int) ([]byte, error) {
	path := d.path(key(stream, n))
	text, _, err := durable.ReadRegular(path, mostFramed)
	if errors.Is(err, fs.ErrNotExist) {
		if away := d.there(); away != nil {
			return nil, away
		}
		return nil, ErrMissing
	}
	if err == nil {
		err = durable.Sync(path) // who created it may have died before
	}
	return text, err
}

func (d directory) keys(_ context.Context, stream string, _ int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		_ = fs.WalkDir(os.DirFS(string(d)), escape(stream), func(name string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				err = d.there()
			}
			if !yield(name, err) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

func (d directory) forget(_ context.Context, key string) error { return durable.Remove(d.path(key)) }

// list leaves out directories from which all texts were deleted.
func (d directory) list(ctx context.Context, prefix string) (streams []string, err error) {
	names, err := os.ReadDir(string(d))
	for _, name := range names {
		stream := unescape(name.Name())
		if !strings.HasPrefix(stream, prefix) {
			continue
		}
		newest, err := tree{keys: d.keys}.newest(ctx, stream)
		if err != nil {
			return nil, err
		}
		if newest > 0 {
			streams = append(streams, stream)
		}
	}
	return streams, err
}
