package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
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

var roomName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func checkRoom(room string) error {
	if !roomName.MatchString(room) {
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

func parseRoom(args []byte) (string, error) {
	var a struct {
		Room string `json:"room"`
	}
	if err := Decode(args, &a); err != nil {
		return "", err
	}
	room := plainRoom(a.Room)
	return room, checkRoom(room)
}

func (s *Set) roomTools() []Tool {
	return []Tool{
		{Name: "SAY", Description: describe("say"), Schema: saySchema, Run: s.say},
		{Name: "JOIN", Description: describe("join"), Schema: roomSchema, Run: s.join},
		{Name: "LEAVE", Description: describe("leave"), Schema: roomSchema, Run: s.leave},
	}
}

var errNoRooms = errors.New("there are no rooms here")

func (s *Set) say(ctx context.Context, c Call) Result {
	room, message, err := ParseSay(c.Args)
	if err == nil && s.rooms == nil {
		err = errNoRooms
	}
	if err != nil {
		return failure(err)
	}
	said, err := s.rooms.Say(ctx, c.ID, room, message)
	if err != nil {
		return failf("say in room %s: %v. %s.", room, err, listRooms(s.files.joined()))
	}
	return textf("%s", said)
}

func (s *Set) join(_ context.Context, c Call) Result {
	room, err := parseRoom(c.Args)
	if err == nil && s.rooms == nil {
		err = errNoRooms
	}
	if err != nil {
		return failure(err)
	}
	heard, err := s.rooms.Join(room)
	if err != nil {
		return failf("join room %s: %v. %s.", room, err, listRooms(s.files.joined()))
	}
	if heard == "" {
		heard = "joined room " + room
	}
	return textf("%s", heard)
}

func (s *Set) leave(_ context.Context, c Call) Result {
	room, err := parseRoom(c.Args)
	if err == nil && s.rooms == nil {
		err = errNoRooms
	}
	if err != nil {
		return failure(err)
	}
	if err := s.rooms.Leave(room); err != nil {
		return failf("leave room %s: %v. %s.", room, err, listRooms(s.files.joined()))
	}
	return textf("left room %s. Its lines are no longer heard; JOIN goes on where you left", room)
}

func listRooms(joined []string) string {
	if len(joined) == 0 {
		return "You are in no room"
	}
	return "You are in: " + strings.Join(joined, ", ")
}
