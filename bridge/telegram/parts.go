package telegram

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/telegram/markup"
)

// transport is a session as bridge.Deliver sees it.
type transport session

// parcel is one message on its way out, as it waits in the peer's file.
type parcel struct {
	Text     string                 `json:"text"`               // plain
	HTML     string                 `json:"html,omitempty"`     // the same with markup; it goes first
	Entities []models.MessageEntity `json:"entities,omitempty"` // of Text, in parts from before there was HTML
	Rich     string                 `json:"rich,omitempty"`     // Markdown of a rich message
	Instead  []markup.Message       `json:"instead,omitempty"`  // of Rich, if that is refused
	Thread   int                    `json:"thread,omitempty"`   // the topic
	// ReplyTo is the message that is quoted, and Chat where it was written: a group
	// that became a supergroup counts its messages anew.
	ReplyTo int   `json:"reply_to,omitempty"`
	Chat    int64 `json:"chat,omitempty"`
}

// Parts renders a line. The lines of agents go to every peer of their room, those
// of people, with relay = "all", to every peer but the one that they came from.
func (t *transport) Parts(p bridge.Peer, l bridge.Line) ([]bridge.Part, error) {
	s := (*session)(t)
	var messages []markup.Message
	text := l.Text
	switch {
	case l.Agent && l.Origin == nil:
		if s.voices.several(l.Room, l.Name) {
			text = signed(l.Name, text)
		}
		messages = markup.Render(text, markup.Limit)
	case s.now().Relay != RelayAll, l.Origin != nil && l.Origin.Peer == p.Key:
		return nil, nil
	default:
		messages = relayed(l.Name, l.Text)
	}
	first := parcel{}
	_, first.Thread, _ = parseKey(p.Key)
	own := first.Thread != 0
	var n note
	if l.Answers != nil && json.Unmarshal(l.Answers.Note, &n) == nil {
		first.ReplyTo, first.Chat = n.Message, n.Chat
	}
	if topic, same := topicOf(l.Open); same && !own && topic != s.memory.thread(p.Key) {
		if err := s.memory.setThread(p.Key, topic); err != nil {
			return nil, err
		}
	}
	if !own {
		first.Thread = s.memory.thread(p.Key)
	}
	if s.cfg.Rich && l.Agent && len(messages) > 0 && asRich(text) {
		return richly(text, messages, first)
	}
	var parts []bridge.Part
	for i, m := range messages {
		out := parcel{Text: m.Text, HTML: m.HTML, Thread: first.Thread}
		if i == 0 {
			out.ReplyTo, out.Chat = first.ReplyTo, first.Chat
		}
		data, err := json.Marshal(out)
		if err != nil {
			return nil, &bridge.RefusedError{Err: err}
		}
		parts = append(parts, bridge.Part{Data: data})
	}
	return parts, nil
}

// topicOf is the topic that all of the lines were said in, if they were said in one.
func topicOf(open []*bridge.Origin) (topic int, same bool) {
	for i, o := range open {
		var n note
		if json.Unmarshal(o.Note, &n) != nil || i > 0 && n.Thread != topic {
			return 0, false
		}
		topic = n.Thread
	}
	return topic, len(open) > 0
}

// relayed is what another person said, in plain text. The name stands in front of each
// message, and a mark in front of each further line, so that nobody can write what
// looks like another's line.
func relayed(name, text string) []markup.Message {
	name += ": "
	room := markup.Limit - len(name) // in bytes, which are no fewer than UTF-16 units
	messages := markup.Plain(lineBreaks.Replace(text), room)
	for i := range messages {
		messages[i].Text = name + messages[i].Text
	}
	return messages
}

var lineBreaks = strings.NewReplacer("\r\n", "\n| ", "\n", "\n| ", "\r", "\n| ", "\v", "\n| ", "\f", "\n| ",
	"\u0085", "\n| ", "\u2028", "\n| ", "\u2029", "\n| ")

// prose is text whose first line can take a name in front of it without becoming
// something else: it begins like a sentence, not like a list, a heading, a table or
// a fence.
var prose = regexp.MustCompile(`^(\p{L}|\d+(?:[^\d.)]|[.)]\S))`)

// signed puts an agent's name in front of its text, in Markdown.
func signed(name, text string) string {
	var escaped strings.Builder
	for _, r := range name {
		if r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r) {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(r)
	}
	if prose.MatchString(text) {
		return "**" + escaped.String() + ":** " + text
	}
	return "**" + escaped.String() + ":**\n\n" + text
}
