package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"lethe/chat"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/report"
)

// Room is a room, with how much of it is unread.
type Room struct {
	report.Room
	// Unread counts the newest lines, at most 100, up to one that was read or that User said.
	Unread int `json:"unread"`
}

// Mark notes in rooms.json how far a room was read.
type Mark struct {
	Read int64 `json:"read" jsonschema:"the byte before which all is read"`
}

const (
	maxUnread = 100
	maxMarks  = 4 << 20 // bytes of rooms.json
)

// MarkedRooms lists the rooms of the home; that which changed last is first.
func (b *Backend) MarkedRooms() ([]Room, error) {
	rooms, err := b.Rooms()
	if err != nil {
		return nil, err
	}
	marks, err := b.readMarks()
	if err != nil {
		return nil, err
	}
	list := []Room{}
	for _, r := range rooms {
		room, err := b.marked(r, marks[r.Name])
		if err != nil {
			return nil, err
		}
		list = append(list, room)
	}
	return list, nil
}

// Room returns one room. The error wraps home.ErrNotFound where there is none of that name.
func (b *Backend) Room(name string) (Room, error) {
	room, err := b.Home.Room(name)
	if err != nil {
		return Room{}, err
	}
	marks, err := b.readMarks()
	if err != nil {
		return Room{}, err
	}
	return b.marked(room, marks[name])
}

// MakeRoom makes a room, if there is none of that name, and has these identities hear it.
func (b *Backend) MakeRoom(name string, hear ...home.Identity) (room Room, made bool, err error) {
	if !chat.ValidRoom(name) {
		return room, false, invalidRoom(name)
	}
	for _, id := range hear {
		if err := b.Subscribe(id, name); err != nil {
			return room, false, err
		}
	}
	if made, err = chat.Make(chat.Path(b.Dir, name)); err != nil {
		return room, false, err
	}
	room, err = b.Room(name)
	return room, made, err
}

func invalidRoom(name string) error {
	err := fmt.Errorf("%q is not the name of a room", name)
	return &report.InvalidError{Err: err, Advice: "up to 64 of a-z, 0-9, - and _, a letter or digit first"}
}

// MarkRead notes durably how far a room was read.
func (b *Backend) MarkRead(name string, mark Mark) (Room, error) {
	room, err := b.Home.Room(name)
	if err != nil {
		return Room{}, err
	}
	if mark.Read < 0 || mark.Read > room.Bytes {
		return Room{}, report.Invalid("read is %d; room %s has %d bytes", mark.Read, name, room.Bytes)
	}
	b.marking.Lock()
	defer b.marking.Unlock()
	marks, err := b.readMarks()
	if err != nil {
		return Room{}, err
	}
	marks[name] = mark
	data, err := json.Marshal(marks)
	if err == nil {
		err = durable.WriteFile(b.marksPath(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return Room{}, fmt.Errorf("mark room %s read: %w", name, err)
	}
	return b.marked(room, mark)
}

func (b *Backend) marked(r report.Room, mark Mark) (Room, error) {
	room := Room{Room: r}
	if r.Last == nil || r.Last.To <= mark.Read {
		return room, nil
	}
	lines, err := chat.Before(chat.Path(b.Dir, r.Name), -1, maxUnread)
	for _, l := range slices.Backward(lines) {
		read := l.To <= mark.Read && mark.Read <= r.Bytes
		own := !l.Agent && l.Name == b.User
		if read || own {
			break
		}
		room.Unread++
	}
	return room, err
}

func (b *Backend) marksPath() string { return filepath.Join(b.Dir, "bridges", Name, "rooms.json") }

// readMarks reads rooms.json. Where the file makes no sense, nothing counts as read.
func (b *Backend) readMarks() (marks map[string]Mark, err error) {
	data, err := durable.ReadWhole(b.marksPath(), maxMarks)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Mark{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the marks of rooms: %w", err)
	}
	if err := json.Unmarshal(data, &marks); err != nil || marks == nil {
		b.Log.Warn("rooms.json is damaged: all rooms count as unread", "err", err)
		return map[string]Mark{}, nil
	}
	return marks, nil
}
