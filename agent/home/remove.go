package home

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/must"
)

// Family returns an identity and, behind it, those that it has spawned, and theirs.
func (h Home) Family(store *blobs.Store, id Identity) ([]Identity, error) {
	all, err := h.List()
	family := []Identity{id}
	for _, one := range all {
		if slices.Contains(Ancestry(store, one.Self), id.Self) {
			family = append(family, one)
		}
	}
	return family, err
}

// removed comes before the name of a directory whose identity is gone.
const removed = "removed-"

// Remove removes an identity and its Family, with their files and names. Rooms and stored texts stay. Of each, a kill
// leaves all as it was, or nothing that the next Open does not remove. One that runs, or of which an erasure is not
// finished, is an error before anything is removed.
func (h Home) Remove(store *blobs.Store, id Identity) error {
	err := must.Run(func() {
		family := must.Get(h.Family(store, id))
		for _, one := range family {
			must.Do(one.Erasing())
			lock := must.Get(Lock(one))
			defer lock.Close()
		}
		for _, one := range slices.Backward(family) { // itself last: after a kill, the same call goes on
			gone := filepath.Join(h.Agents(), removed+one.Self)
			if h.Shared != nil {
				must.Do(h.Shared.Removed(one))
			}
			must.Do(durable.Rename(one.Dir, gone))
			must.Do(durable.SyncDir(h.Agents()))
			must.Do(h.wipe(gone))
		}
	})
	if err != nil {
		err = fmt.Errorf("remove %s: %w", id.Name, err)
	}
	return err
}

// wipe removes the names and files of an identity that is gone.
func (h Home) wipe(gone string) error {
	_, self, _ := strings.Cut(filepath.Base(gone), removed)
	names := []string{filepath.Join(h.startedDir(), self)}
	links, _ := filepath.Glob(filepath.Join(h.Names(), "*"))
	for _, link := range links {
		if to, _ := os.Readlink(link); filepath.Base(to) == self {
			names = append(names, link)
		}
	}
	for _, name := range names {
		if err := durable.Remove(name); err != nil {
			return err
		}
	}
	_ = filepath.WalkDir(gone, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // a command may have closed it
		}
		return nil
	})
	return os.RemoveAll(gone)
}

// RemoveRoom removes a room: its file with all lines, and then the links of those that hear it. What they have heard
// stays with them. Where it is cut short, the same call goes on.
func (h Home) RemoveRoom(room string) error {
	path := chat.Path(h.Dir, room)
	_, missing := os.Lstat(path)
	return must.Run(func() {
		if h.Shared != nil {
			must.Do(fmt.Errorf("remove room %s: other hosts have it, too, and what they share stays", room))
		}
		if !chat.ValidRoom(room) {
			must.Do(fmt.Errorf("%q is not the name of a room", room))
		}
		all := must.Get(h.List())
		must.Do(durable.Remove(path))
		must.Do(durable.Remove(filepath.Join(h.Chats(), room+".toml")))
		must.Do(durable.Remove(filepath.Join(h.Chats(), room+".erased")))
		for _, id := range all {
			rooms, _ := chat.Rooms(id.Subs())
			if slices.Contains(rooms, room) {
				must.Do(chat.Unsubscribe(id.Subs(), room))
				missing = nil
			}
		}
		if missing != nil {
			must.Do(fmt.Errorf("find room %q: %w", room, ErrNotFound))
		}
	})
}
