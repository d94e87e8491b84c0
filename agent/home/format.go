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
// has format 1. A newer one than HomeFormat is an error that wraps ErrNewer. A home that is not made to its end is one,
// too.
func Format(dir string) (format int, err error) {
	if how, err := Making(dir); err != nil || how != "" {
		return 0, errors.Join(err, fmt.Errorf("open %s: %s was cut short; run it again, and it goes on", dir, how))
	}
	return formatOf(dir)
}

const makingName = "restoring"

// makingFile holds the command that makes the home, until it has ended.
func makingFile(dir string) string { return filepath.Join(dir, makingName) }

// IsMaking reports whether a file of a home says that a command is making the home.
func IsMaking(name string) bool { return name == makingName }

// Making returns the command that is making the home in a directory; "" if no command is.
func Making(dir string) (how string, err error) {
	text, _, err := durable.ReadRegular(makingFile(dir), 1<<12)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// Make is Open for a command that makes a home. Nobody else opens it until the command calls Made.
func Make(dir, how string) (Home, error) {
	err := durable.MkdirAll(dir, 0o700)
	if err == nil {
		err = durable.WriteFile(makingFile(dir), []byte(how), 0o600)
	}
	if err != nil {
		return Home{}, err
	}
	return open(dir, formatOf)
}

// Made lets everybody open the home.
func (h Home) Made() error { return durable.Remove(makingFile(h.Dir)) }

func formatOf(dir string) (format int, err error) {
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
