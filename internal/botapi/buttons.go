package botapi

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// keyboard refuses buttons that the server refuses. Only those with data are known here.
func (s *Server) keyboard(k *models.InlineKeyboardMarkup) *answer {
	if k == nil {
		return nil
	}
	for _, row := range k.InlineKeyboard {
		for _, b := range row {
			switch n := len(b.CallbackData); {
			case b.Text == "":
				return bad("can't parse inline keyboard button: Field \"text\" must be of type String")
			case n == 0:
				return bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case n > 64:
				return bad("BUTTON_DATA_INVALID")
			}
		}
	}
	return nil
}

// Press has u press the button with this text under a message of the bot, and returns the query's id.
func (s *Server) Press(where Chat, u models.User, message int, button string) (id string) {
	defer s.lock()()
	m := s.chat(where).find(message)
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, b := range row {
			if b.Text == button {
				return s.query(u, m, b.CallbackData)
			}
		}
	}
	panic(fmt.Sprintf("botapi: no button %q under message %d", button, message))
}

// PressOld is Press of a message so old that the bot is told its chat and id alone.
func (s *Server) PressOld(where Chat, u models.User, message int, data string) (id string) {
	defer s.lock()()
	return s.query(u, map[string]any{"chat": s.chat(where).info, "message_id": message, "date": 0}, data)
}

func (s *Server) query(u models.User, message any, data string) string {
	id := fmt.Sprintf("44%016d", len(s.queries))
	s.queries[id] = false
	s.push("callback_query", map[string]any{"id": id, "from": u, "message": message, "chat_instance": "-1", "data": data})
	return id
}

func (s *Server) answerCallbackQuery(p params) (any, *answer) {
	answered, known := s.queries[p.CallbackQueryID]
	switch {
	case !known:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case answered:
		s.violate("answerCallbackQuery: %s is answered twice", p.CallbackQueryID)
	case utf8.RuneCountInString(p.Text) > 200:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	s.queries[p.CallbackQueryID] = true
	return true, nil
}

func (s *Server) editMessageReplyMarkup(p params) (any, *answer) {
	c := s.chats[p.ChatID]
	if c == nil {
		return nil, bad("chat not found")
	}
	i := slices.IndexFunc(c.messages, func(m *models.Message) bool { return m.ID == p.MessageID })
	switch {
	case i < 0:
		return nil, bad("message to edit not found")
	case *c.messages[i].From != s.bot:
		return nil, bad("message can't be edited")
	case c.messages[i].ReplyMarkup == nil && p.ReplyMarkup == nil:
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same")
	}
	m := *c.messages[i]
	m.ReplyMarkup = p.ReplyMarkup
	c.messages[i] = &m
	return m, s.keyboard(p.ReplyMarkup)
}
