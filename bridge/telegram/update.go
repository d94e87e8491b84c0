package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"

	"lethe/internal/pattern"
)

// allowedUpdates go along with each request: without them Telegram keeps the list of the request before.
var allowedUpdates = []string{"message", "edited_message", "channel_post", "edited_channel_post", "callback_query"}

// These types hold the parts of updates that the bridge reads, under the library's names. Types of package models stand
// for the plain ones. Its types of whole messages are not used: they have members that refuse a form which they do not
// know, as MessageOrigin does, and such an error ends the reading of the whole update, so the text behind it would be
// lost. A wrong type in a plain member does not: encoding/json passes it over.
type (
	update struct {
		ID                int64     `json:"update_id"`
		Message           *message  `json:"message"`
		EditedMessage     *message  `json:"edited_message"`
		ChannelPost       *message  `json:"channel_post"`
		EditedChannelPost *message  `json:"edited_channel_post"`
		CallbackQuery     *callback `json:"callback_query"`

		rest []update // with the other messages of the album that its message begins
	}

	// callback is a button that somebody has pressed.
	callback struct {
		ID      string      `json:"id"`
		From    models.User `json:"from"`
		Message *message    `json:"message"` // of an old one only the chat and the id
		Data    string      `json:"data"`
	}

	message struct {
		ID                int                    `json:"message_id"`
		MessageThreadID   int                    `json:"message_thread_id"`
		IsTopicMessage    bool                   `json:"is_topic_message"`
		From              *models.User           `json:"from"`
		SenderChat        *models.Chat           `json:"sender_chat"`
		Chat              models.Chat            `json:"chat"`
		Date              int64                  `json:"date"`
		EditDate          int64                  `json:"edit_date"`
		MigrateToChatID   int64                  `json:"migrate_to_chat_id"`
		MigrateFromChatID int64                  `json:"migrate_from_chat_id"`
		ReplyToMessage    *message               `json:"reply_to_message"`
		MediaGroupID      string                 `json:"media_group_id"`
		Quote             *models.TextQuote      `json:"quote"`
		ForwardOrigin     *origin                `json:"forward_origin"`
		ViaBot            *models.User           `json:"via_bot"`
		Text              string                 `json:"text"`
		Entities          []models.MessageEntity `json:"entities"`
		Caption           string                 `json:"caption"`
		CaptionEntities   []models.MessageEntity `json:"caption_entities"`

		Photo     []attachment `json:"photo"`
		Voice     *attachment  `json:"voice"`
		Audio     *attachment  `json:"audio"`
		Video     *attachment  `json:"video"`
		VideoNote *attachment  `json:"video_note"`
		Animation *attachment  `json:"animation"`
		Document  *attachment  `json:"document"`
		Sticker   *attachment  `json:"sticker"`

		Location  *models.Location `json:"location"`
		Venue     *models.Venue    `json:"venue"`
		Contact   *models.Contact  `json:"contact"`
		Poll      json.RawMessage  `json:"poll"`
		Dice      json.RawMessage  `json:"dice"`
		Checklist json.RawMessage  `json:"checklist"`
		Game      json.RawMessage  `json:"game"`
		Story     json.RawMessage  `json:"story"`
		PaidMedia json.RawMessage  `json:"paid_media"`
	}

	// origin is the sender of a forwarded message: one of these, or nobody where the sender hides.
	origin struct {
		SenderUser *models.User `json:"sender_user"`
		SenderChat *models.Chat `json:"sender_chat"`
		Chat       *models.Chat `json:"chat"` // a channel
	}

	// attachment is a file of any kind.
	attachment struct {
		FileID    string `json:"file_id"`
		FileName  string `json:"file_name"`
		MimeType  string `json:"mime_type"`
		FileSize  int64  `json:"file_size"`
		Duration  int    `json:"duration"` // seconds
		Performer string `json:"performer"`
		Title     string `json:"title"`
		Emoji     string `json:"emoji"`
	}
)

// message returns the message of an update, or nil, and whether it is an edit.
func (u update) message() (m *message, edited bool) {
	if m = cmp.Or(u.Message, u.ChannelPost); m != nil {
		return m, false
	}
	return cmp.Or(u.EditedMessage, u.EditedChannelPost), true
}

// album names the album that a new message is part of, or is "".
func (u update) album() string {
	msg, edited := u.message()
	if msg == nil || edited {
		return ""
	}
	if msg.MediaGroupID == "" {
		return ""
	}
	return fmt.Sprint(msg.Chat.ID, msg.MediaGroupID)
}

// pressed returns the message with the button that somebody pressed, or nil.
func (u update) pressed() *message {
	if u.CallbackQuery == nil {
		return nil
	}
	return u.CallbackQuery.Message
}

// parse reads one update. A member that has another type than here is passed over, and the rest is read. An update
// without an id is not ok: it cannot be acknowledged.
func parse(raw json.RawMessage) (u update, ok bool) {
	err := json.Unmarshal(raw, &u)
	isRead := err == nil || errors.As(err, new(*json.UnmarshalTypeError))
	return u, isRead && u.ID != 0
}

// author is the sender of a message: a user, or the chat whose name stands over it.
type author struct {
	ID      string
	Claimed string // the name as Telegram shows it; not unique
	Bot     bool
}

func authorOf(msg *message) author {
	switch {
	case msg.SenderChat != nil: // an anonymous administrator, a channel; From is a stand-in
		return chatAuthor(*msg.SenderChat)
	case msg.From != nil:
		return userAuthor(*msg.From)
	}
	return chatAuthor(msg.Chat)
}

func chatAuthor(chat models.Chat) author {
	return author{ID: strconv.FormatInt(chat.ID, 10), Claimed: cmp.Or(chat.Title, chat.Username)}
}

func userAuthor(user models.User) author {
	id := strconv.FormatInt(user.ID, 10)
	name := strings.TrimSpace(user.FirstName + " " + user.LastName)
	return author{ID: id, Claimed: cmp.Or(name, user.Username, "user "+id), Bot: user.IsBot}
}

// command is a text that begins like /name@bot rest. The name is in lower case.
type command struct{ Name, Bot, Rest string }

var commandForm = pattern.Lazy(`(?s)^/(\w{1,64})(?:@(\w{0,64}))?(?:[\s\pZ\x85](.*))?$`)

// commandOf reads a text as a command.
func commandOf(text string) (c command, ok bool) {
	m := commandForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return command{}, false
	}
	return command{strings.ToLower(m[1]), m[2], strings.TrimSpace(m[3])}, true
}
