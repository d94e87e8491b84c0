package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
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
	// Joined names the rooms that are subscribed to.
	Joined() []string
}

// maxMessage bounds what one SAY may post, in bytes. Bridges split further.
const maxMessage = 64 << 10

var roomName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`) })

func checkRoom(room string) error {
	if !roomName().MatchString(room) {
		return fmt.Errorf("room %s is not a valid name: 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit", quote(room))
	}
	return nil
}

// ParseSay decodes the arguments of SAY exactly as the tool does. The log must
// hold the line that a SAY will post before the tool runs.
func ParseSay(args []byte) (room, message string, err error) {
	var a struct {
		Room    string `json:"room"`
		Message string `json:"message"`
	}
	if err := Decode(args, &a); err != nil {
		return "", "", err
	}
	room = plainRoom(a.Room)
	if err := checkRoom(room); err != nil {
		return "", "", err
	}
	if strings.TrimSpace(a.Message) == "" {
		return "", "", errors.New("message is empty: nothing was said")
	}
	if len(a.Message) > maxMessage {
		return "", "", fmt.Errorf("message of %d bytes is too long, at most %d: nothing was said. Write it to a file and say where it is, or say it in parts", len(a.Message), maxMessage)
	}
	return room, a.Message, nil
}

// plainRoom accepts the ways in which models write a room: #dev, rooms/dev.md.
func plainRoom(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "#")
	if inner, ok := strings.CutPrefix(s, "rooms/"); ok {
		s = strings.TrimSuffix(inner, ".md")
	}
	return s
}

// roomTools are SAY, JOIN and LEAVE.
func (f *files) roomTools() []Tool {
	return []Tool{
		{Name: "SAY", Description: describe("say"), Schema: json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","description":"name of the room, like dev"},"message":{"type":"string","description":"what to say"}},"required":["room","message"],"additionalProperties":false}`),
			Run: f.say},
		f.roomTool("JOIN", func(room string) (string, error) { return f.rooms.Join(room) }),
		f.roomTool("LEAVE", func(room string) (string, error) {
			return "left room " + room + ". Its lines are no longer heard; JOIN goes on where you left", f.rooms.Leave(room)
		}),
	}
}

// roomTool is a tool that takes a room and nothing else.
func (f *files) roomTool(name string, do func(room string) (string, error)) Tool {
	verb := strings.ToLower(name)
	run := func(_ context.Context, c Call) Result {
		var a struct {
			Room string `json:"room"`
		}
		if err := Decode(c.Args, &a); err != nil {
			return failure(err)
		}
		room := plainRoom(a.Room)
		if err := checkRoom(room); err != nil {
			return failure(err)
		}
		said, err := do(room)
		if err != nil {
			return failf("%s room %s: %v. %s.", verb, room, err, listRooms(f.joined()))
		}
		return textf("%s", said)
	}
	return Tool{Name: name, Description: describe(verb), Run: run, Schema: json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","description":"name of the room, like dev"}},"required":["room"],"additionalProperties":false}`)}
}

func (f *files) say(ctx context.Context, c Call) Result {
	room, message, err := ParseSay(c.Args)
	if err != nil {
		return failure(err)
	}
	said, err := f.rooms.Say(ctx, c.ID, room, message)
	if err != nil {
		return failf("say in room %s: %v. %s.", room, err, listRooms(f.joined()))
	}
	return textf("%s", said)
}

func listRooms(joined []string) string {
	if len(joined) == 0 {
		return "You are in no room"
	}
	return "You are in: " + strings.Join(joined, ", ")
}
