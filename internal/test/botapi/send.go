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

// params are the parameters of all methods that the bridge knows, except getUpdates.
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

func (s *Server) sendMessage(params params) (any, *answer) {
	text := params.Text
	var entities []models.MessageEntity
	if params.ParseMode != "" {
		var err error
		if text, entities, err = ParseHTML(text); err != nil || params.ParseMode != models.ParseModeHTML {
			s.violate("can't parse entities by %q: %v", params.ParseMode, err)
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
	if ref := s.keyboard(params.ReplyMarkup); ref != nil {
		return nil, ref
	}
	return s.post(params, models.Message{Text: trimmed, Entities: entities, ReplyMarkup: params.ReplyMarkup})
}

// post puts a message of the bot into a chat.
func (s *Server) post(params params, message models.Message) (any, *answer) {
	chat, ref := s.writable(params.ChatID, params.MessageThreadID)
	if ref != nil {
		return nil, ref
	}
	thread := params.MessageThreadID
	if to := params.ReplyParameters; to != nil {
		old := chat.find(to.MessageID)
		if old == nil && !to.AllowSendingWithoutReply {
			return nil, bad("message to be replied not found")
		}
		inTopic := old != nil && old.IsTopicMessage
		if inTopic && thread == 0 {
			thread = old.MessageThreadID
		}
		message.ReplyToMessage = old
	}
	return s.append(chat, thread, s.bot, message), nil
}

// writable returns the chat that a bot means, if it may write there, also to the topic thread if that
// is not 0. A thread of replies, in a supergroup that is no forum, is no topic. s.mu is held.
func (s *Server) writable(id int64, thread int) (*chat, *answer) {
	chat := s.chats[id]
	switch {
	case chat == nil:
		return nil, bad("chat not found")
	case chat.moved != 0:
		return nil, refusal(http.StatusBadRequest, map[string]int64{"migrate_to_chat_id": chat.moved},
			"Bad Request: group chat was upgraded to a supergroup chat")
	case chat.barred:
		return nil, refusal(http.StatusForbidden, nil, "Forbidden: bot was blocked by the user")
	case thread != 0 && chat.topics[thread] == nil:
		return nil, bad("message thread not found")
	case thread != 0 && chat.closed[thread]:
		return nil, bad("TOPIC_CLOSED")
	}
	return chat, nil
}

func (s *Server) sendChatAction(params params) (any, *answer) {
	if _, ref := s.writable(params.ChatID, params.MessageThreadID); ref != nil {
		return nil, ref
	}
	if params.Action != models.ChatActionTyping {
		return nil, bad("wrong parameter action in request")
	}
	return true, nil
}

// Bounds of a bot's messages: a caption in UTF-16 units after its tags are parsed, a photo and any other file in bytes,
// and the sum of the sides of a photo.
const (
	maxCaption = 1024
	maxPhoto   = 10 << 20
	maxSent    = 50 << 20
	maxSides   = 10_000
)

// sendFiles is sendPhoto, sendDocument and sendMediaGroup, whose answer is a list.
func (s *Server) sendFiles(req *request) (any, *answer) {
	defer s.lock()()
	var params params
	if ref := s.decode(req, &params); ref != nil {
		return nil, ref
	}
	least, most := 0, 0
	group := req.name == "sendMediaGroup"
	if group {
		least, most = 2, 10
	}
	if n := len(params.Media); n < least || n > most {
		s.violate("%s with %d media", req.name, n)
		return nil, bad("wrong number of media")
	}
	switch req.name {
	case "sendPhoto":
		params.Media = []media{{"photo", params.Photo, params.Caption, params.ParseMode}}
	case "sendDocument":
		params.Media = []media{{"document", params.Document, params.Caption, params.ParseMode}}
	}
	album := ""
	if group {
		album = fmt.Sprint("album", len(s.files))
	}
	var all []models.Message
	for _, one := range params.Media {
		if one.Type != params.Media[0].Type {
			return nil, bad("documents can't be mixed with other media types")
		}
		message, ref := s.attached(req, one)
		if ref != nil {
			return nil, ref
		}
		message.MediaGroupID = album
		all = append(all, message)
	}
	var out []any
	for _, m := range all { // an album is there as a whole, or not at all
		sent, ref := s.post(params, m)
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
func (s *Server) attached(req *request, one media) (message models.Message, ref *answer) {
	field, ok := strings.CutPrefix(one.Media, "attach://")
	in, there := req.files[field]
	if !ok || !there {
		return message, bad("wrong file identifier/HTTP URL specified")
	}
	data, err := io.ReadAll(in.Data)
	if err != nil || len(data) == 0 {
		return message, bad("file must be non-empty")
	}
	if message.Caption = one.Caption; one.ParseMode != "" {
		if message.Caption, message.CaptionEntities, err = ParseHTML(one.Caption); err != nil {
			return message, bad("can't parse entities: %v", err)
		}
	}
	if units(message.Caption) > maxCaption {
		return message, bad("message caption is too long")
	}
	f := s.stored(data, 0)
	if one.Type != "photo" {
		if len(data) > maxSent {
			return message, refusal(http.StatusRequestEntityTooLarge, nil, "Request Entity Too Large")
		}
		message.Document = &models.Document{FileID: f.FileID, FileName: in.Filename, FileSize: int64(len(data))}
		return message, nil
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return message, bad("IMAGE_PROCESS_FAILED")
	case len(data) > maxPhoto:
		return message, bad("file is too big")
	case size.Width+size.Height > maxSides, size.Width > 20*size.Height, size.Height > 20*size.Width:
		return message, bad("PHOTO_INVALID_DIMENSIONS")
	}
	message.Photo = []models.PhotoSize{{FileID: f.FileID, Width: size.Width, Height: size.Height, FileSize: len(data)}}
	return message, nil
}

// Data returns the bytes of a file that somebody has sent.
func (s *Server) Data(id string) []byte {
	defer s.lock()()
	return s.files[id].data
}

type file struct {
	models.File
	data []byte
}

// Upload stores a file as if somebody had sent it, to be used with Send. A file with a
// size beyond the data is never there.
func (s *Server) Upload(data []byte, size int64) models.File {
	defer s.lock()()
	return s.stored(data, size)
}

func (s *Server) stored(data []byte, size int64) models.File {
	n := len(s.files)
	file := &file{data: data, File: models.File{
		FileID: fmt.Sprintf("BQACAgIAAxkBAAM%06d", n), FileSize: max(size, int64(len(data))), FilePath: fmt.Sprintf("files/file_%d.bin", n),
	}}
	s.files[file.FileID] = file
	return file.File
}

func (s *Server) getFile(p params) (any, *answer) {
	file := s.files[p.FileID]
	switch {
	case file == nil:
		return nil, bad("invalid file_id")
	case file.FileSize > 20<<20:
		return nil, bad("file is too big")
	}
	return file.File, nil
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
func (s *Server) SendPhoto(where Chat, user models.User, data []byte, caption string) int {
	size := func(data []byte, side int) models.PhotoSize {
		f := s.Upload(data, 0)
		return models.PhotoSize{FileID: f.FileID, Width: side, Height: side, FileSize: len(data)}
	}
	photo := []models.PhotoSize{size(data[:min(len(data), 1024)], 90), size(data, 1280)}
	return s.Send(where, user, models.Message{Photo: photo, Caption: caption})
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
func (s *Server) Press(where Chat, user models.User, message int, button string) (id string) {
	defer s.lock()()
	m := s.chat(where).find(message)
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, b := range row {
			if b.Text == button {
				return s.query(user, m, b.CallbackData)
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

func (s *Server) query(user models.User, message any, data string) string {
	id := fmt.Sprintf("44%016d", len(s.queries))
	s.queries[id] = false
	s.push("callback_query", map[string]any{"id": id, "from": user, "message": message, "chat_instance": "-1", "data": data})
	return id
}

func (s *Server) answerCallbackQuery(params params) (any, *answer) {
	answered, known := s.queries[params.CallbackQueryID]
	switch {
	case !known:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case answered:
		s.violate("answerCallbackQuery: %s is answered twice", params.CallbackQueryID)
	case utf8.RuneCountInString(params.Text) > 200:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	s.queries[params.CallbackQueryID] = true
	return true, nil
}

func (s *Server) editMessageReplyMarkup(params params) (any, *answer) {
	chat := s.chats[params.ChatID]
	if chat == nil {
		return nil, bad("chat not found")
	}
	i := slices.IndexFunc(chat.messages, func(m *models.Message) bool { return m.ID == params.MessageID })
	switch {
	case i < 0:
		return nil, bad("message to edit not found")
	case *chat.messages[i].From != s.bot:
		return nil, bad("message can't be edited")
	case chat.messages[i].ReplyMarkup == nil && params.ReplyMarkup == nil:
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same")
	}
	message := *chat.messages[i]
	message.ReplyMarkup = params.ReplyMarkup
	chat.messages[i] = &message
	return message, s.keyboard(params.ReplyMarkup)
}
