package lives

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/durable"
)

// maxFile bounds one of an identity's own files, in bytes.
const maxFile = 32 << 20

// files are the own files of an identity. known has the hash of each as it is stored, zero for a file that is gone.
type files struct {
	id    home.Identity
	known map[string]blobs.Hash
}

// changed returns the files that the store has otherwise.
func (f *files) changed() (out []File, err error) {
	triggers, err := filepath.Glob(filepath.Join(f.id.Dir, "triggers", "*.toml"))
	names := map[string]bool{}
	for _, path := range triggers {
		names["triggers/"+filepath.Base(path)] = true
	}
	for _, name := range slices.Concat(hostsOnly, home.Editable, []string{"LIFE.erased"}) {
		names[name] = true
	}
	for name := range f.known {
		names[name] = true
	}
	for name := range names {
		if !shared(name) {
			continue
		}
		now, readErr := f.read(name)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		was, known := f.known[name]
		unheardOf := now.Gone && !known
		if now.sum() != was && !unheardOf {
			out = append(out, now)
		}
	}
	return out, err
}

// read reads a file. One that is not regular, or is too large, is gone.
func (f *files) read(name string) (File, error) {
	data, cut, err := durable.ReadRegular(filepath.Join(f.id.Dir, name), maxFile)
	isNone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrNotRegular)
	gone := cut || isNone
	if gone {
		data, err = nil, nil
	}
	return File{Name: name, Data: data, Gone: gone}, err
}

func (file File) sum() blobs.Hash {
	if file.Gone || !file.Large.IsZero() {
		return file.Large
	}
	return blobs.Sum(file.Data)
}

// learn notes files that the store has.
func (f *files) learn(has []File) {
	for _, file := range has {
		f.known[file.Name] = file.sum()
	}
}

// place writes a file of another host. A file that somebody has changed here meanwhile is kept beside it.
func (f *files) place(come File, log *slog.Logger) error {
	path := filepath.Join(f.id.Dir, come.Name)
	here, err := f.read(come.Name)
	if err != nil {
		return err
	}
	was, known := f.known[come.Name]
	changedHere := known && here.sum() != was
	same := here.sum() == come.sum()
	wouldBeLost := len(here.Data) > 0 && !same
	if changedHere && wouldBeLost {
		log.Warn("a file was changed on another host and here; what was here is kept", "file", path, "kept", path+".here")
		if err := durable.WriteFile(path+".here", here.Data, 0o600); err != nil {
			return err
		}
	}
	if !same {
		if err := come.write(path); err != nil {
			return err
		}
	}
	f.learn([]File{come})
	return nil
}

// write makes the file at a path the one of another host.
func (file File) write(path string) error {
	if file.Gone {
		return durable.Remove(path)
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, file.Data, 0o600)
}
