package blobs

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// File is a file that was sent with a line of a room. The line names it, and the gist of its blob says the same.
type File struct {
	Kind, Name string // "photo", "document" and the like
	Type       string // the media type
	Size       int64  // in bytes
	From       string // who sent it
}

// Gist is that of the file's blob.
func (f File) Gist() string {
	return Gist(fmt.Sprintf("%s %s (%s, %d bytes) from %s", f.Kind, f.Name, f.Type, f.Size, f.From))
}

var fileGist = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\S+) ([\pL\pN._-]+) \((\S*), (\d{1,18}) bytes\) from (\S+)$`)
})

// ParseFile reads what Gist wrote of a file with a name that needs no quotes, as SAY gives it; false for another gist.
func ParseFile(gist string) (f File, ok bool) {
	m := fileGist().FindStringSubmatch(gist)
	if m == nil {
		return f, false
	}
	size, _ := strconv.ParseInt(m[4], 10, 64) // digits, by the form
	return File{Kind: m[1], Name: m[2], Type: m[3], Size: size, From: m[5]}, true
}

// Tag names the file in a line, with the short hash of its blob.
func (f File) Tag(short string) string {
	return fmt.Sprintf("[%s %s %s %s hash=%s]", f.Kind, f.Name, f.Type, Size(f.Size), short)
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
