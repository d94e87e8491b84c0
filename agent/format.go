package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"

	"lethe/internal/durable"
)

// HomeFormat is the format of the homes that this program writes: docs/formats.md.
const HomeFormat = 2

// NewerError says that a newer program wrote a home, or something else of a format that this one does
// not know. Nothing of it was changed.
type NewerError struct {
	Path         string
	Format, Most int // what it is of, and the newest that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open %s: it has format %d, and this program knows formats up to %d", e.Path, e.Format, e.Most)
}

// Hint says what to do.
func (e *NewerError) Hint() string {
	return "a newer Lethe wrote it: use that one. Nothing was changed"
}

var formatLine = regexp.MustCompile(`^lethe home ([1-9][0-9]{0,8})\n$`)

// Format is the format of the home in a directory; one that has no file format, or is not there, has
// format 1. A newer one than HomeFormat is a *NewerError.
func Format(dir string) (int, error) {
	path := filepath.Join(dir, "format")
	text, _, err := durable.ReadRegular(path, 64)
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	m := formatLine.FindSubmatch(text)
	if err == nil && m == nil {
		err = fmt.Errorf("%w: read %s: it is not of the form \"lethe home %d\"", ErrCorrupt, path, HomeFormat)
	}
	if err != nil {
		return 0, err
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	if n > HomeFormat {
		err = &NewerError{dir, n, HomeFormat}
	}
	return n, err
}
