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

	"github.com/go-telegram/bot/models"
)

// allowedUpdates go along with each request: without them Telegram keeps the list of the request before.
var allowedUpdates = []string{"message", "edited_message", "channel_post", "edited_channel_post", "callback_query"}

// update is an update of the Bot API. Where its message is the first of an album, it has the updates of the others.
type update struct {
	models.Update
	rest []update
}

// message returns the message of an update, or nil, and whether it is an edit.
func (u update) message() (m *models.Message, edited bool) {
	if m = cmp.Or(u.Message, u.ChannelPost); m != nil {
		return m, false
	}
	return cmp.Or(u.EditedMessage, u.EditedChannelPost), true
}

// album names the album that a new message is part of, or is "".
func (u update) album() string {
	m, edited := u.message()
	if m == nil || edited {
		return ""
	}
	if m.MediaGroupID == "" {
		return ""
	}
	return fmt.Sprint(m.Chat.ID, m.MediaGroupID)
}

// pressed returns the message with the button that somebody pressed, or nil. Of an old one only the chat and the id are
// known.
func (u update) pressed() *models.Message {
	if u.CallbackQuery == nil {
		return nil
	}
	shown := u.CallbackQuery.Message
	if old := shown.InaccessibleMessage; old != nil {
		return &models.Message{ID: old.MessageID, Chat: old.Chat}
	}
	return shown.Message
}

// parse reads one update. A member of a form that package models does not know is passed over, and the rest is read: its
// own errors end the reading no more than a wrong type does. An update without an id is not ok, since it cannot be
// acknowledged.
func parse(raw json.RawMessage) (u update, ok bool) {
	err := json.Unmarshal(raw, &u)
	return u, u.ID != 0 && !errors.As(err, new(*json.SyntaxError))
}

// author is the sender of a message: a user, or the chat whose name stands over it.
type author struct {
	ID      string
	Claimed string // the name as Telegram shows it; not unique
	Bot     bool
}

func authorOf(m *models.Message) author {
	switch {
	case m.SenderChat != nil: // an anonymous administrator, a channel; From is a stand-in
		return chatAuthor(*m.SenderChat)
	case m.From != nil:
		return userAuthor(*m.From)
	}
	return chatAuthor(m.Chat)
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
