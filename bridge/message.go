package bridge

import (
	"encoding/json"
	"time"
)

// Message is one message of the other side on its way into a room.
type Message struct {
	// ID names the message on the other side, for ever: a repeated delivery has
	// the same one.
	ID string
	// Peer is the Key of the peer that it came from, which hears the answers.
	// Empty for a transport that only takes in.
	Peer string
	Room string
	User string    // for the tag; a name that is not valid goes through chat.CleanName
	Key  string    // whom it counts for in the flood limits: a user id
	At   time.Time // for the tag
	Text string    // a blank one is passed over
	// Note is the transport's own, JSON, small: it comes back in an Origin.
	Note json.RawMessage
}

// Delayed says that a flood limit began to hold back the lines of a user in a
// room.
type Delayed struct {
	Key, Peer, Room string
	Waiting         int           // lines of this user that wait for this room
	Next            time.Duration // until the first of them is posted, about
}

// Origin is a line that this bridge posted.
type Origin struct {
	Message        // without its Text
	From, To int64 // the bytes of the room that the line had when it was posted
}
