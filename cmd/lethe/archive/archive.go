// Package archive carries a life from one home to another: in one file, with all that it refers to.
//
//	sum, err := archive.Write(w, home, store, id, archive.WriteOptions{}) // it then goes on elsewhere
//	got, err := archive.Read(r, home, store, archive.ReadOptions{})       // and here it does
//
// The same life gives the same bytes. What Read is given is hostile data: it is unpacked beside the lives
// of the home, held against the MANIFEST while it streams and against its seals once it is there, and
// only then gets its place, by one rename. Killed at any point, the life is not there, or whole.
//
// The format is specified in docs/archive.md.
package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/pattern"
)

// Version is the format of the archives that this program writes, and the newest that it reads.
const Version = 1

// Kinds of archives.
const (
	Move = "move" // the life goes on where it is taken in
	Copy = "copy" // it goes on where it came from
)

// ErrDamaged is wrapped when an archive is not as Write wrote it.
var ErrDamaged = errors.New("the archive is damaged or was altered")

// ErrKey is wrapped when an archive is encrypted, and no key opens it.
var ErrKey = errors.New("the archive is encrypted")

// Manifest is the first file of an archive.
type Manifest struct {
	Kind, Self, Name string
	files            []file // by path
}

// file is one of those behind the MANIFEST.
type file struct {
	sum  blobs.Hash
	size int64
	path string
}

// Bounds in bytes: of a MANIFEST, of a path, and of the memory to unpack with.
const (
	maxManifest = 1 << 27
	maxPath     = 1 << 10
	window      = 8 << 20
)

func (manifest Manifest) String() string {
	var b strings.Builder
	const head = "lethe archive %d\nkind %s\nself %s\nname %s\n\n"
	fmt.Fprintf(&b, head, Version, manifest.Kind, manifest.Self, manifest.Name)
	for _, entry := range manifest.files {
		b.WriteString(entry.String())
	}
	return b.String()
}

func (entry file) String() string {
	return fmt.Sprintf("%s %d %s\n", entry.sum, entry.size, entry.path)
}

// parse reads what String wrote, and nothing else; total is the size of all files.
func parse(text string) (manifest Manifest, total int64, err error) {
	version := 0
	if _, err := fmt.Sscanf(text, "lethe archive %d\n", &version); err == nil && version > Version {
		return manifest, 0, fmt.Errorf("the archive has format %d, and this program knows formats up to %d: %w",
			version, Version, home.ErrNewer)
	}
	head, rest, _ := strings.Cut(text, "\n\n")
	const form = "lethe archive 1\nkind %s\nself %s\nname %s"
	_, _ = fmt.Sscanf(head, form, &manifest.Kind, &manifest.Self, &manifest.Name)
	_, bad := blobs.ParseHash(manifest.Self)
	named := bad == nil && home.ValidName(manifest.Name)
	if !named || manifest.String() != head+"\n\n" {
		return manifest, 0, errors.New("its MANIFEST does not begin as one does")
	}
	if manifest.Kind != Move && manifest.Kind != Copy {
		return manifest, 0, fmt.Errorf("it is a %q; only a move or a copy can be taken in", manifest.Kind)
	}
	last := ""
	for line := range strings.Lines(rest) {
		var entry file
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(words) == 3 {
			entry.path = words[2]
			entry.size, _ = strconv.ParseInt(words[1], 10, 64)
			entry.sum, _ = blobs.ParseHash(words[0])
		}
		total += entry.size
		inPlace := known(entry.path) && entry.path > last
		isSized := entry.size >= 0 && total >= 0
		isFile := inPlace && isSized
		if !isFile || entry.String() != line {
			return manifest, 0, fmt.Errorf("its MANIFEST has %.199q, which no archive has there", line)
		}
		manifest.files, last = append(manifest.files, entry), entry.path
	}
	if !slices.ContainsFunc(manifest.files, func(f file) bool { return f.path == "LIFE.md" }) {
		return manifest, 0, errors.New("its MANIFEST lists no LIFE.md")
	}
	return manifest, total, nil
}

var paths = pattern.Lazy(`^(CHECKPOINT|LIFE\.md|blobs/[0-9a-f]{3}/[0-9a-f]{61}|workspace/.+)$`)

var unprintable = pattern.Lazy(`[\\\pC]`)

// known reports whether an archive may have a file of that path.
func known(path string) bool {
	isPlain := fs.ValidPath(path) && !unprintable().MatchString(path)
	if len(path) > maxPath || !isPlain {
		return false
	}
	return home.Belongs(path) || paths().MatchString(path)
}

// isBlob reports whether the file is a blob, whose path is the same in each home.
func (entry file) isBlob() bool { return strings.HasPrefix(entry.path, "blobs/") }

// damaged says that an archive is, unless an error tells of something else.
func damaged(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrKey), errors.Is(err, home.ErrNewer), errors.As(err, new(*fs.PathError)):
		return err
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends early")
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
