package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"lethe"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
)

// BootOptions is what a new identity starts with.
type BootOptions struct {
	Name  string
	Soul  string   // its purpose; "" takes the default
	Rooms []string // that it hears from the start
	// Check, if not nil, can refuse the identity when its files are there. Then
	// they are removed.
	Check func(Identity) error
}

// Boot makes a new identity. Its hash is that of the boot blob, which holds the
// soul and the time. The line in LIFE is the commit, and the name link comes last:
// a crash before the line leaves an unreferenced directory, one after it leaves
// an identity that Boot with the same name finds again. Boots in one home take
// turns, so that processes that boot the same name at once make one identity.
func Boot(home Home, store *blobs.Store, o BootOptions) (Identity, error) {
	if !ValidName(o.Name) {
		return Identity{}, fmt.Errorf("boot %q: a name is a lower-case letter followed by up to 31 of a-z, 0-9 and -", o.Name)
	}
	for _, room := range o.Rooms {
		if !chat.ValidRoom(room) {
			return Identity{}, fmt.Errorf("boot %s: %q is not the name of a room", o.Name, room)
		}
	}
	names, err := os.Open(home.Names())
	if err != nil {
		return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	defer names.Close()
	if err := syscall.Flock(int(names.Fd()), syscall.LOCK_EX); err != nil { // until names is closed
		return Identity{}, fmt.Errorf("boot %s: lock %s: %w", o.Name, home.Names(), err)
	}
	if id, err := home.Find(o.Name); err == nil && id.Name == o.Name {
		if _, err := os.Lstat(filepath.Join(home.Names(), o.Name)); err != nil {
			if err := durable.Sync(id.LIFE()); err != nil { // who wrote it may have died before the sync
				return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
			}
			return id, home.link(id)
		}
		return id, fmt.Errorf("boot %s: %w", o.Name, ErrExists)
	}
	soul := o.Soul
	if soul == "" {
		soul = lethe.Soul
	}
	now := time.Now()
	self, err := store.Put(blobs.Meta{At: now, Gist: "boot of " + o.Name}, []byte(soul))
	if err != nil {
		return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	id := home.identity(self.String(), o.Name)
	if err := id.createFiles(soul); err != nil {
		return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	if o.Check != nil {
		if err := o.Check(id); err != nil {
			return Identity{}, errors.Join(err, os.RemoveAll(id.Dir))
		}
	}
	for _, room := range o.Rooms {
		if err := chat.Subscribe(id.Subs(), home.Chats(), room); err != nil {
			return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
		}
	}
	log, err := life.Create(id.LIFE())
	if err != nil {
		return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	defer log.Close()
	boot := event.Line(now, event.Boot{Name: o.Name, Version: lethe.Version}, blobs.Ref{Hash: store.Short(self), Gist: "boot of " + o.Name})
	if err := log.Append(boot); err != nil {
		return Identity{}, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	return id, home.link(id)
}

// ErrExists says that the name is taken.
var ErrExists = errors.New("there is an identity of that name already")

// createFiles makes the identity's directory and its own files.
func (id Identity) createFiles(soul string) error {
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
		if err := durable.WriteFile(filepath.Join(id.Dir, f.name), []byte(f.text), f.perm); err != nil {
			return err
		}
	}
	return nil
}

func (h Home) link(id Identity) error {
	target := filepath.Join("..", "agents", id.Self)
	return durable.Symlink(target, filepath.Join(h.Names(), id.Name))
}
