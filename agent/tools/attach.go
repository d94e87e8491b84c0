package tools

import (
	"fmt"
	"path/filepath"
	"strings"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/internal/picture"
	"lethe/internal/secret/shape"
)

// Bounds of the files of one SAY: those of an album of Telegram, and of an upload of a bot.
const (
	maxFiles    = 10
	maxAttached = 50 << 20 // bytes, together
)

// Attach reads the files of a Post, which has a path in each line, as READ_FILE takes them. The gists of the texts say
// what they are, and that from sent them.
func (s *Set) Attach(paths, from string) (files []blobs.Text, err error) {
	left := maxAttached
	for path := range strings.Lines(paths) {
		name, data, err := s.content(path)
		data = shape.Bytes(data)
		left -= len(data)
		tooMuch := left < 0 || len(files) == maxFiles
		if err == nil && tooMuch {
			err = fmt.Errorf("attach %s: a message has at most 10 files, of 50 MB together", quote(path))
		}
		if err != nil {
			return nil, fmt.Errorf("%w. Nothing was said", err)
		}
		files = append(files, blobs.Text{Gist: about(name, from, data).Gist(), Data: data})
	}
	return files, nil
}

// content reads the file at a path, up to a byte more than may be attached.
func (s *Set) content(path string) (name string, data []byte, err error) {
	if hash, ok := refOf(path); ok {
		o, err := s.Past.Open(hash)
		return fileName(hash, o.Gist, o.Body), o.Body, err
	}
	p, err := s.resolve(path)
	if err == nil {
		data, err = p.read(maxAttached)
	}
	return filepath.Base(p.name), data, err
}

// notInName matches characters that a file's name may not have: people write it into shells.
var notInName = pattern.Lazy(`^[.-]+|[^\pL\pN._-]+`)

// maxType bounds a media type, in bytes. The types of office files are longer; their names tell them.
const maxType = 24

// about describes a file in a gist, which is not cut: of a long name the end stays.
func about(name, from string, data []byte) blobs.File {
	kind := picture.MediaType("", name, data)
	if len(kind) > maxType {
		kind = "application/octet-stream"
	}
	f := blobs.File{Kind: picture.MediaKind(kind), Type: kind, Size: int64(len(data)), From: from}
	clean := []rune(notInName().ReplaceAllString(name, "_"))
	left := blobs.MaxGist - len(f.Gist()) - 1 // for the space
	f.Name = string(clean[max(0, len(clean)-left):])
	return f
}
