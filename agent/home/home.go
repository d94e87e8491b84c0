// Package home keeps identities on disk: their names, locks and own files, and the fold of their logs.
//
//	h, err := home.Open(dir)
//	id, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
//	state, err := home.Fold(id, store)   // as it is now, also while it runs
//	err = home.Ask(id, home.WishStop)    // leaves a wish with the process that runs it
package home

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/pattern"
	"lethe/life"
	"lethe/life/event"
)

// Home is the directory that holds all state.
type Home struct {
	Dir string
	// Restored names the permissions that Open has restored, and what they were; ""
	// unless they did harm.
	Restored string
	Shared   Sharing // nil where no other host shares the home
}

// Open makes the directory and its fixed parts where they are missing, and
// restores permissions that somebody has changed, also of the rooms.
// A home of an older format gets this one's; one of a newer format is refused with ErrNewer.
func Open(dir string) (Home, error) { return open(dir, Format) }

func open(dir string, formatOf func(string) (int, error)) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("open home %s: %w", dir, err)
	}
	h := Home{Dir: abs}
	if _, err := formatOf(abs); err != nil && !errors.Is(err, fs.ErrPermission) { // which is mended next
		return Home{}, err
	}
	h.Restored = Shorten(append(h.Restore(h.Dir, homeParts...), h.Restore(h.Chats())...))
	format, err := formatOf(abs)
	if err != nil {
		return Home{}, err
	}
	if err := h.makeParts(); err != nil {
		return Home{}, fmt.Errorf("open home: %w", err)
	}
	gone, _ := filepath.Glob(filepath.Join(h.Agents(), removed+"*"))
	for _, dir := range gone { // a removal that was cut short
		_ = h.wipe(dir) // a disk that takes nothing is no reason not to look; the next one tries again
	}
	if format < HomeFormat { // a disk that takes nothing is no reason not to look
		ignore := filepath.Join(abs, ".gitignore")
		if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
			_ = durable.WriteFile(ignore, []byte(Ignored), 0o600)
		}
		_ = durable.WriteFile(filepath.Join(abs, "format"), fmt.Appendf(nil, "lethe home %d\n", HomeFormat), 0o600)
	}
	return h, nil
}

// Ignored is the .gitignore of a home: keys and tokens are not to be committed.
const Ignored = "/key\n/share.key\n/keys.env\n/mcp/\n/bridges/\n"

// makeParts makes the home and its fixed directories, durably.
func (h Home) makeParts() error {
	if err := durable.MkdirAll(h.Blobs(), 0o700); err != nil { // the home, too
		return err
	}
	var later durable.Syncs
	for _, dir := range []string{h.Chats(), h.Agents(), h.Names(), h.startedDir()} {
		if err := durable.MkdirLater(&later, dir, 0o700); err != nil {
			return err
		}
	}
	return later.Wait()
}

// Blobs is the directory of the store.
func (h Home) Blobs() string { return filepath.Join(h.Dir, "blobs") }

// Chats is the directory of the rooms.
func (h Home) Chats() string { return filepath.Join(h.Dir, "chats") }

// Agents is the directory with one directory an identity.
func (h Home) Agents() string { return filepath.Join(h.Dir, "agents") }

// Names is the directory with one link a name.
func (h Home) Names() string { return filepath.Join(h.Dir, "names") }
func (h Home) Roles() string { return filepath.Join(h.Dir, "roles") }

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

// ErrAmbiguous is wrapped when the beginning of a hash fits several identities, or texts.
var ErrAmbiguous = blobs.ErrAmbiguous

var namePattern = pattern.Lazy(`^[a-z][a-z0-9-]{0,31}$`)

// ValidName reports whether name may name an identity.
func ValidName(name string) bool { return namePattern().MatchString(name) }

// signers sign lines that wake an identity, as triggers do, with a dash and a name behind it. No
// identity is booted that signs so.
var signers = []string{"job", "wait", "review"}

// CheckName says why an identity cannot be given a name.
func CheckName(name string) error {
	if !ValidName(name) {
		return errors.New("a name is a lower-case letter followed by up to 31 of a-z, 0-9 and -")
	}
	if signer, _, _ := strings.Cut(name, "-"); chat.ByTrigger(name) || slices.Contains(signers, signer) {
		return fmt.Errorf("names that begin with %s- are those of what wakes an identity; choose another", signer)
	}
	return nil
}

// Find returns the identity that who names: a name, a hash, or the beginning of
// a hash that fits only one.
func (h Home) Find(who string) (Identity, error) {
	all, err := h.List()
	if err != nil {
		return Identity{}, err
	}
	var fits []Identity
	for _, id := range all {
		if id.Name == who {
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

func (h Home) Identity(self, name string) Identity {
	return Identity{Self: self, Name: name, Dir: filepath.Join(h.Agents(), self)}
}

// List returns the identities of the home, by name. One whose name link was
// lost in a crash is listed by the name in its log, and by its hash where that cannot be read.
func (h Home) List() ([]Identity, error) {
	links, err := os.ReadDir(h.Names())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	dirs, err := os.ReadDir(h.Agents())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	names := map[string]string{} // self to name
	for _, l := range links {
		if target, err := os.Readlink(filepath.Join(h.Names(), l.Name())); err == nil && ValidName(l.Name()) {
			names[filepath.Base(target)] = l.Name()
		}
	}
	var out []Identity
	for _, d := range dirs {
		id := h.Identity(d.Name(), names[d.Name()])
		if len(d.Name()) != 64 {
			continue
		}
		if id.Name == "" {
			boot, err := life.First(id.LIFE())
			if err == io.EOF || errors.Is(err, fs.ErrNotExist) {
				continue // a boot that a crash cut short: it never was
			}
			e, _ := event.As[event.Boot](boot)
			id.Name = cmp.Or(e.Name, id.Self) // of a damaged log
		}
		out = append(out, id)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// What Lethe makes is for its own user alone: directories 0700, files 0600, SOUL.md
// and blobs 0400. No sandbox governs chmod, so a command of one identity can change
// them for all; here they are restored.
