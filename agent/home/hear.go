package home

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/mind/audience"
)

// ErrHear is wrapped where a room is not for an identity to hear.
var ErrHear = errors.New("what stands there is for its reviewer, or for a person")

// MayHear decides which rooms an identity may hear, whoever asks: its JOIN, its triggers, a flag, a client of the
// server. The room of its reviewer is not for it, nor is one with notices for a person. A link that a person makes by
// hand is not asked about.
func (id Identity) MayHear(room string) error {
	switch {
	case !chat.ValidRoom(room):
		return fmt.Errorf("%q is not the name of a room", room)
	case room == ReviewRoom(id.Name), chat.ForNotices(room):
		return id.Refused(room)
	}
	return nil
}

// Refused is the error for a room that an identity may not hear, whether there is one or not.
func (id Identity) Refused(room string) error {
	return fmt.Errorf("have %s hear room %s: %w; name another room", id.Name, room, ErrHear)
}

// MayHear is Identity.MayHear, and refuses, in the same words, a room that not everybody in the audience of the
// identity may read. An identity that is being made may hear any.
func (h Home) MayHear(id Identity, room string) error {
	if err := id.MayHear(room); err != nil {
		return err
	}
	readers := h.Readers(room)
	if _, err := os.Stat(id.LIFE()); readers.Open() || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	state, err := h.fold(id)
	if err != nil {
		return err
	}
	if !state.MayHear(room, readers) {
		return id.Refused(room)
	}
	return nil
}

// Subscribe has an identity hear a room, if it may.
func (h Home) Subscribe(id Identity, room string) error {
	if err := h.MayHear(id, room); err != nil {
		return err
	}
	return chat.Subscribe(id.Subs(), h.Chats(), room)
}

// Readers returns the people who may read a room, as its settings say. Where these make no sense it is nobody.
func (h Home) Readers(room string) audience.Readers {
	about, err := chat.ReadAbout(h.Dir, room)
	if err != nil {
		return audience.Readers{}
	}
	return about.Readers
}

// ClosedTo lists the rooms that not everybody in an audience may read.
func (h Home) ClosedTo(of audience.Readers) (rooms []string) {
	files, _ := os.ReadDir(h.Chats()) // without it nothing is heard
	for _, file := range files {
		room, isAbout := strings.CutSuffix(strings.TrimPrefix(file.Name(), "."), ".toml")
		if isAbout && !slices.Contains(rooms, room) && !h.Readers(room).MayRead(of) {
			rooms = append(rooms, room)
		}
	}
	return rooms
}

// Apart reports whether people have named readers for a room.
func (h Home) Apart() bool { return len(h.ClosedTo(nil)) > 0 }

// HeardByOthers reports whether an identity speaks, or will, in a room that somebody else may read.
func (h Home) HeardByOthers(id Identity, owners audience.Readers) (bool, error) {
	rooms, err := chat.Rooms(id.Subs())
	rooms = slices.DeleteFunc(rooms, func(room string) bool { return owners.MayRead(h.Readers(room)) })
	isClosed := func(room string) bool { return !h.Readers(room).Open() } // else all rooms of the home are asked
	if len(rooms) == 0 || err != nil || !slices.ContainsFunc(rooms, isClosed) && !h.Apart() {
		return false, err
	}
	state, err := h.fold(id)
	if err != nil { // it is being made, or whoever opens it learns why
		return true, nil
	}
	return slices.ContainsFunc(rooms, func(room string) bool { return state.Newborn() || state.MaySay(room) }), nil
}

// MayRead reports whether everybody in an audience may read a text of another life, or a file that somebody sent: each
// room that the other life has heard, or that names the file, is one that they may read. Of a life that is not here
// nobody can tell. A life's first text, its soul, is the life's.
func (h Home) MayRead(text blobs.Blob, of audience.Readers) bool {
	whose := text.Life
	if hash := text.Hash.String(); whose == "" {
		if _, err := os.Stat(h.Identity(hash, "").LIFE()); err == nil {
			whose = hash
		}
	}
	if whose == "" {
		name := []byte("hash=" + text.Hash.String()[:shortestName])
		return !h.says(h.ClosedTo(of), name)
	}
	witnesses, err := h.witnesses(h.Identity(whose, ""))
	if err != nil {
		return len(h.ClosedTo(of)) == 0
	}
	return witnesses.MayRead(of)
}

// witnesses returns the people who may read all that an identity has ever heard, as its log and the settings of its
// rooms say.
func (h Home) witnesses(id Identity) (audience.Readers, error) {
	state, err := h.fold(id)
	if err != nil {
		return nil, err
	}
	heard, err := chat.Rooms(id.Subs()) // also before it has run
	all := []audience.Readers{state.Witnesses()}
	for _, room := range slices.Concat(heard, slices.Collect(maps.Keys(state.Rooms))) {
		all = append(all, h.Readers(room))
	}
	return audience.Common(all...), err
}

// Tells reports whether a person may read all that an identity has heard, and a room that it hears.
func (h Home) Tells(id Identity, person string) bool {
	rooms, err := chat.Rooms(id.Subs())
	if err != nil || !slices.ContainsFunc(rooms, func(room string) bool { return h.Readers(room).Has(person) }) {
		return false
	}
	witnesses, err := h.witnesses(id)
	return err == nil && witnesses.Has(person)
}

// shortestName is the number of digits of the shortest hash that a line names a file by.
const shortestName = 16

// says reports whether a text stands in one of some rooms, or may: a room that cannot be read says everything.
func (h Home) says(rooms []string, text []byte) bool {
	for _, room := range rooms {
		said, err := os.ReadFile(h.Room(room))
		unreadable := err != nil && !errors.Is(err, os.ErrNotExist)
		if unreadable || bytes.Contains(said, text) {
			return true
		}
	}
	return false
}
