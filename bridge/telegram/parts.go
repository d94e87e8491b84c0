package telegram

import (
	"cmp"
	"encoding/json"

	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/pattern"
)

// parcel is one message on its way out, as it waits in the peer's file.
type parcel struct {
	Text   string `json:"text"`             // plain
	HTML   string `json:"html,omitempty"`   // the same with markup; it goes first
	Thread int    `json:"thread,omitempty"` // the topic
	// Question and Options make the buttons under the message.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Files go out at once, as an album where they are several, with the text below the first.
	Files    []bridge.Attached `json:"files,omitempty"`
	Pictures bool              `json:"pictures,omitempty"` // they are shown as such
	Tags     string            `json:"tags,omitempty"`     // name them, where they are not sent
	// ReplyTo is the message that is quoted, and Chat where it was written: a group that became a
	// supergroup counts its messages anew.
	ReplyTo int   `json:"reply_to,omitempty"`
	Chat    int64 `json:"chat,omitempty"`
}

// Parts renders a line of an agent.
func (s *session) Parts(peer bridge.Peer, line bridge.Line) ([]bridge.Part, error) {
	rest, files := bridge.Attachments(s.cfg.Store, line.Name, line.Text)
	tags := line.Text[len(rest):]
	line.Text = rest
	text, question, twice := s.shown(peer, line)
	if twice {
		return nil, nil
	}
	render := Render
	if question.ID != "" {
		render = Plain
	}
	thread, asked := s.threadOf(peer, line)
	words := render(text, MaxUnits)
	caption := len(words) == 1 && Units(words[0].Text) <= maxCaption
	if len(files) > 0 && !caption {
		words = append(words, Message{}) // the files go behind
	}
	var all []parcel
	for _, m := range words {
		all = append(all, parcel{Text: m.Text, HTML: m.HTML, Thread: thread})
	}
	if len(all) == 0 {
		return nil, nil
	}
	if len(line.Open) == 1 {
		all[0].ReplyTo, all[0].Chat = asked.Message, asked.Chat
	}
	last := &all[len(all)-1]
	last.Question, last.Options = question.ID, question.Options
	last.Files, last.Pictures, last.Tags = files, pictures(files), tags
	var parts []bridge.Part
	for _, out := range all {
		data, _ := json.Marshal(out) // cannot fail
		parts = append(parts, bridge.Part{Data: data})
	}
	return parts, nil
}

// shown renders a line for a peer: as a question, if it is one, and twice if its chat hears it
// in the room where it stands, too.
func (s *session) shown(p bridge.Peer, line bridge.Line) (text string, question chat.Question, twice bool) {
	id, _ := parseKey(p.Key)
	notices, in, text := p.Key == noticeKey(id), "", line.Text
	if notices {
		in, text = chat.ParseNotice(line.Text)
		there, _ := s.reaches(spot{id: id}, in)
		twice = in != "" && there != ""
	}
	question, isQuestion := chat.ParseQuestion(text)
	switch {
	case isQuestion:
		text = asks(line.Name, in, question)
	case in != "":
		text = signed(line.Name+" in "+in, text)
	case notices || len(listeners(s.cfg.Home, line.Room)) > 1:
		text = signed(line.Name, text)
	}
	return text, question, twice
}

// threadOf returns the topic that a line goes to: the peer's own, or else the only topic of all messages that the line
// answers. It returns the note of the newest of these messages.
func (s *session) threadOf(peer bridge.Peer, l bridge.Line) (thread int, newest note) {
	topics := map[int]bool{}
	for _, o := range l.Open {
		newest = note{}
		_ = json.Unmarshal(o.Note, &newest) // it is our own
		topics[newest.Thread] = true
	}
	if len(topics) == 1 {
		thread = newest.Thread
	}
	_, own := parseKey(peer.Key)
	return cmp.Or(own, thread), newest
}

var escaped = pattern.Lazy("[!-/:-@[-`{-~]")

// signed puts an agent's name above its text, in Markdown.
func signed(name, text string) string {
	return "**" + escaped().ReplaceAllString(name, `\$0`) + ":**\n\n" + text
}
