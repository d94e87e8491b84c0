package telegram

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// A line of ours keeps a note of its message, for the answer that quotes it.
type note struct {
	Chat    int64 `json:"c"`
	Message int   `json:"m"`
	Thread  int   `json:"t,omitempty"`
}

// draft is the content of a message.
type draft struct {
	quote string   // a line of its own, or empty
	marks []string // "(edited)" and the like
	words string
	files []*file
}

// text is the whole text. tag stands for the files.
func (d *draft) text(tag string) string {
	parts := append(d.marks[:len(d.marks):len(d.marks)], tag, d.words)
	return d.quote + strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// outcome is the outcome of an update: its line, if it has one, and the actions once the batch is accepted.
type outcome struct {
	line  *bridge.Message
	files []*file // they have to be fetched, and the update handled again with their tags
	then  []func()
}

// later has f done when the batch is accepted.
func (h *outcome) later(f func()) { h.then = append(h.then, f) }

// spot is the place of a message.
type spot struct {
	chat   models.Chat
	id     string // of the chat, as the policy and the routes know it
	thread int    // the topic, or 0
	peer   string
	room   string
}

func (p spot) private() bool { return p.chat.Type == models.ChatTypePrivate }

func (s *session) spot(m *message, rules access.Rules) spot {
	place := spot{chat: m.Chat, id: s.chats.canonical(strconv.FormatInt(m.Chat.ID, 10))}
	if m.IsTopicMessage { // otherwise the thread is a chain of replies
		place.thread = m.MessageThreadID
	}
	place.peer = peerOf(place.id, place.thread, rules)
	place.room = s.room(place.peer, rules)
	return place
}

// handle makes the outcome of an update; tag stands for its files, once they were fetched. It changes nothing but
// s.seen; outcome.then does the rest.
func (s *session) handle(u update, tag string) (result outcome, err error) {
	// While the list cannot be read nobody is a stranger, and Telegram keeps what came.
	rules, err := s.rules()
	if err != nil {
		return result, err
	}
	if shown := u.pressed(); shown != nil {
		return s.press(u, shown, rules), nil
	}
	msg, edited := u.message()
	switch {
	case msg == nil:
		return result, nil
	case msg.MigrateToChatID != 0:
		return result, s.migrated(msg.Chat.ID, msg.MigrateToChatID)
	case msg.MigrateFromChatID != 0:
		return result, s.migrated(msg.MigrateFromChatID, msg.Chat.ID)
	case edited && msg.Location != nil: // a live location is edited every few seconds
		return result, nil
	}
	return s.handleMessage(u, tag, rules), nil
}

func (s *session) handleMessage(u update, tag string, rules access.Rules) (result outcome) {
	msg, edited := u.message()
	content, at, who := s.draft(u, rules), s.spot(msg, rules), authorOf(msg)
	if content == nil {
		return result
	}
	if who.Bot && !rules.User(who.ID) {
		result.later(func() { s.denied(who, at, "other bots are heard only if they are listed") })
		return result
	}
	cmd, isCommand := commandIn(msg, edited)
	if s.forAnother(cmd) {
		return result
	}
	answer := parcel{Thread: at.thread, ReplyTo: msg.ID, Chat: msg.Chat.ID} // of the bridge itself
	if allowed, why := rules.Decide(who.ID, at.peer, at.private()); !allowed {
		return s.turnAway(who, at, why, cmd.asksBridge() && !rules.Chat(at.id), answer)
	}
	result.later(func() { s.wake(at.id) }) // somebody is there
	if cmd.asksBridge() {
		answer.Text = ids(who, at)
		if cmd.Name == "start" {
			answer.Text = s.introduction(at.room)
		}
		result.later(func() { s.tell(at.peer, answer) })
		return result
	}
	if isCommand {
		content.asCommand(cmd)
	}
	result.line = s.line(s.idOf(u), msg, at, rules.NameFor(who.ID, who.Claimed))
	result.line.Peer, result.line.Room = s.answer(msg, content, at)
	result.line.Text = rules.Obeyed(who.ID, content.text(tag))
	if tag == "" && content.files != nil {
		result.files = content.files
		return result
	}
	if said := s.remember(msg, result.line.Text); edited && said == result.line.Text {
		return outcome{} // the preview of a link has come, or the like
	}
	if edited {
		content.marks = append([]string{"(edited)"}, content.marks...)
		result.line.Text = content.text(tag)
	}
	result.later(func() { s.hire(at) })
	result.later(func() { s.showTyping(at.peer, result.line.Room, at.thread) })
	return result
}

// turnAway passes no word of a message on. It offers the way in to a private chat, and to a group that asks for it.
func (s *session) turnAway(who author, at spot, why string, asks bool, answer parcel) (result outcome) {
	result.later(func() { s.denied(who, at, why) })
	groupAsks := asks && at.chat.Type != models.ChatTypeChannel
	if at.private() || groupAsks {
		result.later(func() { s.offer(at, answer) })
	}
	return result
}

// commandIn returns the command in a message. An edit, or words of somebody else, hold no command.
func commandIn(m *message, edited bool) (cmd command, ok bool) {
	if edited || foreign(m) {
		return command{}, false
	}
	return commandOf(m.Text)
}

// forAnother reports whether a command names another bot.
func (s *session) forAnother(cmd command) bool {
	return cmd.Bot != "" && !strings.EqualFold(cmd.Bot, s.me.Load().Username)
}

// asksBridge reports whether the bridge itself answers a command.
func (c command) asksBridge() bool { return c.Name == "start" || c.Name == "id" }

// remember remembers the text of a message, and returns the text that it had before.
func (s *session) remember(m *message, text string) (before string) {
	which := messageID{m.Chat.ID, m.ID}
	before = s.seen[which]
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[which] = text
	return before
}

// line returns the line of a room that a message becomes, without its text.
func (s *session) line(id string, m *message, at spot, name string) *bridge.Message {
	data, _ := json.Marshal(note{Chat: m.Chat.ID, Message: m.ID, Thread: at.thread}) // cannot fail
	sent := time.Unix(cmp.Or(m.EditDate, m.Date), 0)
	return &bridge.Message{ID: id, Peer: at.peer, Room: at.room, User: name, At: sent, Note: data}
}

// draft returns the content of an update's messages, or nil where they only tell what happened in the chat.
func (s *session) draft(u update, rules access.Rules) *draft {
	content := &draft{}
	for _, one := range append([]update{u}, u.rest...) {
		m, _ := one.message()
		content.words = strings.TrimSpace(content.words + "\n" + wordsOf(m))
		if f := fileOf(m); f != nil {
			content.files = append(content.files, f)
		}
	}
	msg, _ := u.message()
	if content.files == nil && content.words == "" {
		if content.words = besidesOf(msg); content.words == "" {
			return nil
		}
	}
	if q := s.quote(msg, rules); q != "" {
		content.quote = q + "\n"
	}
	if msg.ForwardOrigin != nil {
		content.marks = append(content.marks, "(forwarded from "+forwardedFrom(msg.ForwardOrigin, rules)+")")
	}
	if msg.ViaBot != nil {
		content.marks = append(content.marks, "(via @"+bridge.Inert(cmp.Or(msg.ViaBot.Username, "bot"))+")")
	}
	if foreign(msg) {
		content.words = strings.ReplaceAll(content.words, "hash=", "hash ")
	}
	return content
}

// asCommand writes a command as the harness wants it, and another one without the bot's name.
func (d *draft) asCommand(cmd command) {
	line := strings.TrimSpace("/" + cmd.Name + " " + strings.Join(strings.Fields(cmd.Rest), " "))
	switch name, _ := chat.Command(chat.Line{Text: line}); {
	case name != "":
		d.quote, d.words = "", line // behind a quotation nobody would obey it
	case cmd.Bot != "":
		d.words = strings.Replace(d.words, "@"+cmd.Bot, "", 1)
	}
}

type messageID struct {
	chat int64
	id   int
}

const maxSeen = 2000
