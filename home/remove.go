package home

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/must"
)

// Removal says what goes with an identity, and what of it stays.
type Removal struct {
	Name     string   `json:"name"`
	Self     string   `json:"self"`
	Children []string `json:"children"` // names of those that it has spawned, and theirs; they go with it
	Files    int      `json:"files"`    // in their directories; workspaces are there
	Bytes    int64    `json:"bytes"`
	Rooms    []string `json:"rooms"` // that they hear; these stay

	family []Identity // that go; it is the first
}

// Removal looks at what goes with an identity, and changes nothing. An identity that runs, or of which an erasure is not
// finished, cannot be removed.
func (h Home) Removal(id Identity) (r Removal, err error) {
	parents, err := h.parents()
	if err != nil {
		return r, err
	}
	r = Removal{Name: id.Name, Self: id.Self, Children: []string{}, Rooms: []string{}, family: []Identity{id}}
	for i := 0; i < len(r.family); i++ { // it grows
		for child, of := range parents {
			if of == r.family[i].Self {
				r.family, r.Children = append(r.family, child), append(r.Children, child.Name)
			}
		}
	}
	for _, one := range r.family {
		if pid, running := Running(one); running {
			return r, &RunningError{one, pid}
		}
		if err := one.Erasing(); err != nil {
			return r, err
		}
		rooms, _ := chat.Rooms(one.Subs())
		r.Rooms = append(r.Rooms, rooms...)
		_ = filepath.WalkDir(one.Dir, func(_ string, d fs.DirEntry, err error) error { // what cannot be read is not counted
			if err == nil && d.Type().IsRegular() {
				fi, ierr := d.Info()
				if ierr == nil {
					r.Files, r.Bytes = r.Files+1, r.Bytes+fi.Size()
				}
			}
			return nil
		})
	}
	slices.Sort(r.Children)
	slices.Sort(r.Rooms)
	r.Rooms = slices.Compact(r.Rooms)
	return r, nil
}

// parents are the children of a home, with the hash of whose each of them is.
func (h Home) parents() (map[Identity]string, error) {
	all, err := h.List()
	parents := map[Identity]string{}
	for _, id := range all {
		if child, _ := id.Child(); child != nil { // of a damaged task.toml nobody knows
			parents[id] = child.Parent.String()
		}
	}
	return parents, err
}

// removed comes before the name of a directory whose identity was removed. Its files go next.
const removed = "removed-"

// Remove removes an identity, its children and their names. Blobs and rooms stay. Where it is cut short, they are there
// as before, or gone, and the next Open removes the rest of their files.
func (h Home) Remove(id Identity) error {
	err := h.alone(func() {
		r := must.Get(h.Removal(id))
		func() {
			for _, one := range r.family {
				lock := must.Get(Lock(one))
				defer lock.Close()
				must.Do(one.Unstart())
			}
			h.setAside(id)
		}()
		h.finishRemovals()
	})
	if err != nil {
		err = fmt.Errorf("remove %s: %w", id.Name, err)
	}
	return err
}

// alone runs steps while nobody else boots or removes anything.
func (h Home) alone(steps func()) error {
	names, err := h.lockNames()
	if err != nil {
		return err
	}
	defer names.Close()
	return must.Run(steps)
}

// lockNames keeps others from booting and removing identities.
func (h Home) lockNames() (*flock.Flock, error) {
	names := flock.New(h.Names(), flock.SetFlag(os.O_RDONLY))
	if err := names.Lock(); err != nil {
		return names, fmt.Errorf("lock %s: %w", h.Names(), err)
	}
	return names, nil
}

// setAside is the moment in which an identity is gone. It is a step.
func (h Home) setAside(id Identity) {
	must.Do(durable.Rename(id.Dir, filepath.Join(h.Agents(), removed+id.Self)))
	must.Do(durable.SyncDir(h.Agents()))
}

// unfinished are the directories and rooms that were removed and are not gone yet.
func (h Home) unfinished() (dirs, rooms []string) {
	dirs, _ = filepath.Glob(filepath.Join(h.Agents(), removed+"*"))
	rooms, _ = filepath.Glob(filepath.Join(h.Chats(), "*"+removedRoom))
	return dirs, rooms
}

// finishRemovals is a step.
func (h Home) finishRemovals() {
	dirs, rooms := h.unfinished()
	for _, room := range rooms {
		h.finishRoom(room)
	}
	for _, dir := range dirs {
		h.finishRemoval(dir)
	}
}

// finishRemoval removes children and names before the directory, by which the next one knows that they are to go.
func (h Home) finishRemoval(dir string) {
	_, self, _ := strings.Cut(filepath.Base(dir), removed)
	for child, of := range must.Get(h.parents()) {
		if of != self {
			continue
		}
		if pid, running := Running(child); running {
			must.Do(&RunningError{child, pid})
		}
		h.setAside(child)
		h.finishRemoval(filepath.Join(h.Agents(), removed+child.Self))
	}
	for _, l := range must.Get(os.ReadDir(h.Names())) {
		link := filepath.Join(h.Names(), l.Name())
		if to, _ := os.Readlink(link); filepath.Base(to) == self {
			must.Do(durable.Remove(link))
		}
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // tools may have closed directories
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	must.Do(os.RemoveAll(dir))
	must.Do(durable.SyncDir(h.Agents()))
}

// removedRoom is what the name of a room's file ends in when it was removed.
const removedRoom = ".removed"

// RemoveRoom removes a room: its file with all lines, and the links of those that hear it. What they have heard stays
// with them. Where it is cut short, the room is there as before, or gone, and the next Open removes the links.
func (h Home) RemoveRoom(room string) error {
	path := chat.Path(h.Dir, room)
	if fi, err := os.Lstat(path); !chat.ValidRoom(room) || err != nil || !fi.Mode().IsRegular() {
		return fmt.Errorf("find room %q: %w", room, ErrNotFound)
	}
	err := h.alone(func() {
		aside := filepath.Join(h.Chats(), room+removedRoom)
		must.Do(durable.Rename(path, aside))
		must.Do(durable.SyncDir(h.Chats()))
		h.finishRoom(aside)
	})
	if err != nil {
		err = fmt.Errorf("remove room %s: %w", room, err)
	}
	return err
}

// finishRoom removes the links to a room, unless it was made anew meanwhile, and what is left of its file. It is a step.
func (h Home) finishRoom(aside string) {
	room, _ := strings.CutSuffix(filepath.Base(aside), removedRoom)
	all := must.Get(h.List())
	if _, err := os.Lstat(chat.Path(h.Dir, room)); err == nil {
		all = nil
	}
	for _, id := range all {
		if rooms, _ := chat.Rooms(id.Subs()); slices.Contains(rooms, room) {
			must.Do(chat.Unsubscribe(id.Subs(), room))
		}
	}
	must.Do(durable.Remove(filepath.Join(h.Chats(), room+".erased")))
	must.Do(durable.Remove(aside))
}
