package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
)

// Family returns an identity and, behind it, its descendants.
func (h Home) Family(store *blobs.Store, id Identity) ([]Identity, error) {
	all, err := h.List()
	if err != nil {
		return nil, err
	}
	family := []Identity{id}
	for _, one := range all {
		if slices.Contains(Ancestry(store, one.Self), id.Self) {
			family = append(family, one)
		}
	}
	return family, nil
}

// removed comes before the name of a directory whose identity is gone.
const removed = "removed-"

// Remove removes an identity and its Family, with their files and names. Rooms and stored texts stay. Of each, a kill
// leaves all as it was, or nothing that the next Open does not remove. If one runs, or an erasure of it is not
// finished, nothing is removed.
func (h Home) Remove(store *blobs.Store, id Identity) error {
	family, err := h.Family(store, id)
	if err == nil {
		err = h.removeAll(family)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", id.Name, err)
	}
	return nil
}

// removeAll locks a whole family and removes it, children before their parents: after a kill, the same call goes on.
func (h Home) removeAll(family []Identity) error {
	for _, one := range family {
		if err := one.Erasing(); err != nil {
			return err
		}
		lock, err := Lock(one)
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	for _, one := range slices.Backward(family) {
		if err := h.removeOne(one); err != nil {
			return err
		}
	}
	return nil
}

// removeOne removes an identity whose lock the caller holds.
func (h Home) removeOne(id Identity) error {
	if h.Shared != nil {
		if err := h.Shared.Removed(id); err != nil {
			return err
		}
	}
	gone := filepath.Join(h.Agents(), removed+id.Self)
	if err := durable.Rename(id.Dir, gone); err != nil {
		return err
	}
	if err := durable.SyncDir(h.Agents()); err != nil {
		return err
	}
	return h.wipe(gone)
}

// sweep removes what hires have left that were killed before the first line of a life. Hosts that share a home read lives
// anew, so there it stays.
func (h Home) sweep() {
	begun, _ := os.ReadDir(h.startedDir())
	all, err := h.List()
	for _, file := range begun {
		id := h.Identity(file.Name(), "")
		isBorn := slices.ContainsFunc(all, func(one Identity) bool { return one.Self == id.Self })
		_, missing := os.Lstat(id.LIFE()) // a damaged one is listed by its name alone, and an import may be under way
		isUnborn := !isBorn && errors.Is(missing, fs.ErrNotExist)
		if len(id.Self) == 64 && h.Shared == nil && isUnborn && err == nil {
			_ = os.Mkdir(id.Dir, 0o700) // which comes behind the wish
			_ = h.removeOne(id)         // the next one tries again
		}
	}
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

// RemoveRoom removes a room: its file with all lines, and then the links of its hearers. What they have heard
// stays with them. Where it is cut short, the same call goes on.
func (h Home) RemoveRoom(room string) error {
	if h.Shared != nil {
		return fmt.Errorf("remove room %s: other hosts have it, too, and what they share stays", room)
	}
	if !chat.ValidRoom(room) {
		return fmt.Errorf("%q is not the name of a room", room)
	}
	all, err := h.List()
	if err != nil {
		return err
	}
	path := chat.Path(h.Dir, room)
	_, missing := os.Lstat(path)
	found := missing == nil
	for _, file := range []string{room + ".md", room + ".toml", "." + room + ".toml", room + ".erased"} {
		if err := durable.Remove(filepath.Join(h.Chats(), file)); err != nil {
			return err
		}
	}
	for _, id := range all {
		rooms, _ := chat.Rooms(id.Subs())
		if !slices.Contains(rooms, room) {
			continue
		}
		if err := chat.Unsubscribe(id.Subs(), room); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("find room %q: %w", room, ErrNotFound)
	}
	return nil
}
