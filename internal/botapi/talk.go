package botapi

import (
	"encoding/json"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// Say has u write a text and returns the message's id.
func (s *Server) Say(where Chat, u User, text string) int {
	return s.Send(where, u, models.Message{Text: text})
}

// Reply is Say as a reply to a message of the same chat.
func (s *Server) Reply(where Chat, u User, to int, text string) int {
	return s.Send(where, u, models.Message{Text: text, ReplyToMessage: &models.Message{ID: to}})
}

// Send has u send a message of any content: what m does not say (id, date, chat,
// sender, topic) is filled in. Of ReplyToMessage only the ID is read.
func (s *Server) Send(where Chat, u User, m models.Message) int {
	defer s.lock()()
	return s.append(s.chat(where), where.Thread, u, m).ID
}

// Post writes a text in a channel, in the channel's name.
func (s *Server) Post(channel Chat, text string) int {
	defer s.lock()()
	c := s.chat(channel)
	info := c.info
	return s.append(c, 0, User{}, models.Message{Text: text, SenderChat: &info}).ID
}

// Edit gives a message a new text.
func (s *Server) Edit(where Chat, id int, text string) {
	defer s.lock()()
	c := s.chat(where)
	old := c.find(id)
	m := *old
	m.Text, m.EditDate = text, s.date()
	c.replace(&m)
	s.deliver(c, &m, true)
}

// Update puts any update into the bot's queue, if it has asked for its kind.
func (s *Server) Update(u models.Update) {
	defer s.lock()()
	s.push(u)
}

// RawUpdate puts an update into the bot's queue that the types of the client's library need not
// know: {"update_id": …, kind: body}.
func (s *Server) RawUpdate(kind, body string) {
	defer s.lock()()
	s.pushRaw(kind, json.RawMessage(body))
}

// append adds a message to a chat and tells the bot, unless u is the bot. s.mu
// is held.
func (s *Server) append(c *chat, thread int, u User, m models.Message) *models.Message {
	c.last++
	if m.ForumTopicCreated != nil {
		thread = c.last
	}
	m.ID, m.Date, m.Chat, m.MessageThreadID = c.last, s.date(), c.info, thread
	switch {
	case u.ID == s.bot.ID:
		c.mine[m.ID] = true
		if m.From = &s.bot; c.info.Type == models.ChatTypeChannel {
			info := c.info
			m.From, m.SenderChat = nil, &info
		}
	case u.ID != 0:
		p := person(u)
		m.From = &p
	}
	if m.ReplyToMessage != nil {
		m.ReplyToMessage = c.quoted(m.ReplyToMessage.ID)
	}
	c.thread(&m, thread)
	c.messages = append(c.messages, &m)
	if u.ID != s.bot.ID {
		s.deliver(c, &m, false)
	}
	return &m
}

// quoted is a message as a reply shows it: without what it replied to itself.
func (c *chat) quoted(id int) *models.Message {
	old := c.find(id)
	if old == nil {
		return nil
	}
	m := *old
	m.ReplyToMessage = nil
	return &m
}

// thread sets what Telegram sets in threads. A message in a topic that replies to
// nothing comes as a reply to the topic's creation; and in a supergroup without
// topics a chain of replies has a thread too, named after its first message.
// Both are traps for a bot that takes them for a person's reply or for a topic.
func (c *chat) thread(m *models.Message, thread int) {
	switch {
	case thread != 0:
		m.IsTopicMessage = true
		if t := c.topics[thread]; m.ReplyToMessage == nil && t != nil {
			m.ReplyToMessage = t.created
		}
	case m.ReplyToMessage != nil && c.info.Type == models.ChatTypeSupergroup && !c.info.IsForum:
		m.MessageThreadID = m.ReplyToMessage.MessageThreadID
		if m.MessageThreadID == 0 {
			m.MessageThreadID = m.ReplyToMessage.ID
		}
	}
}

// deliver makes an update of a message, if the bot may see it. s.mu is held.
func (s *Server) deliver(c *chat, m *models.Message, edited bool) {
	kind := "message"
	if c.info.Type == models.ChatTypeChannel {
		kind = "channel_post"
	}
	if edited {
		kind = "edited_" + kind
	}
	if c.barred == "" {
		s.pushRaw(kind, encode(m))
	}
}

// units is the length of a text in UTF-16 code units, in which Telegram counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// date is now, as Telegram writes it. s.mu is held or not needed.
func (s *Server) date() int { return int(s.opts.Now().Unix()) }
