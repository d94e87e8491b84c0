package rooms

import (
	"errors"
	"strings"
	"time"

	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
)

// entry is one text of the stream of rooms: a host adds it to some rooms.
type entry struct {
	Lethe  int          `json:"lethe"` // the version of the form
	Host   streams.Host `json:"host"`
	Nonce  string       `json:"nonce"`
	At     time.Time    `json:"at"`               // by the clock of the host: a restore to a time compares it
	Erased int          `json:"erased,omitempty"` // the generation of packs that an erasure by the host has made
	Items  []item       `json:"items"`
	Mends  bool         `json:"mends,omitempty"` // its host makes the stream anew: no other one does, for an hour
}

// item adds whole lines to one room.
type item struct {
	Room  string       `json:"room"`
	Here  bool         `json:"here,omitempty"` // they come from the file of the room at the host
	From  string       `json:"from,omitempty"` // or from this one in share/late
	Upto  int64        `json:"upto,omitempty"` // which was read so far with them
	Large blobs.Hash   `json:"large,omitzero"` // of lines that are stored by themselves, for their size
	Files []blobs.Hash `json:"files,omitempty"`
	// Readers are the people who may read the room from now on, as the host's settings say; nil where they say nothing.
	Readers []string `json:"readers,omitzero"`

	lines []byte
}

const version = 1

func (e entry) encode() []byte {
	var parts [][]byte
	for _, part := range e.Items {
		if !part.Large.IsZero() {
			part.lines = nil
		}
		parts = append(parts, part.lines)
	}
	return streams.Join(e, parts...)
}

func decode(text []byte) (e entry, err error) {
	parts, err := streams.Split(text, &e)
	switch {
	case err != nil:
		return e, err
	case e.Lethe > version:
		return e, errors.New("a newer Lethe wrote it")
	case len(parts) != len(e.Items):
		return e, errors.New("it has not the parts that it says")
	}
	for k := range e.Items {
		part := &e.Items[k]
		if part.lines = parts[k]; !named(part.Room) {
			return e, errors.New("it is no entry of rooms")
		}
	}
	return e, nil
}

// named reports whether a room of people, or one of the hosts, can have a name.
func named(room string) bool { return chat.ValidRoom(strings.TrimPrefix(room, ".")) }
