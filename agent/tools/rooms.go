package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lethe/chat"
)

// Rooms serves JOIN and LEAVE, and names the rooms that can be read. It is used beside the identity's own goroutine.
type Rooms interface {
	// Join subscribes to a room and returns a text about it.
	Join(room string) (string, error)
	// Leave ends a subscription.
	Leave(room string) error
	// Joined names the rooms that were subscribed to when the call began.
	Joined() []string
}

// maxMessage bounds what one SAY may post, in bytes. Bridges split further.
const maxMessage = 64 << 10

// roomTools are SAY, JOIN, LEAVE and WAIT.
func (s *Set) roomTools() []Tool {
	return []Tool{
		newTool("SAY", sayArgs.post),
		runTool("JOIN", func(_ context.Context, _ Call, a roomArgs) (Result, error) {
			return s.inRoom("join", a.Room, s.Rooms.Join)
		}),
		runTool("LEAVE", func(_ context.Context, _ Call, a roomArgs) (Result, error) {
			return s.inRoom("leave", a.Room, func(room string) (string, error) {
				return "left room " + room + ". Its lines are no longer heard; JOIN goes on where you left", s.Rooms.Leave(room)
			})
		}),
		newTool("WAIT", func(a waitArgs) (Effect, error) { return a.question(time.Now(), s.Zone) }),
	}
}

type roomArgs struct {
	Room string `json:"room"`
}

type sayArgs struct {
	Room    string `json:"room"`
	Message string `json:"message"`
	Files   loose  `json:"files,omitempty" about:"paths, one a line"`
}

func (a sayArgs) post() (Effect, error) {
	room, err := roomNamed(a.Room)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(a.Message) == "":
		return nil, errors.New("message is empty: nothing was said")
	case len(a.Message) > maxMessage:
		return nil, fmt.Errorf("message of %d bytes is too long, at most %d: nothing was said. Write it to a "+
			"file and say where it is, or say it in parts", len(a.Message), maxMessage)
	}
	return Post{room, a.Message, string(a.Files)}, nil
}

// inRoom does something in a room and shows the text that do returns.
func (s *Set) inRoom(verb, name string, do func(room string) (string, error)) (Result, error) {
	room, err := roomNamed(name)
	if err != nil {
		return Result{}, err
	}
	said, err := do(room)
	if err != nil {
		return Result{}, fmt.Errorf("%s room %s: %w. %s", verb, room, err, ListRooms(s.joined()))
	}
	return textf("%s", said), nil
}

// roomNamed reads the name of a room as models write it: dev, #dev, rooms/dev.md.
func roomNamed(s string) (string, error) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "#")
	if inner, ok := strings.CutPrefix(s, "rooms/"); ok {
		s = strings.TrimSuffix(inner, ".md")
	}
	if !chat.ValidRoom(s) {
		return "", fmt.Errorf("room %s is not a valid name: 1 to 64 of a-z, 0-9, _ and -, beginning with a letter "+
			"or digit", quote(s))
	}
	return s, nil
}

// ListRooms tells an identity which rooms it is in.
func ListRooms(joined []string) string {
	if len(joined) == 0 {
		return "You are in no room"
	}
	return "You are in: " + strings.Join(joined, ", ")
}
