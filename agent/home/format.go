package home

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"lethe/internal/durable"
)

// HomeFormat is the format of the homes that this program writes: docs/formats.md.
const HomeFormat = 2

// ErrNewer is wrapped when something has a format that this program does not know.
var ErrNewer = errors.New("a newer Lethe wrote it")

// Format is the format of the home in a directory; one without a file format, or that is not there,
// has format 1. A newer one than HomeFormat is an error that wraps ErrNewer.
func Format(dir string) (format int, err error) {
	path := filepath.Join(dir, "format")
	text, _, err := durable.ReadRegular(path, 64)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 1, nil
	case err != nil:
		return 0, err
	}
	_, _ = fmt.Sscanf(string(text), "lethe home %d", &format)
	if format < 1 || string(text) != fmt.Sprintf("lethe home %d\n", format) {
		return 0, fmt.Errorf("%w: read %s: it is not of the form \"lethe home %d\"", ErrCorrupt, path, HomeFormat)
	}
	if format > HomeFormat {
		err = fmt.Errorf(
			"open %s: it has format %d, and this program knows formats up to %d: %w",
			dir,
			format,
			HomeFormat,
			ErrNewer,
		)
	}
	return format, err
}
