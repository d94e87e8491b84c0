package telegram

import (
	"encoding/json"
	"regexp"
	"strings"

	"lethe/bridge"
	"lethe/bridge/telegram/markup"
)

// transport is a session as bridge.Deliver sees it.
type transport session

// parcel is one message on its way out, as it waits in the peer's file.
type parcel struct {
	Text    string           `json:"text"`              // plain
	HTML    string           `json:"html,omitempty"`    // the same with markup; it goes first
	Rich    string           `json:"rich,omitempty"`    // Markdown of a rich message
	Instead []markup.Message `json:"instead,omitempty"` // of Rich, if that is refused
	Thread  int              `json:"thread,omitempty"`  // the topic
	// ReplyTo is the message that is quoted, and Chat where it was written: a group that became a
	// supergroup counts its messages anew.
	ReplyTo int   `json:"reply_to,omitempty"`
	Chat    int64 `json:"chat,omitempty"`
}

// Parts renders a line. The lines of agents go to every peer of their room, those of people, with
// relay = "all", to every peer but the one that they came from.
func (t *transport) Parts(p bridge.Peer, l bridge.Line) ([]bridge.Part, error) {
	s := (*session)(t)
	var messages []markup.Message
	text := l.Text
	switch {
	case l.Agent && l.Origin == nil:
		if len(listeners(s.cfg.Home, l.Room)) > 1 {
			text = signed(l.Name, text)
		}
		messages = markup.Render(text, markup.Limit)
	case s.now().Relay != RelayAll, l.Origin != nil && l.Origin.Peer == p.Key:
		return nil, nil
	default:
		messages = relayed(l.Name, l.Text)
	}
	thread, err := s.threadOf(p, l)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	all := []parcel{{Rich: text, Instead: messages}}
	if !s.cfg.Rich || !l.Agent || !canBeRich(text) {
		all = nil
		for _, m := range messages {
			all = append(all, parcel{Text: m.Text, HTML: m.HTML})
		}
	}
	var n note
	if l.Answers != nil && json.Unmarshal(l.Answers.Note, &n) == nil {
		all[0].ReplyTo, all[0].Chat = n.Message, n.Chat
	}
	var parts []bridge.Part
	for _, out := range all {
		out.Thread = thread
		data, err := json.Marshal(out)
		if err != nil {
			return nil, &bridge.RefusedError{Err: err}
		}
		parts = append(parts, bridge.Part{Data: data})
	}
	return parts, nil
}

// threadOf is the topic that a line goes to: that of a peer which is a topic, or else the one in
// which all was said that the line answers, or else that of the line before.
func (s *session) threadOf(p bridge.Peer, l bridge.Line) (int, error) {
	if _, own, _ := parseKey(p.Key); own != 0 {
		return own, nil
	}
	if topic, same := topicOf(l.Open); same {
		return topic, s.chats.setThread(p.Key, topic)
	}
	return s.chats.thread(p.Key), nil
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

// relayed is what another person said, in plain text. The name stands in front of each message,
// and a mark in front of each further line, so that nobody can write what looks like another's
// line.
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

var escaped = regexp.MustCompile("[!-/:-@[-`{-~]")

// signed puts an agent's name above its text, in Markdown.
func signed(name, text string) string {
	return "**" + escaped.ReplaceAllString(name, `\$0`) + ":**\n\n" + text
}
