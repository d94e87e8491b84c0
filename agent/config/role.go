package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"

	"lethe/agent/home"
)

// Hire bounds the identities that people have hired, all together.
type Hire struct {
	Most int     `toml:"most" least:"1"` // 0: 20
	Day  float64 `toml:"day_usd"`        // the sum of their roles' day_usd at most; 0: no bound
}

// Role is a folder of roles/ in the home.
type Role struct {
	home.Role
	Soul   []byte
	Memory []byte // the first MEMORY.md
}

// ReadRole reads a role. One without a soul is home.ErrNotFound, a role.toml that makes no sense an *Error.
func ReadRole(h home.Home, name string) (role Role, err error) {
	dir := filepath.Join(h.Roles(), filepath.Base(name)) // an archive can say anything
	var settings []byte
	for file, text := range map[string]*[]byte{
		"SOUL.md": &role.Soul, home.MemoryFile: &role.Memory, "role.toml": &settings,
	} {
		*text, err = ReadFile(filepath.Join(dir, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return role, err
		}
	}
	if len(role.Soul) == 0 {
		return role, fmt.Errorf("role %q has no SOUL.md in %s: %w", name, h.Roles(), home.ErrNotFound)
	}
	path := filepath.Join(dir, "role.toml")
	if _, err := decode(path, settings, &role.Role); err != nil {
		return role, err
	}
	var f faults
	f.tagged(reflect.ValueOf(role.Role), "")
	f.tools("tools", role.Tools)
	if len(f) > 0 {
		return role, Invalid("", "read %s: %w", path, errors.Join(f...))
	}
	return role, nil
}
