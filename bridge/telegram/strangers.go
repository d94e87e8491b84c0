package telegram

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lethe/bridge"
	"lethe/bridge/access"
)

// stranger deals with a message of somebody who may not speak: no word of it goes anywhere. In
// private, and to somebody who asks for it in a group, it offers a code.
func (s *session) stranger(m *message, who author, at spot, why string, asks bool) []func() {
	then := []func(){func() { s.denied(who, at, why) }}
	if !at.private() && !asks || at.chat.Type == "channel" {
		return then
	}
	return append(then, func() {
		s.offer(access.Applicant{
			ID: who.ID, Name: who.Claimed, Chat: at.id, ChatTitle: m.Chat.Title, Private: at.private(),
		}, parcel{Thread: at.thread, ReplyTo: m.ID, Chat: m.Chat.ID})
	})
}

// denied logs, once an hour for each, who wrote and was not heard.
func (s *session) denied(who author, at spot, why string) {
	if s.policy.Denied(who.ID) {
		s.log.Info("somebody who may not speak wrote; it was not passed on", "user", who.ID, "name", bridge.Inert(who.Claimed), "chat", at.id, "why", why)
	}
}

// offer answers an applicant with a code, once an hour each and 20 times an hour in all.
func (s *session) offer(who access.Applicant, answer parcel) {
	subject := who.Chat
	if who.Private {
		subject = who.ID
	}
	if s.strangers.Tokens() < 1 {
		return
	}
	code, fresh, err := s.policy.Ask(who)
	if errors.Is(err, access.ErrNoCode) {
		s.log.Debug("somebody got no code", "error", err)
		return
	}
	if err != nil {
		s.log.Warn("somebody got no code", "who", who.String(), "error", err)
		return
	}
	if fresh {
		s.asked.Store(subject, nil)
	}
	if !s.policy.Denied("told "+subject+" "+who.ID) || !s.strangers.Allow() {
		return
	}
	s.log.Info("somebody asks to be let in and was given a code", "who", who.String())
	whom := "you"
	if !who.Private {
		whom = "this chat"
	}
	answer.Text = fmt.Sprintf("This bot does not know %s yet, and passes nothing on. Its owner can change that within the hour with\n\n"+
		"lethe bridge telegram allow %s\n\nids: %s", whom, code, strings.TrimSpace(who.ID+" "+who.Chat))
	s.tell(subject, answer)
}

// membership deals with what becomes of the bot itself in a chat.
func (s *session) membership(c *membership, rules access.Rules) []func() {
	out := func(m member) bool { return m.Status == "left" || m.Status == "kicked" }
	id := s.chats.canonical(strconv.FormatInt(c.Chat.ID, 10))
	if !out(c.Old) || out(c.New) {
		return nil
	}
	then := []func(){func() { s.wake(id) }}
	if (c.Chat.Type == "group" || c.Chat.Type == "supergroup") && !rules.Chat(id) {
		by := c.From.author()
		then = append(then, func() {
			s.offer(access.Applicant{ID: by.ID, Name: by.Claimed, Chat: id, ChatTitle: c.Chat.Title}, parcel{})
		})
	}
	return then
}

// wake tries the peers of a chat again now.
func (s *session) wake(chat string) {
	keys, _ := s.hub.Peers() // if that fails, they are tried within ten minutes
	for _, key := range keys {
		if of, _ := parseKey(key); of == chat {
			s.hub.Wake(key)
		}
	}
}
