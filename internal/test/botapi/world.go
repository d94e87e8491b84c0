package botapi

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

// Chat is a place where people write: a chat, or one topic of it.
type Chat struct {
	ID     int64
	Thread int // message_thread_id of the topic; 0: the chat itself
}

// The first ids dealt out. They do not fit into 32 bits, as today's do not.
const (
	firstUser       = 5_000_000_001
	firstGroup      = -4_000_000_001     // and downwards
	firstSupergroup = -1_002_000_000_001 // and downwards, channels too
)

// chat is a chat as the server keeps it.
type chat struct {
	info     models.Chat
	messages []*models.Message       // in order; each is replaced, never altered
	last     int                     // newest message id
	topics   map[int]*models.Message // that created them, by message_thread_id
	closed   map[int]bool            // topics that the bot may not write to
	barred   bool                    // the bot may not write here
	moved    int64                   // the supergroup that this group has become
}

// nobody is the author of service messages.
var nobody models.User

// User adds a person.
func (s *Server) User(name string) models.User {
	defer s.lock()()
	s.users++
	return models.User{ID: firstUser + int64(s.users) - 1, FirstName: name, LanguageCode: "en"}
}

// Private is the chat of u with the bot. The first call opens it, as pressing
// Start does; without it the bot may not write to u.
func (s *Server) Private(user models.User) Chat {
	defer s.lock()()
	if s.chats[user.ID] == nil {
		s.open(models.Chat{ID: user.ID, Type: models.ChatTypePrivate, FirstName: user.FirstName})
	}
	return Chat{ID: user.ID}
}

// Group adds a basic group, a supergroup or a channel with the bot in it. A basic group has no
// topics (see Migrate), a channel is written in by Post.
func (s *Server) Group(kind models.ChatType, title string) Chat {
	defer s.lock()()
	first := int64(firstSupergroup)
	if kind == models.ChatTypeGroup {
		first = firstGroup
	}
	s.groups++
	return s.open(models.Chat{ID: first - int64(s.groups) + 1, Type: kind, Title: title})
}

func (s *Server) open(info models.Chat) Chat {
	s.chats[info.ID] = &chat{info: info, topics: map[int]*models.Message{}, closed: map[int]bool{}}
	return Chat{ID: info.ID}
}

// Topic adds a topic to a supergroup, which becomes a forum with the first. Its
// Thread is the id of the message that says that it was created.
func (s *Server) Topic(where Chat, name string) Chat {
	defer s.lock()()
	chat := s.chat(where)
	chat.info.IsForum = true
	m := s.append(chat, 0, nobody, models.Message{ForumTopicCreated: &models.ForumTopicCreated{Name: name, IconColor: 7322096}})
	chat.topics[m.ID] = m
	return Chat{ID: where.ID, Thread: m.ID}
}

// CloseTopic closes a topic to the bot, or opens it again.
func (s *Server) CloseTopic(where Chat, closed bool) {
	defer s.lock()()
	s.chat(where).closed[where.Thread] = closed
}

// DeleteTopic removes a topic. The bot is not told.
func (s *Server) DeleteTopic(where Chat) {
	defer s.lock()()
	delete(s.chat(where).topics, where.Thread)
}

// Bar keeps the bot out of a chat, as a person does who blocks it and a group that removes it, or
// lets it in again. The bot is told, and hears and writes nothing there until then.
func (s *Server) Bar(where Chat, out bool) {
	defer s.lock()()
	chat := s.chat(where)
	chat.barred = out
	was, is := map[string]string{"status": "kicked"}, map[string]string{"status": "member"}
	if out {
		was, is = is, was
	}
	s.push("my_chat_member", map[string]any{
		"chat": chat.info, "from": models.User{ID: firstUser, FirstName: "Somebody"}, "date": date(),
		"old_chat_member": was, "new_chat_member": is,
	})
}

