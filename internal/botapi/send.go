package botapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

func (s *Server) sendMessage(p *bot.SendMessageParams) (any, *refusal) {
	text, entities, ref := s.text(p.Text, p.ParseMode, p.Entities)
	if ref != nil {
		return nil, ref
	}
	m := models.Message{Text: text, Entities: entities, LinkPreviewOptions: p.LinkPreviewOptions}
	return s.post(p.ChatID, p.MessageThreadID, m, p.ReplyParameters)
}

// maxRich is the length of a rich message in characters.
const maxRich = 32_768

type richParams struct {
	ChatID          any                     `json:"chat_id"`
	MessageThreadID int                     `json:"message_thread_id"`
	ReplyParameters *models.ReplyParameters `json:"reply_parameters"`
	RichMessage     struct {
		Markdown string `json:"markdown"`
	} `json:"rich_message"`
}

// sendRichMessage takes Markdown, does not read it, and shows it as the text.
func (s *Server) sendRichMessage(p *richParams) (any, *refusal) {
	text := strings.TrimSpace(p.RichMessage.Markdown)
	switch {
	case text == "":
		return nil, bad("message text is empty")
	case units(text) > maxRich:
		return nil, bad("message is too long")
	}
	return s.post(p.ChatID, p.MessageThreadID, models.Message{Text: text}, p.ReplyParameters)
}

// post puts a message of the bot into a chat.
func (s *Server) post(chatID any, thread int, m models.Message, to *models.ReplyParameters) (any, *refusal) {
	c, ref := s.writable(chatID)
	if ref != nil {
		return nil, ref
	}
	if ref := c.reply(&m, to); ref != nil {
		return nil, ref
	}
	if r := m.ReplyToMessage; r != nil && thread == 0 && r.IsTopicMessage {
		thread = r.MessageThreadID
	}
	if ref := c.enter(thread); ref != nil {
		return nil, ref
	}
	return s.append(c, thread, User{ID: s.bot.ID}, m), nil
}

// find is the chat that a bot means by chat_id, a number. s.mu is held.
func (s *Server) find(chatID any) (*chat, *refusal) {
	text := fmt.Sprint(chatID)
	id, err := strconv.ParseInt(text, 10, 64)
	c := s.world.chats[id]
	if u, known := s.world.users[id]; known && c == nil && s.meets(u) {
		return nil, refuse(http.StatusForbidden, "Forbidden: bot can't initiate conversation with a user")
	}
	switch {
	case err != nil:
		return nil, bad("chat_id is no number")
	case c == nil:
		return nil, bad("chat not found")
	case c.moved != 0:
		ref := bad("group chat was upgraded to a supergroup chat")
		ref.migrateTo = c.moved
		return nil, ref
	}
	return c, nil
}

// meets says whether the bot and u are in one group.
func (s *Server) meets(u User) bool {
	for _, c := range s.world.chats {
		if _, in := c.members[u.ID]; in {
			return true
		}
	}
	return false
}

// writable is find for those who want to write.
func (s *Server) writable(chatID any) (*chat, *refusal) {
	c, ref := s.find(chatID)
	if ref == nil && c.barred != "" {
		return nil, refuse(http.StatusForbidden, "%s", c.barred)
	}
	return c, ref
}

// text checks and trims a text as the server does before it counts it.
func (s *Server) text(text string, mode models.ParseMode, entities []models.MessageEntity) (string, []models.MessageEntity, *refusal) {
	switch {
	case mode != "" && entities != nil:
		s.violate("parse_mode %q with entities", mode)
		return "", nil, bad("parse_mode and entities exclude each other")
	case mode == models.ParseModeHTML:
		var err error
		if text, entities, err = ParseHTML(text); err != nil {
			s.violate("can't parse entities: %v", err)
			return "", nil, bad("can't parse entities: %v", err)
		}
	case mode != "":
		s.violate("parse_mode %q", mode)
		return "", nil, bad("this server parses no markup but HTML")
	case text == "":
		return "", nil, bad("message text is empty")
	}
	if err := check(text, entities); err != nil {
		return "", nil, bad("can't parse entities: %v", err)
	}
	if n := len(entities); n > maxEntities {
		s.violate("%d entities, of which the server drops all but %d", n, maxEntities)
		entities = entities[:maxEntities]
	}
	text, entities = trim(text, entities)
	switch {
	case text == "":
		return "", nil, bad("text must be non-empty")
	case units(text) > maxText:
		return "", nil, bad("message is too long")
	}
	return text, entities, nil
}

// trim removes white space at the end of a text, and at its start as far as no
// entity marks it, and moves the entities along.
func trim(text string, entities []models.MessageEntity) (string, []models.MessageEntity) {
	u := utf16.Encode([]rune(strings.TrimRightFunc(text, unicode.IsSpace)))
	start := len(u) - units(strings.TrimLeftFunc(string(utf16.Decode(u)), unicode.IsSpace))
	for _, e := range entities {
		start = min(start, e.Offset)
	}
	var kept []models.MessageEntity
	for _, e := range entities {
		e.Length = min(e.Length, len(u)-e.Offset)
		e.Offset -= start
		if e.Length > 0 {
			kept = append(kept, e)
		}
	}
	return string(utf16.Decode(u[start:])), kept
}

// enter checks that a thread is a topic in which the bot may write. A thread of
// replies, in a supergroup that is no forum, is none.
func (c *chat) enter(thread int) *refusal {
	if thread == 0 {
		return nil
	}
	switch t := c.topics[thread]; {
	case t == nil:
		return bad("message thread not found")
	case t.closed:
		return bad("TOPIC_CLOSED")
	}
	return nil
}

// reply sets what a message replies to and quotes.
func (c *chat) reply(m *models.Message, p *models.ReplyParameters) *refusal {
	if p == nil {
		return nil
	}
	old := c.quoted(p.MessageID)
	switch {
	case old == nil && p.AllowSendingWithoutReply:
		return nil
	case old == nil:
		return bad("message to be replied not found")
	}
	m.ReplyToMessage = old
	return nil
}

func (s *Server) sendChatAction(p *bot.SendChatActionParams) (any, *refusal) {
	c, ref := s.writable(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	if p.Action != models.ChatActionTyping {
		return nil, bad("wrong parameter action in request")
	}
	if ref := c.enter(p.MessageThreadID); ref != nil {
		return nil, ref
	}
	c.actions = append(c.actions, Action{Chat{c.info.ID, p.MessageThreadID}, p.Action})
	return true, nil
}
