// Package terminal is the bridge between a person's terminal, or a pipe, and a
// room.
//
// On a terminal, Screen is a full-screen chat:
//
//	err := terminal.Screen(ctx, terminal.Config{Home: home, Room: "dev", User: "ada", In: os.Stdin, Out: os.Stdout})
//
// In a pipe, Plain sends each line of its input as a message and prints what
// the agents say.
//
// Both are ordinary bridges: they append lines to the room's file and read it,
// and see agents only through that file and the two files of agent/status.
// They can start, stop and crash at any time without an agent noticing.
//
// What the package guarantees: messages are appended in the order they were
// typed, each as one line; a message whose append failed is reported and given
// back, never dropped; nothing from a room, a status file or a reply reaches
// the terminal before control characters are taken out of it; and nothing
// happens while nothing happens: the screen is drawn when a file or a key
// changed something, and animates only while an agent works.
package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"lethe/blobs"
	"lethe/chat"
)

// Config names the room, the person who joins it, and the terminal or the pipe.
type Config struct {
	Home string // the directory that holds all state
	Room string // "dev" when empty
	User string // the name that signs each line that is typed, made valid; "user" when empty

	// Self is the name or hash of the identity the status line follows. Empty
	// means any that hears the room.
	Self string

	// Start is the command that starts an identity that hears the room; "lethe
	// run" when empty.
	Start string

	// Store has the texts of the acts that Screen tells between the lines. Without it, Screen tells of no acts.
	Store *blobs.Store

	// Afar is a home with copies of the identities that other hosts have, and AfarStore has their texts; "" if there are
	// none.
	Afar      string
	AfarStore *blobs.Store

	// Run runs a command of the program, such as "context", "ada", and returns its output and its error as text.
	// Any goroutine may call it. Screen shows the text between the lines.
	Run func(args ...string) string

	// Banner is shown once under the history when the screen opens.
	Banner string

	In  io.Reader
	Out io.Writer
	Err io.Writer // notices of Plain

	// Files are looked at every Poll without a file event; 2 s when 0.
	Poll time.Duration

	// The rest is for Plain.

	// Order returns the file with the lines of a room in the order in which identities hear them; nil: the file that
	// lines are appended to.
	Order func(room string) string
	// JSON writes one object per message: {"room","agent","name","at","text"}.
	JSON bool
	// Timeout bounds the wait for answers once the input has ended; 0 waits without end.
	Timeout time.Duration
}

// errTimeout ends a wait of Timeout for an answer.
var errTimeout = errors.New("wait for an answer: timed out")

// check refuses a room that cannot be one; as a path it could be any file.
func (c Config) check() error {
	if !chat.ValidRoom(c.Room) {
		return fmt.Errorf("join room %q: a name is a-z, 0-9, _ and -, at most 64 of them", c.Room)
	}
	return nil
}

func (c Config) defaults() Config {
	c.Room = cmp.Or(c.Room, "dev")
	c.Start = cmp.Or(c.Start, "lethe run")
	c.User = chat.CleanName(cmp.Or(c.User, "user"))
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	return c
}
