package telegram

import (
	"strings"

	"lethe/agent/home"
)

// everyPrivate stands in Settings.Roles for all private chats that are not named there.
const everyPrivate = "private"

// role returns the role of the life that answers a peer, or "".
func (s *session) role(peer string) string {
	role, isNamed := s.cfg.Roles[peer]
	if !isNamed && !strings.HasPrefix(peer, "-") {
		role = s.cfg.Roles[everyPrivate]
	}
	return role
}

// hire sees to it that a life is there for a chat with a role.
func (s *session) hire(at spot) {
	work := home.Hired{Role: s.role(at.peer), For: home.Home{Dir: s.cfg.Home}.Readers(at.room)}
	if work.Role == "" || s.hired[at.peer] {
		return
	}
	err := s.cfg.Hire(at.room, work)
	s.hub.LocalTrouble("hire a life for chat "+at.peer, err)
	s.hired[at.peer] = err == nil
}
