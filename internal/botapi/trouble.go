package botapi

import (
	"slices"

	"github.com/go-telegram/bot/models"
)

// Block has u block the bot: writing to u is answered with 403 until Unblock.
func (s *Server) Block(u User) { s.bar(Chat{ID: u.ID}, "Forbidden: bot was blocked by the user") }

// Unblock undoes Block.
func (s *Server) Unblock(u User) { s.bar(Chat{ID: u.ID}, "") }

// Kick has somebody remove the bot from a group: it hears and writes nothing there until Invite.
func (s *Server) Kick(where Chat) { s.bar(where, "Forbidden: bot was kicked from the chat") }

// Invite undoes Kick.
func (s *Server) Invite(where Chat) { s.bar(where, "") }

// bar keeps the bot out of a chat, or lets it in again, and tells it.
func (s *Server) bar(where Chat, why string) {
	defer s.lock()()
	c := s.chat(where)
	out := models.ChatMember{Type: models.ChatMemberTypeBanned, Banned: &models.ChatMemberBanned{Status: models.ChatMemberTypeBanned, User: &s.bot}}
	in := models.ChatMember{Type: models.ChatMemberTypeMember, Member: &models.ChatMemberMember{Status: models.ChatMemberTypeMember, User: &s.bot}}
	change := models.ChatMemberUpdated{Chat: c.info, From: person(someone(c)), Date: s.date(), OldChatMember: in, NewChatMember: out}
	if c.barred = why; why == "" {
		change.OldChatMember, change.NewChatMember = out, in
	}
	s.push(models.Update{MyChatMember: &change})
}

// Migrate upgrades a basic group to a supergroup, which it returns. Writing to
// the group's old id is answered with 400 and migrate_to_chat_id. Both chats get
// the service message that says so.
func (s *Server) Migrate(where Chat) Chat {
	defer s.lock()()
	old := s.chat(where)
	info := models.Chat{ID: s.superID(), Type: models.ChatTypeSupergroup, Title: old.info.Title}
	c := s.open(info)
	c.members = old.members
	s.append(old, 0, someone(old), models.Message{MigrateToChatID: info.ID})
	old.moved = info.ID
	s.append(c, 0, someone(c), models.Message{MigrateFromChatID: where.ID})
	return Chat{ID: info.ID}
}

// CloseTopic closes a topic: the bot may not write there until ReopenTopic.
func (s *Server) CloseTopic(where Chat) {
	s.setClosed(where, true, models.Message{ForumTopicClosed: &models.ForumTopicClosed{}})
}

// ReopenTopic undoes CloseTopic.
func (s *Server) ReopenTopic(where Chat) {
	s.setClosed(where, false, models.Message{ForumTopicReopened: &models.ForumTopicReopened{}})
}

func (s *Server) setClosed(where Chat, closed bool, m models.Message) {
	defer s.lock()()
	c := s.chat(where)
	c.topics[where.Thread].closed = closed
	s.append(c, where.Thread, someone(c), m)
}

// DeleteTopic removes a topic with its messages. The bot is not told.
func (s *Server) DeleteTopic(where Chat) {
	defer s.lock()()
	c := s.chat(where)
	delete(c.topics, where.Thread)
	c.messages = slices.DeleteFunc(c.messages, func(m *models.Message) bool { return m.MessageThreadID == where.Thread })
}
