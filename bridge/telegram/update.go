package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"
)

// allowedUpdates is what the bridge asks for. Telegram keeps the list of the
// request before, so it is said each time.
var allowedUpdates = []string{
	models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage,
	models.AllowedUpdateChannelPost, models.AllowedUpdateEditedChannelPost,
	models.AllowedUpdateMyChatMember,
}

// arrival is one update as it came.
type arrival struct {
	ID   int64
	Kind string // "message", …; for the log
	models.Update
	Err error // the update makes no sense to us
}

// message is the message of an update, if it has one, and whether it is an edit.
func (a arrival) message() (m *models.Message, edited bool) {
	for _, m := range []*models.Message{a.Message, a.ChannelPost} {
		if m != nil {
			return m, false
		}
	}
	for _, m := range []*models.Message{a.EditedMessage, a.EditedChannelPost} {
		if m != nil {
			return m, true
		}
	}
	return nil, false
}

var errNoID = errors.New("an update has no id")

// parse reads one update. The models know every shape of today; of a message that
// holds a shape of tomorrow, what a line needs is read, rather than nothing.
func parse(raw json.RawMessage) (arrival, error) {
	var head map[string]json.RawMessage
	var a arrival
	err := json.Unmarshal(raw, &head)
	if err == nil {
		err = json.Unmarshal(head["update_id"], &a.ID)
	}
	if err != nil {
		return a, errNoID
	}
	delete(head, "update_id")
	a.Kind = clip(strings.Join(slices.Sorted(maps.Keys(head)), ","), maxTitle)
	if err := json.Unmarshal(raw, &a.Update); err == nil {
		return a, nil
	}
	a.Update = models.Update{}
	if a.Err = json.Unmarshal(essence(head), &a.Update); a.Err != nil {
		a.Update = models.Update{}
		a.Err = fmt.Errorf("the update is of a form that is not known")
	}
	if m, _ := a.message(); m != nil && isForward(head) {
		m.ForwardOrigin = &models.MessageOrigin{} // of nobody that we know
	}
	return a, nil
}

// isForward says whether the message of an update came from somewhere else, in
// whatever form that is told: somebody else's words must not pass for the sender's.
func isForward(update map[string]json.RawMessage) bool {
	for _, kind := range allowedUpdates[:4] {
		var m map[string]json.RawMessage
		if json.Unmarshal(update[kind], &m) != nil {
			continue
		}
		for _, key := range []string{"forward_origin", "via_bot"} {
			if origin, ok := m[key]; ok && string(origin) != "null" {
				return true
			}
		}
	}
	return false
}

// essential are the members of a message without which it is none, and its words.
var essential = []string{
	"message_id", "message_thread_id", "is_topic_message", "from", "sender_chat", "date", "chat", "edit_date", "text", "caption",
	"migrate_to_chat_id", "migrate_from_chat_id",
}

// essence is an update with nothing but the essential members of its messages.
func essence(update map[string]json.RawMessage) json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for kind, raw := range update {
		var m map[string]json.RawMessage
		if !slices.Contains(allowedUpdates[:4], kind) || json.Unmarshal(raw, &m) != nil {
			continue
		}
		part := map[string]json.RawMessage{}
		for _, key := range essential {
			if v, ok := m[key]; ok {
				part[key] = v
			}
		}
		out[kind] = part
	}
	if len(out) == 0 {
		return nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return data
}

// command is a text that begins like /name@bot rest. The name is in lower case.
type command struct{ Name, Bot, Rest string }

// commandOf reads a text as a command.
func commandOf(text string) (c command, ok bool) {
	word, rest := strings.TrimSpace(text), ""
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		word, rest = word[:end], word[end:]
	}
	name, ok := strings.CutPrefix(word, "/")
	name, bot, _ := strings.Cut(name, "@")
	if !ok || !isWord(name) || bot != "" && !isWord(bot) {
		return command{}, false
	}
	return command{strings.ToLower(name), bot, strings.TrimSpace(rest)}, true
}

func isWord(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// harness is how a command for the harness stands in a room, exactly as it wants it;
// ok is false for another.
func (c command) harness() (line string, ok bool) {
	switch {
	case (c.Name == "stop" || c.Name == "status") && c.Rest == "":
		return "/" + c.Name, true
	case c.Name == "model" && c.Rest != "":
		return "/model " + strings.Join(strings.Fields(c.Rest), " "), true
	}
	return "", false
}

// line is how a command stands in a room: one for the harness exactly as that wants
// it, and any other as it was written. A bot's name is no part of any.
func (c command) line(text string) string {
	if line, ok := c.harness(); ok {
		return line
	}
	if c.Bot == "" {
		return text
	}
	return strings.Replace(text, "@"+c.Bot, "", 1)
}
