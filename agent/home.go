package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/lazy"
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
// A home of an older format gets this one's; one of a newer format is refused with ErrNewer.
func OpenHome(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("open home %s: %w", dir, err)
	}
	h := Home{Dir: abs}
	if _, err := Format(abs); err != nil && !errors.Is(err, fs.ErrPermission) { // which is mended next
		return Home{}, err
	}
	h.Restored = shorten(append(h.restore(h.Dir, homeParts...), h.restore(h.Chats())...))
	if err = durable.MkdirAll(h.Blobs(), 0o700); err == nil { // the home, too
		var later durable.Syncs
		err = cmp.Or(durable.MkdirLater(&later, h.Chats(), 0o700), durable.MkdirLater(&later, h.Agents(), 0o700),
			durable.MkdirLater(&later, h.Names(), 0o700), later.Wait())
	}
	if err != nil {
		return Home{}, fmt.Errorf("open home: %w", err)
	}
	format, err := Format(abs)
	if err == nil && format < HomeFormat { // a disk that takes nothing is no reason not to look
		_ = durable.WriteFile(filepath.Join(abs, "format"), fmt.Appendf(nil, "lethe home %d\n", HomeFormat), 0o600)
	}
	return h, err
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

var namePattern = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)

// ValidName reports whether name may name an identity.
func ValidName(name string) bool { return namePattern().MatchString(name) }

// signers sign the lines that wake an identity, with a dash and a name behind it. No
// identity is booted that signs so.
var signers = []string{"cron", "watch", "mail", "webhook", "job", "wait", "review"}

