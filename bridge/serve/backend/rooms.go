package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"lethe/agent"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/report"
)

// Room is a room with what people have noted of it here.
type Room struct {
	report.Room
	Title    string `json:"title,omitempty"`
	Archived bool   `json:"archived"` // until a line is said in it
	// Unread is how many of the newest lines are neither read nor said by User, nor stand before
	// one that is; at most 100.
	Unread int `json:"unread"`
}

// Note is what is noted of a room, or what of it is to change.
type Note struct {
	Title    *string `json:"title,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Read     *int64  `json:"read,omitempty"`
}

// roomNote is what rooms.json keeps of a room.
type roomNote struct {
	Title string `json:"title,omitempty"`
	// Archived is the size of the room when it was archived: with the next line the room is back.
	Archived *int64 `json:"archived,omitempty"`
	Read     int64  `json:"read,omitempty"` // the byte before which all is read
}

// roomNotes is rooms.json, by room.
type roomNotes struct {
	mu    sync.Mutex
	rooms map[string]roomNote // nil: not read yet
}

const (
	maxUnread = 100
	maxTitle  = 100     // runes
	maxNotes  = 4 << 20 // bytes of rooms.json
)

// NotedRooms lists the rooms of the home, that which changed last first, without those that are archived
// unless all are wanted.
func (b *Backend) NotedRooms(all bool) ([]Room, error) {
	rooms, err := b.Rooms()
	if err != nil {
		return nil, err
	}
	list := []Room{}
	for _, r := range rooms {
		room, err := b.noted(r)
		if err != nil {
			return nil, err
		}
		if all || !room.Archived {
			list = append(list, room)
		}
	}
	return list, nil
}

// Room is one room. The error wraps agent.ErrNotFound where there is none of that name.
func (b *Backend) Room(name string) (Room, error) {
	room, err := b.Home.Room(name)
	if err != nil {
		return Room{}, err
	}
	return b.noted(room)
}

// MakeRoom makes a room that these identities hear. One that is there already stays as it is, and
// they hear it, too; made says which, where nobody is to hear it.
func (b *Backend) MakeRoom(name, title string, agents []agent.Identity) (room Room, made bool, err error) {
	if !chat.ValidRoom(name) {
		err := fmt.Errorf("%q is not the name of a room", name)
		return room, false, &report.InvalidError{Err: err, Advice: "up to 64 of a-z, 0-9, - and _, a letter or digit first"}
	}
	for _, id := range agents {
		if err := b.Subscribe(id, name); err != nil {
			return room, false, err
		}
	}
	if made, err = chat.Make(chat.Path(b.Dir, name)); err != nil {
		return room, false, err
	}
	if title != "" {
		room, err = b.NoteRoom(name, Note{Title: &title})
	} else {
		room, err = b.Room(name)
	}
	return room, made, err
}

// NoteRoom notes what is given of a room, durably.
func (b *Backend) NoteRoom(name string, n Note) (Room, error) {
	room, err := b.Home.Room(name)
	if err != nil {
		return Room{}, err
	}
	if n.Read != nil && (*n.Read < 0 || *n.Read > room.Bytes) {
		return Room{}, report.Invalid("read is %d; room %s has %d bytes", *n.Read, name, room.Bytes)
	}
	b.notes.mu.Lock()
	defer b.notes.mu.Unlock()
	if err := b.readNotes(); err != nil {
		return Room{}, err
	}
	is := b.notes.rooms[name]
	if n.Title != nil {
		is.Title = strings.Join(strings.Fields(chat.Sanitize(*n.Title)), " ")
		if len([]rune(is.Title)) > maxTitle {
			return Room{}, report.Invalid("the title has %d characters; %d are the most", len([]rune(is.Title)), maxTitle)
		}
	}
	if n.Archived != nil {
		is.Archived = nil
		if *n.Archived {
			is.Archived = &room.Bytes
		}
	}
	if n.Read != nil {
		is.Read = *n.Read
	}
	b.notes.rooms[name] = is
	data, _ := json.Marshal(b.notes.rooms) // of strings and numbers: cannot fail
	if err := durable.WriteFile(b.notesPath(), append(data, '\n'), 0o600); err != nil {
		b.notes.rooms = nil // the truth is unknown
		return Room{}, fmt.Errorf("note room %s: %w", name, err)
	}
	return is.of(room, b)
}

func (b *Backend) noted(r report.Room) (Room, error) {
	b.notes.mu.Lock()
	err := b.readNotes()
	note := b.notes.rooms[r.Name]
	b.notes.mu.Unlock()
	if err != nil {
		return Room{}, err
	}
	return note.of(r, b)
}

func (n roomNote) of(r report.Room, b *Backend) (Room, error) {
	room := Room{Room: r, Title: n.Title, Archived: n.Archived != nil && *n.Archived == r.Bytes}
	if r.Last == nil || r.Last.To <= n.Read {
		return room, nil
	}
	lines, err := chat.Before(chat.Path(b.Dir, r.Name), -1, maxUnread)
	for i := len(lines) - 1; i >= 0 && err == nil; i-- {
		if l := lines[i]; l.To <= n.Read && n.Read <= r.Bytes || !l.Agent && l.Name == b.User {
			break
		}
		room.Unread++
	}
	return room, err
}

func (b *Backend) notesPath() string { return filepath.Join(b.Dir, "bridges", "serve", "rooms.json") }

// readNotes reads rooms.json once. A file that makes no sense is kept beside the new one. The
// caller holds mu.
func (b *Backend) readNotes() error {
	if b.notes.rooms != nil {
		return nil
	}
	data, err := durable.ReadWhole(b.notesPath(), maxNotes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what is noted of rooms: %w", err)
	}
	rooms := map[string]roomNote{}
	if err == nil {
		if err := json.Unmarshal(data, &rooms); err != nil || rooms == nil {
			kept, kerr := bridge.SetAside(b.notesPath(), data)
			if kerr != nil {
				return kerr
			}
			b.Log.Error("what is noted of rooms is damaged: titles, archived, read", "kept", kept, "err", err)
			rooms = map[string]roomNote{}
		}
	}
	b.notes.rooms = rooms
	return nil
}
