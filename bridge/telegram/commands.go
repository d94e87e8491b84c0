package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/agent/status"
	"lethe/bridge"
)

// commands are shown by Telegram's clients as one types.
var commands = []models.BotCommand{
	{Command: "stop", Description: "interrupt what the agent is doing"},
	{Command: "status", Description: "what the agent is doing"},
	{Command: "model", Description: "change the model: /model NAME"},
	{Command: "budget", Description: "what was spent, and what is left"},
	{Command: "jobs", Description: "the commands that run beside the talk"},
	{Command: "id", Description: "the ids of this chat and of you, and the room"},
	{Command: "start", Description: "what this is"},
}

// introduction explains the bot in a chat that hears room.
func (s *session) introduction(room string) string {
	who := "Nobody is listening there at the moment: what you write waits."
	if names := listeners(s.cfg.Home, room); len(names) > 0 {
		who = "Listening there: " + strings.Join(names, ", ") + "."
	}
	return fmt.Sprintf("What you write here goes to the room %s, and what is answered there comes back here. %s\n\n"+
		"/stop interrupts a turn, /status says what is going on, /model NAME changes the model, "+
		"/id tells about this chat.", room, who)
}

// ids names the sender and the chat, as a configuration wants them, and the room.
func ids(who author, at spot) string {
	lines := []string{fmt.Sprintf("you: %s (%s)", who.ID, bridge.Inert(who.Claimed))}
	if !at.private() {
		lines = append(lines, fmt.Sprintf("this chat: %d (%s)", at.chat.ID, bridge.Inert(at.chat.Title)))
	}
	if at.thread != 0 {
		lines = append(lines, "this topic: "+keyOf(at.id, at.thread))
	}
	return strings.Join(append(lines, "room: "+at.room), "\n")
}

// listeners are the names of the identities that run and hear a room, sorted.
func listeners(home, room string) (names []string) {
	for st := range status.All(home) {
		if st.State != status.Stopped && slices.Contains(st.Rooms, room) {
			names = append(names, st.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tell sends an answer of the bridge itself, beside the rooms. It is tried twice and not kept.
func (s *session) tell(key string, out parcel) {
	s.spawn(func(ctx context.Context) {
		if s.send(ctx, bridge.Peer{Key: key}, out) != nil && sleep(ctx, s.cfg.tune.backoff) {
			_ = s.send(ctx, bridge.Peer{Key: key}, out)
		}
	})
}

// showTyping shows "typing" in the chat of a question while an agent works for the room, which may begin a little
// later.
func (s *session) showTyping(key, room string, topic int) {
	if _, shown := s.typing.LoadOrStore(key, nil); shown {
		return
	}
	s.spawn(func(ctx context.Context) {
		defer s.typing.Delete(key)
		chat, _ := s.chatOf(bridge.Peer{Key: key})
		params := object{"chat_id": chat, "action": "typing"}
		if topic != 0 {
			params["message_thread_id"] = topic
		}
		sleep(ctx, min(time.Second, s.cfg.tune.typing))
		for bridge.Working(s.cfg.Home, room) {
			err := s.call(ctx, "sendChatAction", params, new(bool))
			if answered(err) != 0 || !sleep(ctx, s.cfg.tune.typing) {
				return
			}
		}
	})
}

// denied logs who wrote and was not heard, once each, and 20 at once.
func (s *session) denied(who author, at spot, why string) {
	if s.denials.Tokens() < 1 {
		return
	}
	if _, logged := s.logged.LoadOrStore(who.ID, nil); !logged && s.denials.Allow() {
		s.log.Info("somebody who may not speak wrote; it was not passed on",
			"user", who.ID, "name", bridge.Inert(who.Claimed), "chat", at.id, "why", why)
	}
}

// offer tells a stranger how the owner can let them in, once each and 20 times an hour in all.
func (s *session) offer(at spot, answer parcel) {
	if _, asked := s.asked.Load(at.id); asked || !s.strangers.Allow() {
		return
	}
	s.asked.Store(at.id, nil)
	whom, id := "you", at.id
	if !at.private() {
		whom, id = "this chat", "-- "+at.id // a negative number is no flag
	}
	answer.Text = fmt.Sprintf("This bot does not know %s yet, and passes nothing on. "+
		"Its owner can change that with\n\n"+
		"lethe bridge telegram allow %s", whom, id)
	s.tell(at.id, answer)
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
