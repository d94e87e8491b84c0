package telegram

import (
	"strings"

	"lethe/agent/home"
)

// everyPrivate stands in Settings.Roles for all private chats that are not named there.
const everyPrivate = "private"

// isPrivate reports whether a peer is a person.
func isPrivate(peer string) bool { return !strings.HasPrefix(peer, "-") }

// role returns the role of the life that answers a peer, or "".
func (s *session) role(peer string) string {
	id, topic := parseKey(peer)
	other := keyOf(s.chats.current(id), topic)
	if isPrivate(peer) {
		other = everyPrivate
	}
	role, isNamed := s.cfg.Roles[peer]
	if !isNamed {
		role = s.cfg.Roles[other]
	}
	return role
}

// hire sees to it that a life is there for a chat with a role.
func (s *session) hire(at spot) {
	work := home.Hired{Role: s.role(at.peer), For: home.Home{Dir: s.cfg.Home}.Readers(at.room)}
	if work.Role == "" || s.hired[at.peer] {
		return
	}
	name := strings.ToLower(work.Role + "-" + strings.Join(work.For, "-"))
	if !at.private() || !home.ValidName(name) {
		name = work.Role + "-" + strings.ReplaceAll(at.peer, ".", "-")
	}
	err := s.cfg.Hire(name, at.room, work)
	s.hub.LocalTrouble("hire "+work.Role+" for chat "+at.peer, err)
	s.hired[at.peer] = err == nil
}
