package botapi

import (
	"fmt"
	"slices"

	"github.com/go-telegram/bot/models"
)

// Block has u block the bot: writing to u is answered with 403 until Unblock.
func (s *Server) Block(u User) {
	defer s.lock()()
	c := s.chat(Chat{ID: u.ID})
	s.membership(c, u, models.ChatMemberTypeMember, models.ChatMemberTypeBanned)
	c.barred = "Forbidden: bot was blocked by the user"
}

// Unblock undoes Block.
func (s *Server) Unblock(u User) {
	defer s.lock()()
	c := s.chat(Chat{ID: u.ID})
	c.barred = ""
	s.membership(c, u, models.ChatMemberTypeBanned, models.ChatMemberTypeMember)
}

// Kick has somebody remove the bot from a group: it hears and writes nothing
// there until Invite.
func (s *Server) Kick(where Chat) {
	defer s.lock()()
	c := s.chat(where)
	s.membership(c, someone(c), models.ChatMemberTypeMember, models.ChatMemberTypeBanned)
	c.barred = fmt.Sprintf("Forbidden: bot was kicked from the %s chat", c.info.Type)
}

// Invite undoes Kick.
func (s *Server) Invite(where Chat) {
	defer s.lock()()
	c := s.chat(where)
	c.barred = ""
	s.membership(c, someone(c), models.ChatMemberTypeBanned, models.ChatMemberTypeMember)
}

// membership is the update that tells the bot what it is now in a chat.
func (s *Server) membership(c *chat, by User, was, is models.ChatMemberType) {
	s.push(models.Update{MyChatMember: &models.ChatMemberUpdated{
		Chat: c.info, From: person(by), Date: s.date(), OldChatMember: s.member(was), NewChatMember: s.member(is),
	}})
}

// member is the bot as member of a chat.
func (s *Server) member(status models.ChatMemberType) models.ChatMember {
	m := models.ChatMember{Type: status}
	if status == models.ChatMemberTypeBanned {
		m.Banned = &models.ChatMemberBanned{Status: status, User: &s.bot}
	} else {
		m.Member = &models.ChatMemberMember{Status: status, User: &s.bot}
	}
	return m
}

// Migrate upgrades a basic group to a supergroup, which it returns. Writing to
// the group's old id is answered with 400 and migrate_to_chat_id. Both chats get
// the service message that says so.
func (s *Server) Migrate(where Chat) Chat {
	defer s.lock()()
	old := s.chat(where)
	if old.info.Type != models.ChatTypeGroup || old.moved != 0 {
		panic("botapi: only a basic group migrates, and once")
	}
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
	if where.Thread == 0 {
		panic("botapi: only a topic is closed")
	}
	c.topics[where.Thread].closed = closed
	s.append(c, where.Thread, someone(c), m)
}

// DeleteTopic removes a topic with its messages. The bot is not told.
func (s *Server) DeleteTopic(where Chat) {
	defer s.lock()()
	c := s.chat(where)
	if where.Thread == 0 {
		panic("botapi: only a topic is deleted")
	}
	delete(c.topics, where.Thread)
	c.messages = slices.DeleteFunc(c.messages, func(m *models.Message) bool { return m.MessageThreadID == where.Thread })
}

// ResumeAt makes id the id of the next update, wherever the bot's offset is: after
// a week without updates Telegram chooses the next id at random. All updates must
// be confirmed; see Pending.
func (s *Server) ResumeAt(id int64) {
	defer s.lock()()
	if len(s.updates.pending) > 0 {
		panic("botapi: updates are waiting")
	}
	s.updates.next, s.updates.confirmed = id, 0
}
