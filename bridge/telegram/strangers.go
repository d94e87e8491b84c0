package telegram

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"

	"lethe/bridge/access"
)

// allowance is how many answers strangers get: one an hour each, and no more than
// 20 an hour in all, so that nobody makes a pest of the bot.
type allowance struct {
	all  *rate.Limiter
	told map[string]time.Time
}

const (
	tellAgain = time.Hour
	maxTold   = 1000
)

func newAllowance() *allowance {
	// 5 at once and one every 4 minutes are 20 in the first hour, and fewer later.
	return &allowance{all: rate.NewLimiter(rate.Every(4*time.Minute), 5), told: map[string]time.Time{}}
}

// may says whether who can be told at now.
func (a *allowance) may(who string, now time.Time) bool {
	for id, at := range a.told {
		if now.Sub(at) >= tellAgain {
			delete(a.told, id)
		}
	}
	if _, told := a.told[who]; told || len(a.told) >= maxTold || !a.all.AllowN(now, 1) {
		return false
	}
	a.told[who] = now
	return true
}

// back says that who was not told after all, and may be soon.
func (a *allowance) back(who string) { delete(a.told, who) }

// stranger deals with a message of somebody who may not speak: no word of it goes
// anywhere. In private he gets a code, in a group only who asks for it; member says
// that the group is listed, and only he is not.
func (s *session) stranger(m *models.Message, who author, at spot, why string, asks, member bool) heard {
	var h heard
	h.then = append(h.then, func() { s.denied(who, at, why) })
	if !at.private() && !asks || at.chat.Type == models.ChatTypeChannel {
		return h
	}
	h.then = append(h.then, func() {
		s.offer(access.Applicant{
			ID: who.id(), Name: who.Claimed, Chat: at.policy, ChatTitle: m.Chat.Title, Private: at.private(), Member: member,
		}, aside{chat: m.Chat.ID, thread: at.thread, replyTo: m.ID})
	})
	return h
}

// denied tells, once an hour of each, who wrote and was not heard.
func (s *session) denied(who author, at spot, why string) {
	if s.policy.Denied(who.id()) {
		s.log.Info("somebody who may not speak wrote; it was not passed on", "user", who.id(), "name", inert(who.Claimed),
			"chat", at.policy, "why", why)
	}
}

// offer gives an applicant a code, if there is one to be had, in answer to a
// message.
func (s *session) offer(who access.Applicant, a aside) {
	subject := who.Chat
	if who.Private {
		subject = who.ID
	}
	asker := subject + " " + who.ID
	if !s.allow.may(asker, time.Now()) {
		return
	}
	code, fresh, err := s.policy.Ask(who)
	if none := (*access.NoCodeError)(nil); errors.As(err, &none) {
		s.log.Info("somebody got no code", "who", who.String(), "why", none.Why)
		return
	}
	if err == nil && fresh && !who.Member {
		err = s.memory.asked(subject, time.Now())
	}
	if err != nil {
		s.allow.back(asker)
		s.log.Warn("somebody got no code", "who", who.String(), "error", err)
		return
	}
	s.log.Info("somebody asks to be let in and was given a code", "who", who.String())
	whom := "you"
	if !who.Private {
		whom = "this chat, or you in it,"
	}
	a.text = fmt.Sprintf("This bot does not know %s yet, and passes nothing on. Its owner can change that within the hour with\n\n"+
		"lethe bridge telegram allow %s\n\nids: %s", whom, code, strings.TrimSpace(who.ID+" "+who.Chat))
	s.aside(a)
}

// membership deals with what becomes of the bot itself in a chat.
func (s *session) membership(c *models.ChatMemberUpdated, rules access.Rules) heard {
	var h heard
	out := func(t models.ChatMemberType) bool {
		return t == models.ChatMemberTypeLeft || t == models.ChatMemberTypeBanned
	}
	id := s.memory.canonical(strconv.FormatInt(c.Chat.ID, 10))
	switch was, is := out(c.OldChatMember.Type), out(c.NewChatMember.Type); {
	case is && !was:
		if s.policy.Denied("left " + id) { // as often as they like, and told once an hour
			s.log.Info("the bot was removed from a chat, or blocked there", "chat", id, "by", c.From.ID)
		}
		return h
	case is || !was:
		return h
	}
	h.then = append(h.then, func() { s.wake(id) })
	if c.Chat.Type == models.ChatTypeGroup || c.Chat.Type == models.ChatTypeSupergroup {
		if !rules.Chat(id) {
			h.then = append(h.then, func() {
				s.offer(access.Applicant{
					ID: strconv.FormatInt(c.From.ID, 10), Name: fullName(&c.From), Chat: id, ChatTitle: c.Chat.Title,
				}, aside{chat: c.Chat.ID})
			})
		}
	}
	return h
}

// wake tries the peers of a chat again now.
func (s *session) wake(chat string) {
	keys, _ := s.known() // if that fails, they are tried within ten minutes
	for _, key := range keys {
		if of, _, _ := parseKey(key); of == chat {
			s.hub.Wake(key)
		}
	}
}
