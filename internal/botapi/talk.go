package botapi

import (
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

// Say has u write a text and returns the message's id.
func (s *Server) Say(where Chat, u models.User, text string) int {
	return s.Send(where, u, models.Message{Text: text})
}

// Reply is Say as a reply to a message of the same chat.
func (s *Server) Reply(where Chat, u models.User, to int, text string) int {
	return s.Send(where, u, models.Message{Text: text, ReplyToMessage: &models.Message{ID: to}})
}

// Send has u send a message of any content: what m does not say (id, date, chat,
// sender, topic) is filled in. Of ReplyToMessage only the ID is read.
func (s *Server) Send(where Chat, u models.User, m models.Message) int {
	defer s.lock()()
	c := s.chat(where)
	if m.ReplyToMessage != nil {
		m.ReplyToMessage = c.find(m.ReplyToMessage.ID)
	}
	return s.append(c, where.Thread, u, m).ID
}

// Edit gives a message a new text.
func (s *Server) Edit(where Chat, id int, text string) {
	defer s.lock()()
	c := s.chat(where)
	i := slices.IndexFunc(c.messages, func(m *models.Message) bool { return m.ID == id })
	m := *c.messages[i]
	m.Text, m.EditDate = text, date()
	c.messages[i] = &m
	s.deliver(c, &m, "edited_")
}

// append adds a message to a chat and tells the bot, unless u is the bot. s.mu
// is held.
func (s *Server) append(c *chat, thread int, u models.User, m models.Message) *models.Message {
	c.last++
	if m.ForumTopicCreated != nil {
		thread = c.last
	}
	m.ID, m.Date, m.Chat, m.MessageThreadID = c.last, date(), c.info, thread
	if u != nobody {
		m.From = &u
	}
	c.thread(&m, thread)
	c.messages = append(c.messages, &m)
	if u != s.bot {
		s.deliver(c, &m, "")
	}
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
		if m.ReplyToMessage == nil {
			m.ReplyToMessage = c.topics[thread]
		}
	case m.ReplyToMessage != nil && c.info.Type == models.ChatTypeSupergroup && !c.info.IsForum:
		m.MessageThreadID = m.ReplyToMessage.MessageThreadID
		if m.MessageThreadID == 0 {
			m.MessageThreadID = m.ReplyToMessage.ID
		}
	}
}

// deliver makes an update of a message, if the bot may see it. s.mu is held.
func (s *Server) deliver(c *chat, m *models.Message, edited string) {
	kind := "message"
	if c.info.Type == models.ChatTypeChannel {
		kind = "channel_post"
	}
	if !c.barred {
		s.push(edited+kind, m)
	}
}

// date is now, as Telegram writes it.
func date() int { return int(time.Now().Unix()) }
