package botapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

func (s *Server) sendMessage(p *bot.SendMessageParams) (any, *refusal) {
	text, entities, ref := s.text(p.Text, p.ParseMode)
	if ref != nil {
		return nil, ref
	}
	return s.post(p.ChatID, p.MessageThreadID, models.Message{Text: text, Entities: entities}, p.ReplyParameters)
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

// writable is the chat that a bot means by chat_id and may write to. s.mu is held.
func (s *Server) writable(chatID any) (*chat, *refusal) {
	id, err := strconv.ParseInt(fmt.Sprint(chatID), 10, 64)
	c := s.world.chats[id]
	switch {
	case err != nil || c == nil:
		return nil, bad("chat not found")
	case c.moved != 0:
		ref := bad("group chat was upgraded to a supergroup chat")
		ref.migrateTo = c.moved
		return nil, ref
	case c.barred != "":
		return nil, refuse(http.StatusForbidden, "%s", c.barred)
	}
	return c, nil
}

// text checks a text as the server does, and reads its markup.
func (s *Server) text(text string, mode models.ParseMode) (string, []models.MessageEntity, *refusal) {
	var entities []models.MessageEntity
	if mode != "" {
		var err error
		if text, entities, err = ParseHTML(text); err != nil || mode != models.ParseModeHTML {
			s.violate("can't parse entities by %q: %v", mode, err)
			return "", nil, bad("can't parse entities: %v", err)
		}
		if n := len(entities); n > maxEntities {
			s.violate("%d entities, of which the server drops all but %d", n, maxEntities)
		}
	}
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return "", nil, bad("message text is empty")
	case trimmed != text && len(entities) > 0:
		s.violate("text with entities is not trimmed: %q", text)
		return text, entities, nil
	case units(trimmed) > maxText:
		return "", nil, bad("message is too long")
	default:
		return trimmed, entities, nil
	}
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
	c.actions = append(c.actions, Chat{c.info.ID, p.MessageThreadID})
	return true, nil
}
