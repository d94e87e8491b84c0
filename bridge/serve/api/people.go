package api

import (
	"fmt"
	"net/http"
	"slices"

	"lethe/agent/home"
	"lethe/bridge/serve/guard"
	"lethe/chat"
)

// What a person may not read looks to a token of the person's own as if it were not there.

func unknown(r *http.Request) error {
	return fmt.Errorf("find %s %.200s: %w", r.Method, r.URL.Path, home.ErrNotFound)
}

// identity finds the identity that {self} names.
func (s server) identity(r *http.Request) (home.Identity, error) {
	id, err := s.Identity(r)
	if guard.Person(r) == "" {
		return id, err
	}
	if err != nil || !s.tells(r, id.Self) {
		return home.Identity{}, unknown(r)
	}
	return id, nil
}

// tells reports whether whoever asks may read all that an identity has heard.
func (s server) tells(r *http.Request, self string) bool {
	person := guard.Person(r)
	return person == "" || s.Tells(s.Home.Identity(self, ""), person)
}

// find fails for a room that is not there.
func (s server) find(r *http.Request, room string) error {
	if !slices.Contains(chat.All(s.Dir), room) || !s.opens(r, room) {
		return fmt.Errorf("find room %q: %w", room, home.ErrNotFound)
	}
	return nil
}

// opens reports whether whoever asks may read a room. Notices are their person's alone.
func (s server) opens(r *http.Request, room string) bool {
	person := guard.Person(r)
	if person == "" || chat.ForNotices(room) {
		return person == "" || room == chat.NotifyRoom(person)
	}
	return s.Readers(room).Has(person)
}
