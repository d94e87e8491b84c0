package agent

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"lethe/home"
)

// restoredFor restores the permissions on the way to what an operation was refused,
// and reports whether any were.
func (c *Config) restoredFor(err error) bool {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(at.Path, c.Home.Dir+"/") {
		return false
	}
	var way []string
	for path := at.Path; len(path) > len(c.Home.Dir); path = filepath.Dir(path) {
		way = append(way, path[len(c.Home.Dir):])
	}
	slices.Reverse(way)
	return c.restored(c.Home.Restore(c.Home.Dir, way...))
}

// restored warns of permissions that were restored, and reports whether any were.
func (c *Config) restored(found []string) bool {
	if len(found) > 0 {
		c.Log.Warn("the home is for its owner alone; permissions were restored", "were", home.Shorten(found))
	}
	return len(found) > 0
}
