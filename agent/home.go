package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
)

// Home is the directory that holds all state.
type Home struct {
	Dir string
	// Restored says which permissions OpenHome has restored, and what they were; ""
	// where none did harm.
	Restored string
}

// OpenHome makes the directory and its fixed parts where they are missing, and
// restores their permissions and those of the rooms where somebody has changed them.
func OpenHome(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("open home %s: %w", dir, err)
	}
	h := Home{Dir: abs}
	h.Restored = shorten(h.restore())
	for _, d := range []string{h.Blobs(), h.Chats(), h.Agents(), h.Names()} {
		if err := durable.MkdirAll(d, 0o700); err != nil {
			return Home{}, fmt.Errorf("open home: %w", err)
		}
	}
	return h, nil
}

// Blobs is the directory of the store.
func (h Home) Blobs() string { return filepath.Join(h.Dir, "blobs") }

// Chats is the directory of the rooms.
func (h Home) Chats() string { return filepath.Join(h.Dir, "chats") }

// Agents is the directory with one directory an identity.
func (h Home) Agents() string { return filepath.Join(h.Dir, "agents") }

// Names is the directory with one link a name.
func (h Home) Names() string { return filepath.Join(h.Dir, "names") }

// Identity is one life of a home.
type Identity struct {
	Self string // 64 hex digits
	Name string
	Dir  string // agents/<self>
}

// LIFE is the path of its log.
func (id Identity) LIFE() string { return filepath.Join(id.Dir, "LIFE.md") }

// Subs is the directory of its subscriptions.
func (id Identity) Subs() string { return filepath.Join(id.Dir, "subs") }

// ErrNotFound is wrapped when no identity, room or blob fits.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is wrapped when the beginning of a hash fits several identities.
var ErrAmbiguous = errors.New("ambiguous")

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// ValidName reports whether name may name an identity.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// Find returns the identity that who names: a name, a hash, or the beginning of
// a hash that fits only one.
func (h Home) Find(who string) (Identity, error) {
	if ValidName(who) {
		target, err := os.Readlink(filepath.Join(h.Names(), who))
		if err == nil {
			self := filepath.Base(target)
			return h.identity(self, who), nil
		}
		if errors.Is(err, syscall.EINVAL) {
			err = fmt.Errorf("%s is not a link to an identity; move it away", filepath.Join(h.Names(), who))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Identity{}, fmt.Errorf("find identity %s: %w", who, err)
		}
	}
	all, err := h.List()
	if err != nil {
		return Identity{}, err
	}
	var fits []Identity
	for _, id := range all {
		if id.Name == who { // its link was lost
			return id, nil
		}
		if len(who) >= 4 && strings.HasPrefix(id.Self, who) {
			fits = append(fits, id)
		}
	}
	switch len(fits) {
	case 0:
		return Identity{}, fmt.Errorf("find identity %q: %w", who, ErrNotFound)
	case 1:
		return fits[0], nil
	}
	var names []string
	for _, id := range fits {
		names = append(names, id.Self[:16]+" ("+id.Name+")")
	}
	return Identity{}, fmt.Errorf("find identity %q: %w: it may be %s", who, ErrAmbiguous, strings.Join(names, ", "))
}

func (h Home) identity(self, name string) Identity {
	return Identity{Self: self, Name: name, Dir: filepath.Join(h.Agents(), self)}
}

// List returns the identities of the home, by name. One whose name link was
// lost in a crash is listed by the name in its log.
func (h Home) List() ([]Identity, error) {
	names := map[string]string{} // self to name
	links, err := os.ReadDir(h.Names())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	for _, l := range links {
		if target, err := os.Readlink(filepath.Join(h.Names(), l.Name())); err == nil && ValidName(l.Name()) {
			names[filepath.Base(target)] = l.Name()
		}
	}
	dirs, err := os.ReadDir(h.Agents())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	var out []Identity
	for _, d := range dirs {
		id := h.identity(d.Name(), names[d.Name()])
		if len(d.Name()) != 64 {
			continue
		}
		if id.Name == "" {
			boot, err := life.First(id.LIFE())
			if err != nil {
				continue // a boot that a crash cut short: it never was
			}
			e, _ := event.As[event.Boot](boot)
			id.Name = e.Name
		}
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b Identity) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
