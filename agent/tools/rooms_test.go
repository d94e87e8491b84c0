//go:build unix

package tools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

func TestRooms(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"You are in no room"}, "LEAVE", "room", "dev")
	lethetest.Words(t, id.ok("JOIN", "room", "dev"), "last 20 of 300")
	id.gives("tools.Post{dev  two\nlines  }", "SAY", "room", "#dev", "message", " two\nlines ")
	id.fails([]string{"not in room ops", "You are in: dev"}, "LEAVE", "room", "ops")
	id.fails([]string{"not a valid name"}, "JOIN", "room", "../secret")
	id.fails([]string{"not a valid name"}, "JOIN", "room", "Dev Room")
	id.fails([]string{"message is empty"}, "SAY", "room", "dev", "message", " \n")
	id.fails([]string{"too long", "nothing was said"}, "SAY", "room", "dev", "message", strings.Repeat("x", maxMessage+1))
	lethetest.Words(t, id.ok("LEAVE", "room", "rooms/dev.md"), "left room dev")
	id.fails([]string{"not in room dev"}, "LEAVE", "room", "dev")
	id.rooms.in, id.rooms.err = []string{"dev"}, errors.New("disk full")
	id.fails([]string{"disk full"}, "LEAVE", "room", "dev")
}

func TestRoomsCanBeReadOnlyWhileJoined(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"not one of yours", "JOIN"}, "READ_FILE", "path", "rooms/dev.md")
	id.ok("JOIN", "room", "dev")
	lethetest.Words(t, id.ok("READ_FILE", "path", "rooms/dev.md"), "] hello\n")
	lethetest.Words(t, id.ok("LIST", "path", "rooms"), "rooms/dev.md  38 bytes")
	id.fails([]string{"use SAY"}, "WRITE_FILE", "path", "rooms/dev.md", "content", "x")
	id.fails([]string{"use SAY"}, "EDIT_FILE", "path", "rooms/dev.md", "old", "hello", "new", "x")
	// Even if the agent were told that it is in a room with such a name.
	id.rooms.in = append(id.rooms.in, "../config", "../chats/private")
	for _, path := range []string{"rooms/private.md", "rooms/../config.toml", "rooms/../config", "rooms/../chats/private.md"} {
		text := id.fails(nil, "READ_FILE", "path", path)
		if strings.Contains(text, "SECRET") {
			t.Errorf("%s: %s", path, text)
		}
	}
	id.rooms.in = append(id.rooms.in, "odd")
	odd := filepath.Join(id.home, "chats/odd.md")
	lethetest.Must(t, os.Symlink("private.md", odd))
	if err := os.Lchown(odd, 65534, 65534); err != nil {
		t.Log("only root can make a link of another user")
	} else if text := id.fails([]string{"another user made this link"}, "READ_FILE", "path",
		"rooms/odd.md"); strings.Contains(text, "SECRET") {
		t.Errorf("the link of another user is followed: %s", text)
	}
	id.file("rooms/mine.md", "a file of the workspace\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "./rooms/mine.md"), "a file of the workspace")
	lethetest.Words(t, id.ok("READ_FILE", "path", filepath.Join(id.work, "rooms/mine.md")), "a file of the workspace")
}
