package bridge

import "lethe/chat"

// Shared has the files and rooms that a bridge shares with other hosts of its home.
type Shared interface {
	// Begin makes the files of the bridge equal to the other hosts'. It fails where another host has the bridge.
	Begin() error
	// Refresh brings the list of people up to date, which any host may change. It fails where another host has the
	// bridge by now.
	Refresh() error
	// Wrote makes durable for the other hosts that a file of the bridge ends with data, from an offset on. It fails
	// where another host has the bridge by now: then nothing may rest on it.
	Wrote(file string, data []byte, at int64) error
	// Room returns the file of a room.
	Room(room string) string
	// Post is chat.Post.
	Post(room string, line []byte, from chat.Mark) (at, to int64, err error)
}

// alone is the Shared of a home that no other host shares.
type alone string

func (alone) Begin() error                      { return nil }
func (alone) Refresh() error                    { return nil }
func (alone) Wrote(string, []byte, int64) error { return nil }
func (home alone) Room(room string) string      { return chat.Path(string(home), room) }
func (home alone) Post(room string, line []byte, from chat.Mark) (at, to int64, err error) {
	return chat.Post(home.Room(room), line, from)
}
