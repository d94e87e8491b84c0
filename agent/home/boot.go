package home

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"lethe"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret/shape"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// BootOptions are the beginnings of a new identity.
type BootOptions struct {
	Name  string
	Soul  string   // its purpose; "" takes the default
	Rooms []string // that it hears from the start
	Child *Child   // nil unless another identity has spawned it
	Hired *Hired   // nil unless people hire it for a role
	// Memory is the first text of MEMORY.md.
	Memory []byte
	fork   *fork // nil unless it begins with the mind of another one
	// Check, if not nil, can refuse the identity when its files are there. Then
	// they are removed.
	Check func(Identity) error
}

// Boot makes a new identity. Its hash is the boot blob's, which holds the
// soul and the time. The line in LIFE is the commit, and the name link comes last:
// a crash before the line leaves an unreferenced directory, of a hire until the next
// one, and a crash after it an identity that Boot with the same name finds again. Boots in one home take
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
		if _, err := os.Lstat(filepath.Join(home.Names(), o.Name)); err == nil || o.fork != nil {
			return id, ErrExists
		}
		if err := durable.Sync(id.LIFE()); err != nil { // the process that wrote it may have died before the sync
			return Identity{}, err
		}
		return id, home.Link(id)
	}
	if o.Hired != nil {
		home.sweep()
	}
	soul, now := shape.Text(cmp.Or(o.Soul, lethe.Soul)), time.Now()
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
	id = home.Identity(self.String(), o.Name)
	if o.Hired != nil { // first: nobody takes it for one that was fired, and sweep finds it
		if err := id.Start(o.Hired.With.Model == "offline", ""); err != nil {
			return Identity{}, err
		}
	}
	if err := id.createFiles(soul, o); err != nil {
		return Identity{}, err
	}
	if o.Check != nil {
		if err := o.Check(id); err != nil {
			refused = true
			return Identity{}, errors.Join(err, os.RemoveAll(id.Dir), id.Unstart())
		}
	}
	for _, room := range o.Rooms {
		if err := home.Subscribe(id, room); err != nil {
			return Identity{}, err
		}
	}
	lines := []life.Event{event.Line(now, first, blobs.Ref{Hash: store.Short(self), Gist: "boot of " + o.Name})}
	if o.fork != nil {
		if lines, err = o.fork.begin(id, store, lines[0], o.Rooms); err != nil {
			return Identity{}, err
		}
	}
	if err := id.writeLIFE(lines); err != nil {
		return Identity{}, err
	}
	return id, home.Link(id)
}

// writeLIFE writes the first lines of an identity: they are there whole, or it never was. What an older program left
// whose boot of a child was cut short makes way.
func (id Identity) writeLIFE(lines []life.Event) error {
	old, err := life.View(id.LIFE())
	if err == nil {
		old.Close()
	}
	switch {
	case err == nil && old.Size() > 0:
		return fmt.Errorf("%w: %s is there and has no name", ErrCorrupt, id.LIFE())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	unborn := filepath.Join(id.Dir, "LIFE.new")
	_ = os.Remove(unborn) // of a boot that was cut short
	log, err := life.Create(unborn)
	if err != nil {
		return err
	}
	if err := errors.Join(log.Append(lines...), log.Close()); err != nil {
		return err
	}
	if err := durable.Rename(unborn, id.LIFE()); err != nil {
		return err
	}
	return durable.SyncDir(id.Dir)
}

// ErrExists says that the name is taken.
var ErrExists = errors.New("there is an identity of that name already")

// createFiles makes the identity's directory and its own files, a fork's as its ancestor had them.
func (id Identity) createFiles(soul string, o BootOptions) error {
	for _, d := range []string{id.Dir, id.Subs(), filepath.Join(id.Dir, "workspace")} {
		if err := durable.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	if err := durable.WriteFile(filepath.Join(id.Dir, "SOUL.md"), []byte(soul), 0o400); err != nil {
		return err
	}
	texts := []mind.Text{
		{Name: MemoryFile, Body: o.Memory},
		{Name: "SEGMENT.md", Body: []byte(lethe.Segment)},
		{Name: "SUMMARISE.md", Body: []byte(lethe.Summarise)},
	}
	if o.fork != nil {
		texts = o.fork.texts
	}
	for _, t := range texts {
		if err := durable.WriteFile(filepath.Join(id.Dir, t.Name), t.Body, 0o600); err != nil {
			return err
		}
	}
	if o.Hired != nil {
		return id.SetHired(*o.Hired)
	}
	if o.Child != nil {
		return id.write(taskFile, o.Child)
	}
	return nil
}

// Link gives an identity its name. One that leads to another identity is an error.
func (h Home) Link(id Identity) error {
	target := filepath.Join("..", "agents", id.Self)
	return durable.Symlink(target, filepath.Join(h.Names(), id.Name))
}
