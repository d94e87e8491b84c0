package botapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// Say has u write a text and returns the message's id. Commands and mentions in
// it are marked as Telegram marks them.
func (s *Server) Say(where Chat, u User, text string) int {
	return s.Send(where, u, models.Message{Text: text, Entities: marks(text)})
}

// Reply is Say as a reply to a message of the same chat.
func (s *Server) Reply(where Chat, u User, to int, text string) int {
	return s.Send(where, u, models.Message{
		Text: text, Entities: marks(text), ReplyToMessage: &models.Message{ID: to},
	})
}

// Send has u send a message of any content: what m does not say (id, date, chat,
// sender, topic) is filled in. Of ReplyToMessage only the ID is read.
func (s *Server) Send(where Chat, u User, m models.Message) int {
	defer s.lock()()
	c := s.chat(where)
	if s.world.users[u.ID] != u {
		panic(fmt.Sprintf("botapi: no user %d", u.ID))
	}
	if c.moved != 0 {
		panic(fmt.Sprintf("botapi: group %d has become %d", where.ID, c.moved))
	}
	return s.append(c, where.Thread, u, m).ID
}

// Post writes a text in a channel, in the channel's name.
func (s *Server) Post(channel Chat, text string) int {
	defer s.lock()()
	c := s.chat(channel)
	if c.info.Type != models.ChatTypeChannel {
		panic("botapi: only a channel has posts")
	}
	info := c.info
	return s.append(c, 0, User{}, models.Message{Text: text, Entities: marks(text), SenderChat: &info}).ID
}

// Edit gives a message a new text.
func (s *Server) Edit(where Chat, id int, text string) {
	defer s.lock()()
	c := s.chat(where)
	old := c.find(id)
	if old == nil {
		panic(fmt.Sprintf("botapi: no message %d in chat %d", id, where.ID))
	}
	m := *old
	if media(old) {
		m.Caption, m.CaptionEntities = text, marks(text)
	} else {
		m.Text, m.Entities = text, marks(text)
	}
	m.EditDate = s.date()
	c.replace(&m)
	s.deliver(c, &m, true)
}

// media says whether a message carries media, whose text is its caption.
func media(m *models.Message) bool {
	return m.Photo != nil || m.Voice != nil || m.Document != nil || m.Video != nil || m.Audio != nil
}

// Delete removes a message. The bot is not told.
func (s *Server) Delete(where Chat, id int) {
	defer s.lock()()
	s.chat(where).remove(id)
}

// Update puts any update into the bot's queue and returns its id, which is the
// next one whatever u says; 0 when the bot has not asked for updates of its kind.
func (s *Server) Update(u models.Update) int64 {
	defer s.lock()()
	return s.push(u)
}

// RawUpdate puts an update into the bot's queue that the types of the client's
// library need not know: {"update_id": …, kind: body}. body is JSON. The id is
// that of Update.
func (s *Server) RawUpdate(kind, body string) int64 {
	defer s.lock()()
	if !json.Valid([]byte(body)) {
		panic("botapi: not JSON: " + body)
	}
	return s.pushRaw(kind, json.RawMessage(body))
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
	if c.barred != "" {
		return
	}
	var u models.Update
	switch post := c.info.Type == models.ChatTypeChannel; {
	case post && edited:
		u.EditedChannelPost = m
	case post:
		u.ChannelPost = m
	case edited:
		u.EditedMessage = m
	default:
		u.Message = m
	}
	s.push(u)
}

var (
	marked = regexp.MustCompile(`(?:^|[\s(])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{4,32})?|@[A-Za-z0-9_]{4,32})`)
)

// marks are the entities that Telegram finds by itself in a person's text.
func marks(text string) []models.MessageEntity {
	var list []models.MessageEntity
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		word := text[m[2]:m[3]]
		kind := models.MessageEntityTypeBotCommand
		if word[0] == '@' {
			kind = models.MessageEntityTypeMention
		}
		list = append(list, models.MessageEntity{Type: kind, Offset: units(text[:m[2]]), Length: units(word)})
	}
	return list
}

// units is the length of a text in UTF-16 code units, in which Telegram counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// date is now, as Telegram writes it. s.mu is held or not needed.
func (s *Server) date() int { return int(s.opts.Now().Unix()) }
