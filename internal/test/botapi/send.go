package botapi

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png" // the only photos of bots
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// params are those of all methods but getUpdates that the bridge knows.
type params struct {
	ChatID             int64                   `json:"chat_id"`
	MessageThreadID    int                     `json:"message_thread_id"`
	Text               string                  `json:"text"`
	ParseMode          models.ParseMode        `json:"parse_mode"`
	LinkPreviewOptions any                     `json:"link_preview_options"`
	ReplyParameters    *models.ReplyParameters `json:"reply_parameters"`
	Action             models.ChatAction       `json:"action"`
	FileID             string                  `json:"file_id"`

	ReplyMarkup     *models.InlineKeyboardMarkup `json:"reply_markup"`
	MessageID       int                          `json:"message_id"`
	CallbackQueryID string                       `json:"callback_query_id"`
	ShowAlert       bool                         `json:"show_alert"`

	Caption  string  `json:"caption"`
	Photo    string  `json:"photo"`
	Document string  `json:"document"`
	Media    []media `json:"media"`
}

// media is a file of an album.
type media struct {
	Type      string           `json:"type"`
	Media     string           `json:"media"`
	Caption   string           `json:"caption"`
	ParseMode models.ParseMode `json:"parse_mode"`
}

func (s *Server) sendMessage(p params) (any, *answer) {
	text := p.Text
	var entities []models.MessageEntity
	if p.ParseMode != "" {
		var err error
		if text, entities, err = ParseHTML(text); err != nil || p.ParseMode != models.ParseModeHTML {
			s.violate("can't parse entities by %q: %v", p.ParseMode, err)
			return nil, bad("can't parse entities: %v", err)
		}
		if n := len(entities); n > maxEntities {
			s.violate("%d entities, of which the server drops all but %d", n, maxEntities)
		}
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed != text && len(entities) > 0:
		s.violate("text with entities is not trimmed: %q", text)
	case trimmed == "":
		return nil, bad("message text is empty")
	case units(trimmed) > maxText:
		return nil, bad("message is too long")
	}
	if ref := s.keyboard(p.ReplyMarkup); ref != nil {
		return nil, ref
	}
	return s.post(p, models.Message{Text: trimmed, Entities: entities, ReplyMarkup: p.ReplyMarkup})
}

// post puts a message of the bot into a chat.
func (s *Server) post(p params, m models.Message) (any, *answer) {
	c, ref := s.writable(p.ChatID, p.MessageThreadID)
	if ref != nil {
		return nil, ref
	}
	thread := p.MessageThreadID
	if to := p.ReplyParameters; to != nil {
		old := c.find(to.MessageID)
		switch {
		case old == nil && !to.AllowSendingWithoutReply:
			return nil, bad("message to be replied not found")
		case old != nil && thread == 0 && old.IsTopicMessage:
			thread = old.MessageThreadID
		}
		m.ReplyToMessage = old
	}
	return s.append(c, thread, s.bot, m), nil
}

// writable is the chat that a bot means, in which it may write, also to the topic thread if that
// is not 0. A thread of replies, in a supergroup that is no forum, is no topic. s.mu is held.
func (s *Server) writable(id int64, thread int) (*chat, *answer) {
	c := s.chats[id]
	switch {
	case c == nil:
		return nil, bad("chat not found")
	case c.moved != 0:
		return nil, refusal(http.StatusBadRequest, map[string]int64{"migrate_to_chat_id": c.moved},
			"Bad Request: group chat was upgraded to a supergroup chat")
	case c.barred:
		return nil, refusal(http.StatusForbidden, nil, "Forbidden: bot was blocked by the user")
	case thread != 0 && c.topics[thread] == nil:
		return nil, bad("message thread not found")
	case thread != 0 && c.closed[thread]:
		return nil, bad("TOPIC_CLOSED")
	}
	return c, nil
}

func (s *Server) sendChatAction(p params) (any, *answer) {
	if _, ref := s.writable(p.ChatID, p.MessageThreadID); ref != nil {
		return nil, ref
	}
	if p.Action != models.ChatActionTyping {
		return nil, bad("wrong parameter action in request")
	}
	return true, nil
}

// Bounds of what a bot sends: of a caption in UTF-16 units after its tags are parsed, of a photo and of any other file in
// bytes, and of the sum of the sides of a photo.
const (
	maxCaption = 1024
	maxPhoto   = 10 << 20
	maxSent    = 50 << 20
	maxSides   = 10_000
)

