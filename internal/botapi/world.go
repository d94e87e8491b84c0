package botapi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-telegram/bot/models"
)

// User is a person. The zero value is nobody.
type User struct {
	ID       int64
	Name     string // first name
	Username string // without @; may be ""
}

// Chat is a place where people write: a chat, or one topic of it.
type Chat struct {
	ID     int64 `json:"id"`
	Thread int   `json:"message_thread_id"` // of the topic; 0: the chat itself
}

// The first ids dealt out. They do not fit into 32 bits, as today's do not.
const (
	firstUser       = 5_000_000_001
	firstGroup      = -4_000_000_001     // and downwards
	firstSupergroup = -1_002_000_000_001 // and downwards, channels too
)

type world struct {
	users      map[int64]User
	chats      map[int64]*chat
	files      map[string]*file // by file_id
	groups     int              // so many ids of each kind were dealt out
	supergroup int
}

func newWorld() world {
	return world{users: map[int64]User{}, chats: map[int64]*chat{}, files: map[string]*file{}}
}

// A chat as the server keeps it.
type chat struct {
	info     models.Chat
	members  map[int64]User
	messages []*models.Message // in order; each is replaced, never altered
	last     int               // newest message id
	mine     map[int]bool      // ids of the messages that the bot wrote
	topics   map[int]*topic    // by message_thread_id
	barred   string            // why the bot may not write here: the description of a 403
	moved    int64             // the supergroup that this group has become
	actions  []Chat            // where the bot was typing
}

type topic struct {
	name    string
	closed  bool
	created *models.Message
}

// User adds a person. The username may be "".
func (s *Server) User(name, username string) User {
	defer s.lock()()
	u := User{ID: firstUser + int64(len(s.world.users)), Name: name, Username: username}
	s.world.users[u.ID] = u
	return u
}

// Private is the chat of u with the bot. The first call opens it, as pressing
// Start does; without it the bot may not write to u.
func (s *Server) Private(u User) Chat {
	defer s.lock()()
	if s.world.chats[u.ID] == nil {
		c := s.open(models.Chat{ID: u.ID, Type: models.ChatTypePrivate, FirstName: u.Name, Username: u.Username})
		c.members[u.ID] = u
	}
	return Chat{ID: u.ID}
}

// Group adds a basic group with the bot and these members. It has no topics;
// see Migrate and Supergroup.
func (s *Server) Group(title string, members ...User) Chat {
	defer s.lock()()
	id := firstGroup - int64(s.world.groups)
	s.world.groups++
	return s.gather(models.Chat{ID: id, Type: models.ChatTypeGroup, Title: title}, members)
}

// Supergroup adds a supergroup with the bot and these members. Topic makes it a
// forum.
func (s *Server) Supergroup(title string, members ...User) Chat {
	defer s.lock()()
	return s.gather(models.Chat{ID: s.superID(), Type: models.ChatTypeSupergroup, Title: title}, members)
}

// Channel adds a channel in which the bot may post. See Post.
func (s *Server) Channel(title, username string) Chat {
	defer s.lock()()
	return s.gather(models.Chat{ID: s.superID(), Type: models.ChatTypeChannel, Title: title, Username: username}, nil)
}

func (s *Server) superID() int64 {
	id := firstSupergroup - int64(s.world.supergroup)
	s.world.supergroup++
	return id
}

func (s *Server) gather(info models.Chat, members []User) Chat {
	c := s.open(info)
	for _, u := range members {
		c.members[u.ID] = u
	}
	return Chat{ID: info.ID}
}

func (s *Server) open(info models.Chat) *chat {
	c := &chat{info: info, members: map[int64]User{}, mine: map[int]bool{}, topics: map[int]*topic{}}
	s.world.chats[info.ID] = c
	return c
}

// Join makes u a member of a group.
func (s *Server) Join(where Chat, u User) {
	defer s.lock()()
	c := s.chat(where)
	c.members[u.ID] = u
	s.append(c, where.Thread, u, models.Message{NewChatMembers: []models.User{person(u)}})
}

// Topic adds a topic to a supergroup, which becomes a forum with the first. Its
// Thread is the id of the message that says that it was created.
func (s *Server) Topic(where Chat, name string) Chat {
	defer s.lock()()
	c := s.chat(where)
	c.info.IsForum = true
	m := s.append(c, 0, someone(c), models.Message{ForumTopicCreated: &models.ForumTopicCreated{Name: name, IconColor: 7322096}})
	c.topics[m.ID] = &topic{name: name, created: m}
	return Chat{ID: where.ID, Thread: m.ID}
}

// Texts are the texts, or captions, of Sent.
func (s *Server) Texts(where Chat) []string {
	var texts []string
	for _, m := range s.Sent(where) {
		texts = append(texts, m.Text+m.Caption)
	}
	return texts
}

// Sent are the messages of the bot in a chat, or a topic, as they are now, oldest first.
func (s *Server) Sent(where Chat) []models.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []models.Message
	c := s.chat(where)
	for _, m := range c.messages {
		if (where.Thread == 0 || m.MessageThreadID == where.Thread) && c.mine[m.ID] {
			list = append(list, *m)
		}
	}
	return list
}

// Actions is where in a chat the bot was shown typing, oldest first.
func (s *Server) Actions(where Chat) []Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.chat(where).actions)
}

// chat is the chat that a caller on the world's side means. s.mu is held.
func (s *Server) chat(where Chat) *chat {
	c := s.world.chats[where.ID]
	if c == nil {
		panic(fmt.Sprintf("botapi: no chat %d", where.ID))
	}
	if where.Thread != 0 && c.topics[where.Thread] == nil {
		panic(fmt.Sprintf("botapi: no topic %d in chat %d", where.Thread, where.ID))
	}
	return c
}

func (c *chat) find(id int) *models.Message {
	i := slices.IndexFunc(c.messages, func(m *models.Message) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return c.messages[i]
}

func (c *chat) replace(m *models.Message) {
	c.messages[slices.Index(c.messages, c.find(m.ID))] = m
}

// someone is the author of service messages: the member with the least id.
func someone(c *chat) User {
	if len(c.members) == 0 {
		return User{}
	}
	return c.members[slices.Min(slices.Collect(maps.Keys(c.members)))]
}

func person(u User) models.User {
	return models.User{ID: u.ID, FirstName: u.Name, Username: u.Username, LanguageCode: "en"}
}
