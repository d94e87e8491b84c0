package telegram

import (
	"slices"
	"strconv"
	"strings"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// keyOf is the key of a peer: the id of a chat, with a topic behind a point where
// the topic has a room of its own.
func keyOf(chat string, topic int) string {
	if topic == 0 {
		return chat
	}
	return chat + "." + strconv.Itoa(topic)
}

// parseKey is the way back.
func parseKey(key string) (chat string, topic int, ok bool) {
	chat, number, has := strings.Cut(key, ".")
	if _, err := strconv.ParseInt(chat, 10, 64); err != nil {
		return "", 0, false
	}
	if !has {
		return chat, 0, true
	}
	topic, err := strconv.Atoi(number)
	return chat, topic, err == nil && topic > 0
}

// route is the room that the configuration gives a chat or a topic, under the
// chat's first id or the one it has now.
func (s *session) route(chat string, topic int) (room string, ok bool) {
	ids := []string{s.memory.current(chat), chat}
	for _, id := range ids {
		for _, r := range s.now().Routes {
			if r.Chat == id && r.Topic == topic {
				return r.Room, true
			}
		}
	}
	return "", false
}

// peerOf is who hears what is answered to a message: its topic, if that has a room
// of its own, or else its chat.
func (s *session) peerOf(chat string, topic int, rules access.Rules) (key, room string) {
	if topic != 0 {
		if room, ok := s.route(chat, topic); ok {
			return keyOf(chat, topic), room
		}
	}
	return chat, s.roomOf(chat, rules)
}

// roomOf is a chat's room: the configuration's, or the one given along with the
// approval, or the default.
func (s *session) roomOf(id string, rules access.Rules) string {
	if room, ok := s.route(id, 0); ok {
		return room
	}
	private := !strings.HasPrefix(id, "-")
	room := rules.Room(id, private)
	switch {
	case room == "":
	case chat.ValidRoom(room):
		return room
	default: // a person may have edited the file
		s.log.Warn("the room of an approval cannot be one; the default is taken", "chat", id, "room", room)
	}
	return s.now().Room
}

// wanted is which peers there are to be, by key, and their rooms, when these are
// known: every listed group and channel, every listed person who has written to the
// bot, and the topics of these that have a route.
func (s *session) wanted(known []string) (map[string]string, error) {
	rules, err := s.policy.Rules()
	if err != nil {
		return nil, err
	}
	peers := map[string]string{}
	add := func(id string) {
		id = s.memory.canonical(id)
		peers[id] = s.roomOf(id, rules)
		for _, r := range s.now().Routes {
			if r.Topic != 0 && s.memory.canonical(r.Chat) == id {
				key, room := s.peerOf(id, r.Topic, rules)
				peers[key] = room
			}
		}
	}
	for _, c := range rules.Chats() {
		add(c.ID)
	}
	for _, u := range rules.Users() {
		written := func(key string) bool { return key == u.ID || strings.HasPrefix(key, u.ID+".") }
		if s.memory.hasAsked(u.ID) || slices.ContainsFunc(known, written) {
			add(u.ID)
		}
	}
	return peers, nil
}

// known lists the keys of the peers that have a place in a room.
func (s *session) known() ([]string, error) {
	keys, err := s.hub.Peers()
	return slices.DeleteFunc(keys, func(key string) bool { _, _, ok := parseKey(key); return !ok }), err
}

// listsOf is what the configuration allows, with groups under the ids by which the
// bridge knows them: it may list a supergroup by its new id, its old one, or both.
func listsOf(c Config, m *memory) access.Lists {
	l := c.lists()
	l.Chats = nil
	listed := map[string]bool{}
	for _, entry := range c.Chats {
		id, title, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if id = m.canonical(id); !listed[id] {
			listed[id] = true
			l.Chats = append(l.Chats, strings.TrimSpace(id+" "+title))
		}
	}
	return l
}

// migrated notes that a group has become a supergroup. Its peers keep their keys,
// its permission, the code that it was given, and its routes go on.
func (s *session) migrated(old, now int64) error {
	from, to := strconv.FormatInt(old, 10), strconv.FormatInt(now, 10)
	rules, err := s.policy.Rules()
	if err != nil {
		return err
	}
	first := s.memory.canonical(from)
	asked := s.memory.hasAsked(first) && !rules.Chat(to)
	if !rules.Chat(first) && !asked {
		return nil
	}
	if err := s.memory.move(from, to); err != nil {
		return err
	}
	if err := s.relist(); err != nil {
		return err
	}
	s.log.Info("a group has become a supergroup; its permission, or its code, goes on", "chat", from, "now", to)
	s.wake(s.memory.canonical(to))
	s.changed()
	return nil
}

// chatOf is where a peer is now, and its topic if it is one.
func (s *session) chatOf(p bridge.Peer) (id int64, topic int) {
	chat, topic, _ := parseKey(p.Key)
	id, _ = strconv.ParseInt(s.memory.current(chat), 10, 64)
	return id, topic
}
