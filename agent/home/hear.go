package home

import (
	"errors"
	"fmt"

	"lethe/chat"
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
		return fmt.Errorf("have %s hear room %s: %w; name another room", id.Name, room, ErrHear)
	}
	return nil
}

// Subscribe has an identity hear a room, if it may.
func (h Home) Subscribe(id Identity, room string) error {
	if err := id.MayHear(room); err != nil {
		return err
	}
	return chat.Subscribe(id.Subs(), h.Chats(), room)
}
