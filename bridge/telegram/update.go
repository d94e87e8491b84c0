package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The bridge asks for allowedUpdates each time: Telegram keeps the list of the request
// before.
var allowedUpdates = []string{"message", "edited_message", "channel_post", "edited_channel_post", "callback_query"}

// These types hold what the bridge reads of the Bot API's. They are not those of a library,
// which refuse a whole message that has a form of tomorrow in it.
type (
	update struct {
		ID                int64     `json:"update_id"`
		Message           *message  `json:"message"`
		EditedMessage     *message  `json:"edited_message"`
		ChannelPost       *message  `json:"channel_post"`
		EditedChannelPost *message  `json:"edited_channel_post"`
		Callback          *callback `json:"callback_query"`
	}

	// callback is a button that somebody has pressed.
	callback struct {
		ID      string   `json:"id"`
		From    user     `json:"from"`
		Message *message `json:"message"` // of an old one only the chat and the id
		Data    string   `json:"data"`
	}

	user struct {
		ID        int64  `json:"id"`
		IsBot     bool   `json:"is_bot"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		Username  string `json:"username"`
	}

	place struct {
		ID       int64  `json:"id"`
		Type     string `json:"type"`
		Title    string `json:"title"`
		Username string `json:"username"`
	}

	message struct {
		ID              int       `json:"message_id"`
		Thread          int       `json:"message_thread_id"`
		InTopic         bool      `json:"is_topic_message"` // otherwise a thread is a chain of replies
		From            *user     `json:"from"`
		SenderChat      *place    `json:"sender_chat"`
		Chat            place     `json:"chat"`
		Date            int64     `json:"date"`
		EditDate        int64     `json:"edit_date"`
		MigrateTo       int64     `json:"migrate_to_chat_id"`
		MigrateFrom     int64     `json:"migrate_from_chat_id"`
		ReplyTo         *message  `json:"reply_to_message"`
		Album           string    `json:"media_group_id"`
		Quote           *textPart `json:"quote"`
		Forward         *origin   `json:"forward_origin"`
		ViaBot          *user     `json:"via_bot"`
		Text            string    `json:"text"`
		Entities        []entity  `json:"entities"`
		Caption         string    `json:"caption"`
		CaptionEntities []entity  `json:"caption_entities"`

		Photo     []attachment `json:"photo"`
		Voice     *attachment  `json:"voice"`
		Audio     *attachment  `json:"audio"`
		Video     *attachment  `json:"video"`
		VideoNote *attachment  `json:"video_note"`
		Animation *attachment  `json:"animation"`
		Document  *attachment  `json:"document"`
		Sticker   *attachment  `json:"sticker"`

		Location  *location       `json:"location"`
		Venue     *venue          `json:"venue"`
		Contact   *contact        `json:"contact"`
		Poll      json.RawMessage `json:"poll"`
		Dice      json.RawMessage `json:"dice"`
		Checklist json.RawMessage `json:"checklist"`
		Game      json.RawMessage `json:"game"`
		Story     json.RawMessage `json:"story"`
		PaidMedia json.RawMessage `json:"paid_media"`

		rest []update // with the other messages of its album
	}

	textPart struct {
		Text string `json:"text"`
	}

	entity struct {
		Type   string `json:"type"`
		Offset int    `json:"offset"` // in UTF-16 code units
		Length int    `json:"length"`
		URL    string `json:"url"`
	}

	origin struct {
		User *user  `json:"sender_user"`
		Chat *place `json:"sender_chat"` // of a chat
		Post *place `json:"chat"`        // of a channel
	}

	attachment struct {
		ID        string `json:"file_id"`
		Name      string `json:"file_name"`
		Mime      string `json:"mime_type"`
		Size      int64  `json:"file_size"`
		Duration  int    `json:"duration"` // seconds
		Performer string `json:"performer"`
		Title     string `json:"title"`
		Emoji     string `json:"emoji"`
	}

	location struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
	}

	venue struct {
		Location location `json:"location"`
		Title    string   `json:"title"`
		Address  string   `json:"address"`
	}

	contact struct {
		PhoneNumber string `json:"phone_number"`
		FirstName   string `json:"first_name"`
		LastName    string `json:"last_name"`
	}
)

// message is the message of an update, or nil, and whether it is an edit.
func (u update) message() (m *message, edited bool) {
	if m = cmp.Or(u.Message, u.ChannelPost); m != nil {
		return m, false
	}
	return cmp.Or(u.EditedMessage, u.EditedChannelPost), true
}

// album names the album that a new message is of; "" where it is of none.
func (u update) album() string {
	m, edited := u.message()
	if m == nil || edited || m.Album == "" {
		return ""
	}
	return fmt.Sprint(m.Chat.ID, m.Album)
}

// parse reads one update. A member of a type of tomorrow is passed over; the rest is read. Without an id it cannot be
// acknowledged.
func parse(raw json.RawMessage) (u update, ok bool) {
	err := json.Unmarshal(raw, &u)
	return u, u.ID != 0 && (err == nil || errors.As(err, new(*json.UnmarshalTypeError)))
}

// author is the sender of a message: a user, or a chat in whose name it was written.
type author struct {
	ID      string
	Claimed string // the name as Telegram shows it; not unique
	Bot     bool
}

func (m *message) author() author {
	switch {
	case m.SenderChat != nil: // an anonymous administrator, a channel; From is a stand-in
		return m.SenderChat.author()
	case m.From != nil:
		return m.From.author()
	}
	return m.Chat.author()
}

func (p place) author() author {
	return author{ID: strconv.FormatInt(p.ID, 10), Claimed: cmp.Or(p.Title, p.Username)}
}

func (u user) author() author {
	id := strconv.FormatInt(u.ID, 10)
	return author{id, cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Username, "user "+id), u.IsBot}
}

// command is a text that begins like /name@bot rest. The name is in lower case.
type command struct{ Name, Bot, Rest string }

var commandForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^/(\w{1,64})(?:@(\w{0,64}))?(?:[\s\pZ\x85](.*))?$`)
})

// commandOf reads a text as a command.
func commandOf(text string) (c command, ok bool) {
	m := commandForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return command{}, false
	}
	return command{strings.ToLower(m[1]), m[2], strings.TrimSpace(m[3])}, true
}
