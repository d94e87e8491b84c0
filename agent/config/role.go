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
	none := fmt.Errorf("role %q has no SOUL.md in %s: %w", name, h.Roles(), home.ErrNotFound)
	if !filepath.IsLocal(name) || filepath.Base(name) != name { // an archive can say anything
		return role, none
	}
	dir := filepath.Join(h.Roles(), name)
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
		return role, none
	}
	path := filepath.Join(dir, "role.toml")
	if _, err := decode(path, settings, &role.Role); err != nil {
		return role, err
	}
	if err := checkRole(role.Role); err != nil {
		return role, Invalid("", "read %s: %w", path, err)
	}
	return role, nil
}

func checkRole(role home.Role) error {
	var f faults
	f.tagged(reflect.ValueOf(role), "")
	f.tools("tools", role.Tools)
	return errors.Join(f...)
}

// Rehire returns the work of a life that comes from another home. The role of this home holds; where there is none of that
// name, which isMissing tells, what came does, but for the model. The error says that the work, or this home's role, makes
// no sense.
func Rehire(h home.Home, work home.Hired) (_ home.Hired, isMissing bool, err error) {
	role, err := ReadRole(h, work.Role)
	if isMissing = errors.Is(err, home.ErrNotFound); isMissing {
		role.Role, err = work.With, checkRole(work.With)
		role.Model = ""
	}
	work.With = role.Role
	return work, isMissing, err
}