// sendFiles is sendPhoto, sendDocument and sendMediaGroup, whose answer is a list.
func (s *Server) sendFiles(req *request) (any, *answer) {
	defer s.lock()()
	var p params
	if ref := s.decode(req, &p); ref != nil {
		return nil, ref
	}
	group := req.name == "sendMediaGroup"
	if n := len(p.Media); group && (n < 2 || n > 10) || !group && n > 0 {
		s.violate("%s with %d media", req.name, n)
		return nil, bad("wrong number of media")
	}
	switch req.name {
	case "sendPhoto":
		p.Media = []media{{"photo", p.Photo, p.Caption, p.ParseMode}}
	case "sendDocument":
		p.Media = []media{{"document", p.Document, p.Caption, p.ParseMode}}
	}
	album := ""
	if group {
		album = fmt.Sprint("album", len(s.files))
	}
	var all []models.Message
	for _, one := range p.Media {
		if one.Type != p.Media[0].Type {
			return nil, bad("documents can't be mixed with other media types")
		}
		m, ref := s.attached(req, one)
		if ref != nil {
			return nil, ref
		}
		m.MediaGroupID = album
		all = append(all, m)
	}
	var out []any
	for _, m := range all { // an album is there as a whole, or not at all
		sent, ref := s.post(p, m)
		if ref != nil {
			return nil, ref
		}
		out = append(out, sent)
	}
	if group {
		return out, nil
	}
	return out[0], nil
}

// attached is the message of a file that came with a request.
func (s *Server) attached(req *request, one media) (m models.Message, ref *answer) {
	field, ok := strings.CutPrefix(one.Media, "attach://")
	in, there := req.files[field]
	if !ok || !there {
		return m, bad("wrong file identifier/HTTP URL specified")
	}
	data, err := io.ReadAll(in.Data)
	if err != nil || len(data) == 0 {
		return m, bad("file must be non-empty")
	}
	if m.Caption = one.Caption; one.ParseMode != "" {
		if m.Caption, m.CaptionEntities, err = ParseHTML(one.Caption); err != nil {
			return m, bad("can't parse entities: %v", err)
		}
	}
	if units(m.Caption) > maxCaption {
		return m, bad("message caption is too long")
	}
	f := s.stored(data, 0)
	if one.Type != "photo" {
		if len(data) > maxSent {
			return m, refusal(http.StatusRequestEntityTooLarge, nil, "Request Entity Too Large")
		}
		m.Document = &models.Document{FileID: f.FileID, FileName: in.Filename, FileSize: int64(len(data))}
		return m, nil
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return m, bad("IMAGE_PROCESS_FAILED")
	case len(data) > maxPhoto:
		return m, bad("file is too big")
	case size.Width+size.Height > maxSides || size.Width > 20*size.Height || size.Height > 20*size.Width:
		return m, bad("PHOTO_INVALID_DIMENSIONS")
	}
	m.Photo = []models.PhotoSize{{FileID: f.FileID, Width: size.Width, Height: size.Height, FileSize: len(data)}}
	return m, nil
}

// Data is what a file holds that somebody has sent.
func (s *Server) Data(id string) []byte {
	defer s.lock()()
	return s.files[id].data
}

type file struct {
	models.File
	data []byte
}

// Upload stores a file as if somebody had sent it, to be used with Send. A size beyond the data
// is that of a file which is never there.
func (s *Server) Upload(data []byte, size int64) models.File {
	defer s.lock()()
	return s.stored(data, size)
}

func (s *Server) stored(data []byte, size int64) models.File {
	n := len(s.files)
	f := &file{data: data, File: models.File{
		FileID: fmt.Sprintf("BQACAgIAAxkBAAM%06d", n), FileSize: max(size, int64(len(data))), FilePath: fmt.Sprintf("files/file_%d.bin", n),
	}}
	s.files[f.FileID] = f
	return f.File
}

func (s *Server) getFile(p params) (any, *answer) {
	f := s.files[p.FileID]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case f.FileSize > 20<<20:
		return nil, bad("file is too big")
	}
	return f.File, nil
}

// download is GET of a file, seen as a method: it has faults and a record like others.
func (s *Server) download(req *request) (any, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.FilePath == req.texts["path"] {
			return f.data, nil
		}
	}
	return nil, refusal(http.StatusNotFound, nil, "Not Found")
}

// SendPhoto has u send a photo. Like Telegram it offers two sizes: data, and a thumbnail that is
// its first kilobyte.
func (s *Server) SendPhoto(where Chat, u models.User, data []byte, caption string) int {
	size := func(data []byte, side int) models.PhotoSize {
		f := s.Upload(data, 0)
		return models.PhotoSize{FileID: f.FileID, Width: side, Height: side, FileSize: len(data)}
	}
	photo := []models.PhotoSize{size(data[:min(len(data), 1024)], 90), size(data, 1280)}
	return s.Send(where, u, models.Message{Photo: photo, Caption: caption})
}

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
