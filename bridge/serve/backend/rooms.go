package backend

import (
	"fmt"

	"lethe/chat"
	"lethe/home"
	"lethe/report"
)

// MakeRoom makes a room, if there is none of that name, and has these identities hear it.
func (b *Backend) MakeRoom(name string, hear ...home.Identity) error {
	if !chat.ValidRoom(name) {
		return invalidRoom(name)
	}
	for _, id := range hear {
		if err := b.Subscribe(id, name); err != nil {
			return err
		}
	}
	_, err := chat.Make(chat.Path(b.Dir, name))
	return err
}

func invalidRoom(name string) error {
	err := fmt.Errorf("%q is not the name of a room", name)
	return &report.InvalidError{Err: err, Advice: "up to 64 of a-z, 0-9, - and _, a letter or digit first"}
}
