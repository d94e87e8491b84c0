package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/status"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// A question that an identity asks goes out with a button for each option. A button holds the question's id and the
// option's number; the identity's open questions tell its option and its room. A press becomes a line of the person.

// asks is a question as a message shows it, to the letter: it may be a command that is to be approved.
// in is the room that it stands in, if the chat hears another one.
func asks(name, in string, question chat.Question) string {
	if in != "" {
		in = " in " + in
	}
	text := name + " asks" + in + ":\n\n" + question.Text
	if long(question.Options) { // a button shows the beginning alone
		text += "\n"
		for i, option := range question.Options {
			text += fmt.Sprintf("\n%d. %s", i+1, option)
		}
	}
	how := "Reply to this message to answer."
	if len(question.Options) > 0 {
		how = fmt.Sprintf("Press a button, or write: %s %s.", question.ID, question.Options[0])
	}
	if len(question.For) > 0 {
		how += " For " + strings.Join(question.For, ", ") + "."
	}
	if !question.Until.IsZero() {
		how += question.Until.UTC().Format(" Until 2 January 15:04 UTC.")
	}
	return text + "\n\n" + how + " (" + question.ID + ")"
}

func long(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return Units(o) > 28 })
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// buttons returns the rows of buttons under a question: one row where they are few and short.
func buttons(id string, options []string) (rows [][]button) {
	var all []button
	for i, option := range options {
		b := button{bridge.Clip(option, 40), fmt.Sprintf("%s %d", id, i+1)}
		if long(options) {
			b.Text = fmt.Sprintf("%d. %s", i+1, b.Text)
		}
		all = append(all, b)
	}
	if len(all) <= 3 && Units(strings.Join(options, "")) <= 28 {
		return [][]button{all}
	}
	return slices.Collect(slices.Chunk(all, 1))
}

// open finds a question that an identity of the home has open, and the peer that hears an answer
// which was written at a place.
func (s *session) open(id string, at spot) (question status.Question, peer string, ok bool) {
	for st := range status.All(s.cfg.Home) {
		for _, q := range st.Questions {
			waits := q.Until.IsZero() || time.Now().Before(q.Until)
			if q.ID == id && waits {
				peer, ok = s.reaches(at, q.Room)
				return q, peer, ok
			}
		}
	}
	return question, "", false
}

// noticeKey is the key of the peer that hears a person's notices, beside the peer of the private chat.
func noticeKey(user string) string { return user + ".notify" }

// reaches says whether an answer that was written at a place may go to a room: which peer of the chat
// hears the room, if one does, or whether its person gets notices of all rooms.
func (s *session) reaches(at spot, room string) (peer string, ok bool) {
	if at.room == room {
		return at.peer, true
	}
	known, err := s.hub.Peers()
	if err != nil {
		return "", false
	}
	rooms, err := s.wanted(known)
	if err != nil {
		return "", false
	}
	for key, heard := range rooms {
		if key == noticeKey(at.id) || heard != room {
			continue
		}
		if chat, _ := parseKey(key); chat == at.id {
			return key, true
		}
	}
	_, ok = rooms[noticeKey(at.id)]
	return "", ok
}

// press handles a button that somebody pressed under a message, as handleMessage handles a message.
func (s *session) press(u update, under *message, rules access.Rules) (result outcome) {
	pressed := u.CallbackQuery
	who, at := userAuthor(pressed.From), s.spot(under, rules)
	if allowed, why := rules.Decide(who.ID, at.peer, at.private()); !allowed || who.Bot {
		result.later(func() { s.denied(who, at, "a button: "+why) })
		return result
	}
	id, number, _ := strings.Cut(pressed.Data, " ")
	n, _ := strconv.Atoi(number) // nothing is 0
	question, peer, open := s.open(id, at)
	name := rules.NameFor(who.ID, who.Claimed)
	var text string
	over := true
	switch {
	case !open:
		text = "This question is no longer open."
	case n < 1 || n > len(question.Options):
		text = "The question has no such option."
	case !question.MayAnswer(name, s.cfg.People):
		over = false
		text = "Only these may answer: " + strings.Join(question.Answerers(s.cfg.People), ", ")
	default:
		text = question.Options[n-1]
		result.line = s.line(s.idOf(u), under, at, name)
		result.line.Peer, result.line.Room = peer, question.Room
		result.line.At, result.line.Text = time.Now(), question.ID+" "+text
		result.later(func() {
			s.wake(at.id)
			s.showTyping(at.peer, question.Room, at.thread)
		})
	}
	reply := object{"callback_query_id": pressed.ID, "text": bridge.Clip(text, 200), "show_alert": result.line == nil}
	result.later(func() {
		s.spawn(func(ctx context.Context) { // a failure leaves a button that spins, or does nothing
			_ = s.call(ctx, "answerCallbackQuery", reply, new(bool))
			if over {
				buttons := object{"chat_id": under.Chat.ID, "message_id": under.ID}
				_ = s.call(ctx, "editMessageReplyMarkup", buttons, new(json.RawMessage))
			}
		})
	})
	return result
}

// shows reports whether a message of the bot is a question, or the last part of a long one: an agent
// can write the id of another question behind its own words. White space does not count.
func shows(message string, q chat.Question) bool {
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	all := asks("", "", q)
	_, rest, _ := strings.Cut(all, ":")
	message, rest = bare(message), bare(rest)
	if Units(all) > MaxUnits/2 && strings.HasSuffix(rest, message) {
		return true
	}
	return strings.HasSuffix(message, rest)
}

// isOurs reports whether the bot wrote a message, which may be nil.
func (s *session) isOurs(m *message) bool {
	if m == nil || m.From == nil {
		return false
	}
	return m.From.ID == s.me.Load().ID
}

// answer has a message that answers an open question be an answer in the question's room, which it
// returns with the peer that hears it there. Such a message begins with the id, or replies to the
// question's message.
func (s *session) answer(msg *message, content *draft, at spot) (peer, room string) {
	words := strings.TrimSpace(content.words)
	id := strings.ToLower(words[:min(len(words), len("q3fa9c1"))])
	if to := msg.ReplyToMessage; s.isOurs(to) && !chat.ValidQuestionID(id) {
		if begin := strings.LastIndex(to.Text, "(q"); begin >= 0 { // as asks ends
			id = strings.TrimSuffix(to.Text[begin+1:], ")")
			if q, _, ok := s.open(id, at); !ok || !shows(to.Text, q.Question) {
				return at.peer, at.room
			}
			words = id + " " + words
		}
	}
	if foreign(msg) || !chat.ValidQuestionID(id) {
		return at.peer, at.room
	}
	question, peer, ok := s.open(id, at)
	if _, _, fits := question.Answer(words); !ok || !fits {
		return at.peer, at.room
	}
	content.quote, content.words = "", words
	return peer, question.Room
}
