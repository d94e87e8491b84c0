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

// outcome is the outcome of an update: its line, if it has one, and actions for when the batch is accepted.
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
	p := spot{chat: m.Chat, id: s.chats.canonical(strconv.FormatInt(m.Chat.ID, 10))}
	if m.IsTopicMessage { // otherwise the thread is a chain of replies
		p.thread = m.MessageThreadID
	}
	p.peer = peerOf(p.id, p.thread, rules)
	p.room = s.room(p.peer, rules)
	return p
}

// handle makes the outcome of an update; tag stands for its files, once they were fetched. It changes nothing but
// s.seen; outcome.then does the rest.
func (s *session) handle(u update, tag string) (h outcome, err error) {
	// While the list cannot be read nobody is a stranger, and Telegram keeps what came.
	rules, err := s.rules()
	if err != nil {
		return h, err
	}
	if shown := u.pressed(); shown != nil {
		return s.press(u, shown, rules), nil
	}
	m, edited := u.message()
	switch {
	case m == nil:
		return h, nil
	case m.MigrateToChatID != 0:
		return h, s.migrated(m.Chat.ID, m.MigrateToChatID)
	case m.MigrateFromChatID != 0:
		return h, s.migrated(m.MigrateFromChatID, m.Chat.ID)
	case edited && m.Location != nil: // a live location is edited every few seconds
		return h, nil
	}
	return s.handleMessage(u, tag, rules), nil
}

func (s *session) handleMessage(u update, tag string, rules access.Rules) (h outcome) {
	m, edited := u.message()
	d, at, who := s.draft(u, rules), s.spot(m, rules), authorOf(m)
	if d == nil {
		return h
	}
	if who.Bot && !rules.User(who.ID) {
		h.later(func() { s.denied(who, at, "other bots are heard only if they are listed") })
		return h
	}
	cmd, isCommand := commandIn(m, edited)
	if s.forAnother(cmd) {
		return h
	}
	answer := parcel{Thread: at.thread, ReplyTo: m.ID, Chat: m.Chat.ID}        // of the bridge itself
	if allowed, why := rules.Decide(who.ID, at.peer, at.private()); !allowed { // no word of it goes anywhere
		h.later(func() { s.denied(who, at, why) })
		unlisted := !rules.Chat(at.id) && at.chat.Type != models.ChatTypeChannel
		switch {
		case at.private(), cmd.asksBridge() && unlisted:
			h.later(func() { s.offer(at, answer) })
		}
		return h
	}
	h.later(func() { s.wake(at.id) }) // somebody is there
	if cmd.asksBridge() {
		answer.Text = ids(who, at)
		if cmd.Name == "start" {
			answer.Text = s.introduction(at.room)
		}
		h.later(func() { s.tell(at.peer, answer) })
		return h
	}
	if isCommand {
		d.asCommand(cmd)
	}
	h.line = s.line(s.idOf(u), m, at, rules.NameFor(who.ID, who.Claimed))
	h.line.Peer, h.line.Room = s.answer(m, d, at)
	h.line.Text = rules.Obeyed(who.ID, d.text(tag))
	if tag == "" && d.files != nil {
		h.files = d.files
		return h
	}
	if said := s.remember(m, h.line.Text); edited && said == h.line.Text {
		return outcome{} // the preview of a link has come, or the like
	}
	if edited {
		d.marks = append([]string{"(edited)"}, d.marks...)
		h.line.Text = d.text(tag)
	}
	h.later(func() { s.showTyping(at.peer, h.line.Room, at.thread) })
	return h
}

// commandIn returns the command in a message. An edit holds none, nor do words of somebody else.
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
	d := &draft{}
	for _, one := range append([]update{u}, u.rest...) {
		m, _ := one.message()
		d.words = strings.TrimSpace(d.words + "\n" + wordsOf(m))
		if f := fileOf(m); f != nil {
			d.files = append(d.files, f)
		}
	}
	m, _ := u.message()
	if d.files == nil && d.words == "" {
		if d.words = besidesOf(m); d.words == "" {
			return nil
		}
	}
	if q := s.quote(m, rules); q != "" {
		d.quote = q + "\n"
	}
	if m.ForwardOrigin != nil {
		d.marks = append(d.marks, "(forwarded from "+forwardedFrom(m.ForwardOrigin, rules)+")")
	}
	if m.ViaBot != nil {
		d.marks = append(d.marks, "(via @"+bridge.Inert(cmp.Or(m.ViaBot.Username, "bot"))+")")
	}
	if foreign(m) {
		d.words = strings.ReplaceAll(d.words, "hash=", "hash ")
	}
	return d
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
