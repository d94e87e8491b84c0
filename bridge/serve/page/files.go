package page

import (
	"cmp"
	"strings"
	"sync"

	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/internal/pattern"
	"lethe/internal/picture"
)

// attached is a file that a line names.
type attached struct {
	Label, Name   string
	Hash          blobs.Hash
	Width, Height int // of a picture, as it is shown; 0 for other files
}

// Bounds of the pictures in a talk, in pixels, and of the files of a line.
const (
	mostWide, mostHigh = 480, 320
	mostFiles          = 16
)

// fileTag matches the name of a file in a line: docs/telegram.md.
var fileTag = pattern.Lazy(`\[([a-z]+ [^\[\]\n]+) hash=([0-9a-f]{16,64})\]\n?`)

// files parts a text from the files that it names and that are stored.
func (f *frame) files(text string) (rest string, list []attached) {
	rest = fileTag().ReplaceAllStringFunc(text, func(tag string) string {
		named := fileTag().FindStringSubmatch(tag)
		h, err := f.Store.Resolve(named[2])
		if err != nil || len(list) == mostFiles {
			return tag
		}
		a := f.attached(h)
		a.Label = cmp.Or(a.Label, named[1])
		list = append(list, a)
		return ""
	})
	return strings.TrimSpace(rest), list
}

// unhashed is a text that names files without their hashes.
func unhashed(text string) string { return fileTag().ReplaceAllString(text, "[$1] ") }

// known are files that were shown, by their hashes: reading one takes milliseconds.
var known sync.Map

// attached describes a file by its blob.
func (f *frame) attached(hash blobs.Hash) attached {
	if a, ok := known.Load(hash); ok {
		return a.(attached)
	}
	shown := attached{Hash: hash}
	blob, err := f.Store.Get(hash)
	if err != nil {
		return shown
	}
	if file, ok := blobs.ParseFile(blob.Gist); ok {
		shown.Name, shown.Label = file.Name, file.Name+", "+blobs.Size(file.Size)
	}
	size, err := picture.Size(blob.Body)
	if err == nil && backend.ImageType(blob.Body) != "" {
		less := min(1, mostWide/float64(size.X), mostHigh/float64(size.Y))
		shown.Width, shown.Height = max(1, int(less*float64(size.X))), max(1, int(less*float64(size.Y)))
	}
	known.Store(hash, shown)
	return shown
}
