package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lethe/internal/lazy"
)

// Rooms is what SAY, JOIN and LEAVE do. The agent implements it.
type Rooms interface {
	// Say appends message to a room, exactly once for a call id, and tells what
	// became of it.
	Say(ctx context.Context, call, room, message string) (string, error)
	// Join subscribes to a room and says what there is to hear.
	Join(room string) (string, error)
	// Leave ends a subscription.
	Leave(room string) error
	// Wait asks people, exactly once for a call id, or withdraws a question, and tells what became of it.
	Wait(call, withdraw string) (string, error)
	// Joined names the rooms that were subscribed to when the call began. Any goroutine may ask.
	Joined() []string
}

// maxMessage bounds what one SAY may post, in bytes. Bridges split further.
const maxMessage = 64 << 10

// roomTools are SAY, JOIN, LEAVE and WAIT.
func (f *files) roomTools() []Tool {
	return []Tool{
		immediate(newTool("SAY", f.say)),
		immediate(newTool("JOIN", func(_ context.Context, _ Call, a roomArgs) (Result, error) {
			return f.inRoom("join", a.Room, f.rooms.Join)
		})),
		immediate(newTool("LEAVE", func(_ context.Context, _ Call, a roomArgs) (Result, error) {
			return f.inRoom("leave", a.Room, func(room string) (string, error) {
				return "left room " + room + ". Its lines are no longer heard; JOIN goes on where you left", f.rooms.Leave(room)
			})
		})),
		immediate(newTool("WAIT", f.wait)),
	}
}

type roomArgs struct {
	Room string `json:"room"`
}

type sayArgs struct {
	Room    string `json:"room"`
	Message string `json:"message"`
}

// ParseSay decodes the arguments of SAY exactly as the tool does. The log must
// hold the line that a SAY will post before the tool runs.
func ParseSay(args []byte) (room, message string, err error) {
	var a sayArgs
	if err := Decode(args, &a); err != nil {
		return "", "", err
	}
	return a.check()
}

func (a sayArgs) check() (room, message string, err error) {
	room, err = roomNamed(a.Room)
	switch {
	case err != nil:
		return "", "", err
	case strings.TrimSpace(a.Message) == "":
		return "", "", errors.New("message is empty: nothing was said")
	case len(a.Message) > maxMessage:
		return "", "", fmt.Errorf("message of %d bytes is too long, at most %d: nothing was said. Write it to a file and say where it is, or say it in parts", len(a.Message), maxMessage)
	}
	return room, a.Message, nil
}

func (f *files) say(ctx context.Context, c Call, a sayArgs) (Result, error) {
	room, message, err := a.check()
	if err != nil {
		return Result{}, err
	}
	return f.inRoom("say in", room, func(string) (string, error) { return f.rooms.Say(ctx, c.ID, room, message) })
}

// inRoom does something in a room and shows what that says.
func (f *files) inRoom(verb, name string, do func(room string) (string, error)) (Result, error) {
	room, err := roomNamed(name)
	if err != nil {
		return Result{}, err
	}
	said, err := do(room)
	if err != nil {
		return Result{}, fmt.Errorf("%s room %s: %w. %s", verb, room, err, listRooms(f.joined()))
	}
	return textf("%s", said), nil
}

var roomName = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// roomNamed accepts the ways in which models write a room: dev, #dev, rooms/dev.md.
func roomNamed(s string) (string, error) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "#")
	if inner, ok := strings.CutPrefix(s, "rooms/"); ok {
		s = strings.TrimSuffix(inner, ".md")
	}
	if !roomName().MatchString(s) {
		return "", fmt.Errorf("room %s is not a valid name: 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit", quote(s))
	}
	return s, nil
}

func listRooms(joined []string) string {
	if len(joined) == 0 {
		return "You are in no room"
	}
	return "You are in: " + strings.Join(joined, ", ")
}
