package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/internal/durable"
)

// Subscribe links room into subsDir, durably. It makes the room and directories
// if they are missing. It replaces a link that leads elsewhere, and returns an
// error if the name belongs to something else than a link.
func Subscribe(subsDir, chatsDir, room string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("subscribe to room %q: %w", room, err)
		}
	}()
	if !ValidRoom(room) {
		return errors.New("not a room name")
	}
	// The kernel resolves a link from the real directory it is in, so the
	// relative path must be between real directories.
	if subsDir, err = makeReal(subsDir); err != nil {
		return err
	}
	if chatsDir, err = makeReal(chatsDir); err != nil {
		return err
	}
	file, link := filepath.Join(chatsDir, FileName(room)), filepath.Join(subsDir, FileName(room))
	if err := touch(file); err != nil {
		return err
	}
	target, err := filepath.Rel(subsDir, file)
	if err != nil {
		return err
	}
	there, _ := os.Stat(link)
	want, _ := os.Stat(file)
	if _, err := os.Readlink(link); err == nil && os.SameFile(there, want) {
		return nil
	}
	if err := unlink(link); err != nil {
		return err
	}
	return durable.Symlink(target, link)
}

// unlink removes a link, if it exists.
func unlink(path string) error {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case fi.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%s is not a link", path)
	}
	return durable.Remove(path)
}

func makeReal(dir string) (string, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// touch makes an empty room if it is missing. It never replaces a file, since
// somebody could append a line at this moment.
func touch(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	file, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return durable.SyncOpen(file)
}

// Unsubscribe removes the link of room from subsDir, durably. It returns nil if
// there is no such link.
func Unsubscribe(subsDir, room string) error {
	if !ValidRoom(room) {
		return fmt.Errorf("unsubscribe from room %q: not a room name", room)
	}
	if err := unlink(filepath.Join(subsDir, FileName(room))); err != nil {
		return fmt.Errorf("unsubscribe from room %s: %w", room, err)
	}
	return nil
}

// Move moves the link of a room from one directory of links to another, durably: it is always in one of them.
func Move(fromDir, toDir, room string) error {
	name := FileName(room)
	err := durable.Rename(filepath.Join(fromDir, name), filepath.Join(toDir, name))
	return errors.Join(err, durable.SyncDir(toDir), durable.SyncDir(fromDir))
}

// Rooms lists the rooms that are linked in subsDir, sorted. The name of a link is
// the name of its room; it counts also while the room's file is missing. Rooms
// ignores other files. It returns nil if the directory is missing.
func Rooms(subsDir string) ([]string, error) {
	rooms, _, err := Links(subsDir)
	return rooms, err
}

// Links is Rooms, and also lists others: rooms whose links something else has replaced, sorted. An
// editor that saves may put a file in a link's place. Nobody hears these rooms.
func Links(subsDir string) (rooms, others []string, err error) {
	entries, err := os.ReadDir(subsDir) // sorted by file name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list rooms: %w", err)
	}
	for _, entry := range entries {
		room, ok := strings.CutSuffix(entry.Name(), ext)
		switch {
		case !ok || !ValidRoom(room):
		case entry.Type()&fs.ModeSymlink != 0:
			rooms = append(rooms, room)
		default:
			others = append(others, room)
		}
	}
	slices.Sort(rooms)
	slices.Sort(others)
	return rooms, others, nil
}
