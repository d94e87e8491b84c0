package page

import (
	"image"
	"strings"
	"sync"

	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/internal/lazy"
	"lethe/internal/picture"
)

// attached is a file that a line names.
type attached struct {
	Label         string // in the words of who sent it
	Hash          blobs.Hash
	Width, Height int // in which a picture is shown; 0 for other files
}

// Bounds of the sizes in a talk, in pixels, and of the files of a line.
const (
	mostWide, mostHigh = 480, 320
	mostFiles          = 16
)

// fileTag is how a line names a file: docs/telegram.md.
var fileTag = lazy.Regexp(`\[([a-z]+ [^\[\]\n]+) hash=([0-9a-f]{16,64})\]\n?`)

// files parts a text from the files that it names and that are stored.
func (f *frame) files(text string) (rest string, list []attached) {
	rest = fileTag().ReplaceAllStringFunc(text, func(tag string) string {
		named := fileTag().FindStringSubmatch(tag)
		h, err := f.Store.Resolve(named[2])
		if err != nil || len(list) == mostFiles {
			return tag
		}
		size := f.shown(h)
		list = append(list, attached{named[1], h, size.X, size.Y})
		return ""
	})
	return strings.TrimSpace(rest), list
}

// sizes are the sizes in which files are shown, by their hashes: reading one takes milliseconds.
var sizes sync.Map

// shown is the size in which a file is shown; zero if it is no picture.
func (f *frame) shown(h blobs.Hash) (size image.Point) {
	if known, ok := sizes.Load(h); ok {
		return known.(image.Point)
	}
	b, err := f.Store.Get(h)
	if err != nil {
		return size
	}
	if backend.ImageType(b.Body) != "" {
		if size, err = picture.Size(b.Body); err != nil {
			size = image.Point{}
		}
	}
	if size.X > mostWide {
		size.X, size.Y = mostWide, max(1, size.Y*mostWide/size.X)
	}
	if size.Y > mostHigh {
		size.X, size.Y = max(1, size.X*mostHigh/size.Y), mostHigh
	}
	sizes.Store(h, size)
	return size
}