// CheckName says why an identity cannot be given a name.
func CheckName(name string) error {
	if !ValidName(name) {
		return errors.New("a name is a lower-case letter followed by up to 31 of a-z, 0-9 and -")
	}
	if signer, _, _ := strings.Cut(name, "-"); slices.Contains(signers, signer) {
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

func (h Home) identity(self, name string) Identity {
	return Identity{Self: self, Name: name, Dir: filepath.Join(h.Agents(), self)}
}

// List returns the identities of the home, by name. One whose name link was
// lost in a crash is listed by the name in its log.
func (h Home) List() ([]Identity, error) {
	links, err := os.ReadDir(h.Names())
	dirs, derr := os.ReadDir(h.Agents())
	if err := cmp.Or(err, derr); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// BootOptions is what a new identity starts with.
type BootOptions struct {
	Name  string
	Soul  string   // its purpose; "" takes the default
	Rooms []string // that it hears from the start
	Child *Child   // nil unless another identity has spawned it
	fork  *fork    // nil unless it begins with the mind of another one
	// Check, if not nil, can refuse the identity when its files are there. Then
	// they are removed.
	Check func(Identity) error
}

// Boot makes a new identity. Its hash is that of the boot blob, which holds the
// soul and the time. The line in LIFE is the commit, and the name link comes last:
// a crash before the line leaves an unreferenced directory, one after it leaves
// an identity that Boot with the same name finds again. Boots in one home take
// turns, so that processes that boot the same name at once make one identity.
func Boot(home Home, store *blobs.Store, o BootOptions) (id Identity, err error) {
	refused := false // by Check, whose error says it all
	defer func() {
		if err != nil && !refused {
			err = fmt.Errorf("boot %s: %w", o.Name, err)
		}
	}()
	if err := CheckName(o.Name); err != nil {
		return id, err
	}
	for _, room := range o.Rooms {
		if err := (Identity{Name: o.Name}).MayHear(room); err != nil {
			return id, err
		}
	}
	names := flock.New(home.Names(), flock.SetFlag(os.O_RDONLY))
	defer names.Close()
	if err := names.Lock(); err != nil {
		return id, fmt.Errorf("lock %s: %w", home.Names(), err)
	}
	if id, err := home.Find(o.Name); err == nil && id.Name == o.Name {
		if _, err := os.Lstat(filepath.Join(home.Names(), o.Name)); err == nil {
			return id, ErrExists
		}
		if err := durable.Sync(id.LIFE()); err != nil { // the process that wrote it may have died before the sync
			return Identity{}, err
		}
		return id, home.Link(id)
	}
	soul, now := cmp.Or(o.Soul, lethe.Soul), time.Now()
	meta, first := blobs.Meta{At: now, Gist: "boot of " + o.Name}, event.Boot{Name: o.Name, Version: lethe.Version}
	if c := o.Child; c != nil {
		meta.At, meta.Parent, first.Parent, first.Task = c.At, c.Parent, c.Of, c.Room
	}
	if f := o.fork; f != nil {
		first.Fork, meta.Fork = f.moment, f.moment.String()
	}
	self, err := store.Put(meta, []byte(soul))
	if err != nil {
		return id, err
	}
	id = home.identity(self.String(), o.Name)
	if err := id.createFiles(soul, o); err != nil {
		return Identity{}, err
	}
	if o.Check != nil {
		if err := o.Check(id); err != nil {
			refused = true
			return Identity{}, errors.Join(err, os.RemoveAll(id.Dir))
		}
	}
	for _, room := range o.Rooms {
		if err := home.Subscribe(id, room); err != nil {
			return Identity{}, err
		}
	}
	boot := event.Line(now, first, blobs.Ref{Hash: store.Short(self), Gist: "boot of " + o.Name})
	if o.fork != nil {
		if err := o.fork.write(id, store, boot, o); err != nil {
			return Identity{}, err
		}
		return id, home.Link(id)
	}
	log, err := life.Create(id.LIFE())
	if errors.Is(err, fs.ErrExist) { // the boot of this child was cut short before its line
		if log, err = life.Open(id.LIFE()); err == nil && log.Size() > 0 {
			err = errors.Join(fmt.Errorf("%w: %s is there and has no name", ErrCorrupt, id.LIFE()), log.Close())
		}
	}
	if err != nil {
		return Identity{}, err
	}
	defer log.Close()
	if err := log.Append(boot); err != nil {
		return Identity{}, err
	}
	return id, home.Link(id)
}

// ErrExists says that the name is taken.
var ErrExists = errors.New("there is an identity of that name already")

// createFiles makes the identity's directory and its own files, those of a fork as its ancestor had them.
func (id Identity) createFiles(soul string, o BootOptions) error {
	for _, d := range []string{id.Dir, id.Subs(), filepath.Join(id.Dir, "workspace")} {
		if err := durable.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name, text string
		perm       fs.FileMode
	}{
		{"SOUL.md", soul, 0o400},
		{"MEMORY.md", "", 0o600},
		{"SEGMENT.md", lethe.Segment, 0o600},
		{"SUMMARISE.md", lethe.Summarise, 0o600},
	} {
		if o.fork != nil && f.name != "SOUL.md" {
			f.text = o.fork.files[f.name]
		}
		if err := durable.WriteFile(filepath.Join(id.Dir, f.name), []byte(f.text), f.perm); err != nil {
			return err
		}
	}
	if o.Child != nil {
		return o.Child.write(id)
	}
	return nil
}

// Link gives an identity its name. One that leads to another identity is an error.
func (h Home) Link(id Identity) error {
	target := filepath.Join("..", "agents", id.Self)
	return durable.Symlink(target, filepath.Join(h.Names(), id.Name))
}

// What Lethe makes is for its own user alone: directories 0700, files 0600, SOUL.md
// and blobs 0400. No sandbox governs chmod, so a command of one identity can change
// that for all of them; here it is restored.

// private restores the permissions of a file or a directory, and says what they
// were where that did harm: their owner lacked one, or others could write. A file
// that others could only read is what an editor or echo makes, and nobody reaches it
// in a directory of mode 0700. Links, pipes and what belongs to another user are left
// alone.
func (h Home) private(path string) (found []string) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() && !fi.Mode().IsRegular() {
		return nil
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil
	}
	want := fs.FileMode(0o600)
	switch {
	case fi.IsDir():
		want = 0o700
	case filepath.Base(path) == "SOUL.md" || strings.HasPrefix(path, h.Blobs()+"/"):
		want = 0o400
	}
	was := fi.Mode().Perm()
	now := (was | want) & 0o700
	if now == was || os.Chmod(path, now) != nil {
		return nil
	}
	if fi.Mode().IsRegular() && was&want == want && was&0o002 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s had %#o", path, was)}
}

// homeParts are what Lethe keeps closed of the home; bridges do so by themselves. A key that others could read stays as it
// is: somebody may have read it, and fsck says what that means.
var homeParts = []string{"config.toml", "format", "ledger", "blobs", "chats", "agents", "names"}

// restore restores the permissions of a directory and of what is in it, as far as it
// is named; without names, all.
func (h Home) restore(dir string, names ...string) (found []string) {
	found = h.private(dir)
	if len(names) == 0 {
		entries, _ := os.ReadDir(dir) // what cannot be read is passed over
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		found = append(found, h.private(filepath.Join(dir, name))...)
	}
	return found
}

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
	return c.restored(c.Home.restore(c.Home.Dir, way...))
}

// restored warns of permissions that were restored, and reports whether any were.
func (c *Config) restored(found []string) bool {
	if len(found) > 0 {
		c.Log.Warn("the home is for its owner alone; permissions were restored", "were", shorten(found))
	}
	return len(found) > 0
}

// shorten names the first of what was found.
func shorten(found []string) string {
	const most = 5
	if more := len(found) - most; more > 0 {
		found = append(found[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, ", ")
}