// Migrate upgrades a basic group to a supergroup, which it returns. Writing to
// the group's old id is answered with 400 and migrate_to_chat_id. Both chats get
// the service message that says so.
func (s *Server) Migrate(where Chat) Chat {
	super := s.Group(models.ChatTypeSupergroup, "Moved")
	defer s.lock()()
	old := s.chat(where)
	s.append(old, 0, nobody, models.Message{MigrateToChatID: super.ID})
	old.moved = super.ID
	s.append(s.chat(super), 0, nobody, models.Message{MigrateFromChatID: where.ID})
	return super
}

// Sent are the messages of the bot in a chat, or a topic, as they are now, oldest first.
func (s *Server) Sent(where Chat) []models.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []models.Message
	for _, m := range s.chat(where).messages {
		isThere := where.Thread == 0 || m.MessageThreadID == where.Thread
		isOwn := m.From != nil && *m.From == s.bot
		if isThere && isOwn {
			list = append(list, *m)
		}
	}
	return list
}

// Texts are the texts of Sent.
func (s *Server) Texts(where Chat) (texts []string) {
	for _, m := range s.Sent(where) {
		texts = append(texts, m.Text)
	}
	return texts
}

// chat is the chat that a caller on the world's side means. s.mu is held.
func (s *Server) chat(where Chat) *chat {
	c := s.chats[where.ID]
	if c == nil {
		panic(fmt.Sprintf("botapi: no chat %d", where.ID))
	}
	if where.Thread != 0 && c.topics[where.Thread] == nil {
		panic(fmt.Sprintf("botapi: no topic %d in chat %d", where.Thread, where.ID))
	}
	return c
}

// find is a message as a reply shows it, without what it replied to itself; nil if it is not there.
func (c *chat) find(id int) *models.Message {
	i := slices.IndexFunc(c.messages, func(m *models.Message) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	m := *c.messages[i]
	m.ReplyToMessage = nil
	return &m
}

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
func (s *Server) Send(where Chat, user models.User, message models.Message) int {
	defer s.lock()()
	chat := s.chat(where)
	if message.ReplyToMessage != nil {
		message.ReplyToMessage = chat.find(message.ReplyToMessage.ID)
	}
	return s.append(chat, where.Thread, user, message).ID
}

// Edit gives a message a new text.
func (s *Server) Edit(where Chat, id int, text string) {
	defer s.lock()()
	chat := s.chat(where)
	i := slices.IndexFunc(chat.messages, func(m *models.Message) bool { return m.ID == id })
	message := *chat.messages[i]
	message.Text, message.EditDate = text, date()
	chat.messages[i] = &message
	s.deliver(chat, &message, "edited_")
}

// append adds a message to a chat and tells the bot, unless u is the bot. s.mu
// is held.
func (s *Server) append(chat *chat, thread int, user models.User, message models.Message) *models.Message {
	chat.last++
	if message.ForumTopicCreated != nil {
		thread = chat.last
	}
	message.ID, message.Date, message.Chat, message.MessageThreadID = chat.last, date(), chat.info, thread
	if user != nobody {
		message.From = &user
	}
	// A message in a topic that replies to nothing comes as a reply to the topic's creation; and in a
	// supergroup without topics a chain of replies has a thread too, named after its first message.
	// Both are traps for a bot that takes them for a person's reply or for a topic.
	hasChains := chat.info.Type == models.ChatTypeSupergroup && !chat.info.IsForum
	switch to := message.ReplyToMessage; {
	case thread != 0:
		message.IsTopicMessage = true
		message.ReplyToMessage = cmp.Or(to, chat.topics[thread])
	case to != nil && hasChains:
		message.MessageThreadID = cmp.Or(to.MessageThreadID, to.ID)
	}
	chat.messages = append(chat.messages, &message)
	if user != s.bot {
		s.deliver(chat, &message, "")
	}
	return &message
}

// deliver makes an update of a message, if the bot may see it. s.mu is held.
func (s *Server) deliver(chat *chat, message *models.Message, edited string) {
	kind := "message"
	if chat.info.Type == models.ChatTypeChannel {
		kind = "channel_post"
	}
	if !chat.barred {
		s.push(edited+kind, message)
	}
}

// date is now, as Telegram writes it.
func date() int { return int(time.Now().Unix()) }
