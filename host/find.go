package host

import (
	"fmt"
	"slices"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/config"
)

// SeveralError says that there are several identities and none is the default.
type SeveralError struct {
	Names   []string
	Default string // default_identity, which is none of them
}

func (e *SeveralError) Error() string {
	what := fmt.Sprintf("there are %d identities, and none is the default", len(e.Names))
	if e.Default != "" {
		what = fmt.Sprintf("default_identity is %s, which is none of the %d identities", e.Default, len(e.Names))
	}
	return what + ": " + strings.Join(e.Names, ", ")
}

// Default is the identity that is meant where none is named: the one of the configuration, or
// the one named lethe, or the only one, whatever children they have. Its error is
// agent.ErrNotFound or a *SeveralError.
func Default(home agent.Home, settings config.Settings) (agent.Identity, error) {
	all, err := Grown(home)
	if err != nil {
		return agent.Identity{}, err
	}
	for _, name := range []string{settings.DefaultIdentity, config.DefaultName} {
		for _, id := range all {
			if id.Name == name {
				return id, nil
			}
		}
	}
	all = slices.DeleteFunc(all, settings.Reviewer.Is)
	switch len(all) {
	case 0:
		return agent.Identity{}, fmt.Errorf("find the default identity: %w", agent.ErrNotFound)
	case 1:
		return all[0], nil
	}
	several := &SeveralError{Default: settings.DefaultIdentity}
	for _, id := range all {
		several.Names = append(several.Names, id.Name)
	}
	return agent.Identity{}, several
}

// Grown are the identities of a home that are no children.
func Grown(home agent.Home) ([]agent.Identity, error) {
	all, err := home.List()
	return slices.DeleteFunc(all, agent.Identity.IsChild), err
}

// RoomOf is the room to talk to an identity in.
func RoomOf(id agent.Identity) string {
	rooms, err := chat.Rooms(id.Subs())
	if !id.IsChild() { // it hears its own children, too
		rooms = slices.DeleteFunc(rooms, func(room string) bool { return strings.HasPrefix(room, chat.TaskPrefix) })
	}
	if err != nil || len(rooms) == 0 || slices.Contains(rooms, config.DefaultRoom) {
		return config.DefaultRoom
	}
	return rooms[0]
}

// LivedOnline reports whether an identity has used a real model: the offline one must not
// speak in its name unasked.
func LivedOnline(id agent.Identity, store *blobs.Store) bool {
	if id.Self == "" {
		return false
	}
	s, err := agent.Fold(id, store)
	return err == nil && s.Stable.Params.Endpoint != "" && s.Stable.Params.Endpoint != "offline"
}
