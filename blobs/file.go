package blobs

import (
	"fmt"
	"strconv"

	"lethe/internal/pattern"
)

// File describes a file that was sent with a line of a room. Its blob's gist and the tag in the line say the same.
type File struct {
	Kind, Name string // "photo", "document" and the like
	Type       string // the media type
	Size       int64  // in bytes
	From       string // the name of the sender
}

// Gist returns the gist for the file's blob.
func (f File) Gist() string {
	return Gist(fmt.Sprintf("%s %s (%s, %d bytes) from %s", f.Kind, f.Name, f.Type, f.Size, f.From))
}

var fileGist = pattern.Lazy(`^(\S+) ([\pL\pN._-]+) \((\S*), (\d{1,18}) bytes\) from (\S+)$`)

// ParseFile reads a gist that File.Gist wrote. It returns false for any other gist, and for a file whose name has other
// characters than letters, digits, ".", "_" and "-"; SAY gives files such names.
func ParseFile(gist string) (f File, ok bool) {
	m := fileGist().FindStringSubmatch(gist)
	if m == nil {
		return f, false
	}
	size, _ := strconv.ParseInt(m[4], 10, 64) // digits, by the form
	return File{Kind: m[1], Name: m[2], Type: m[3], Size: size, From: m[5]}, true
}

// Tag returns the file's name for a line of a room; short is the short hash of its blob.
func (f File) Tag(short string) string {
	return fmt.Sprintf("[%s %s %s %s hash=%s]", f.Kind, f.Name, f.Type, Size(f.Size), short)
}

// Size formats a number of bytes in decimal units: "999 B", "12 KB", "1.5 MB".
func Size(bytes int64) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1000_000:
		return fmt.Sprintf("%d KB", (bytes+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
