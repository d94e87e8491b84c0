package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"lethe/bridge"
	"lethe/internal/status"
)

// commands are shown by Telegram's clients as one types.
var commands = []map[string]string{
	{"command": "stop", "description": "interrupt what the agent is doing"},
	{"command": "status", "description": "what the agent is doing"},
	{"command": "model", "description": "change the model: /model NAME"},
	{"command": "budget", "description": "what was spent, and what is left"},
	{"command": "jobs", "description": "the commands that run beside the talk"},
	{"command": "id", "description": "the ids of this chat and of you, and the room"},
	{"command": "start", "description": "what this is"},
}

// introduction says what the bot is, in a chat that hears room.
func (s *session) introduction(room string) string {
	who := "Nobody is listening there at the moment: what you write waits."
	if names := listeners(s.cfg.Home, room); len(names) > 0 {
		who = "Listening there: " + strings.Join(names, ", ") + "."
	}
	return fmt.Sprintf("What you write here goes to the room %s, and what is answered there comes back here. %s\n\n"+
		"/stop interrupts a turn, /status says what is going on, /model NAME changes the model, /id tells about this chat.", room, who)
}

// ids names the sender and the chat, as a configuration wants them, and the room.
func ids(who author, at spot) string {
	lines := []string{fmt.Sprintf("you: %s (%s)", who.ID, bridge.Inert(who.Claimed))}
	if !at.private() {
		lines = append(lines, fmt.Sprintf("this chat: %d (%s)", at.chat.ID, bridge.Inert(at.chat.Title)))
	}
	if at.thread != 0 {
		lines = append(lines, fmt.Sprintf("this topic: %d", at.thread))
	}
	return strings.Join(append(lines, "room: "+at.room), "\n")
}

// listeners are the names of the identities that run and hear a room, sorted.
func listeners(home, room string) (names []string) {
	for st := range status.All(home) {
		if st.State != status.Stopped && slices.Contains(st.Rooms, room) && status.Alive(st.PID) {
			names = append(names, st.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tell sends an answer of the bridge itself, beside the rooms. It is tried twice and not kept.
func (s *session) tell(key string, out parcel) {
	s.spawn(func(ctx context.Context) {
		for range 2 {
			_, err := s.send(ctx, bridge.Peer{Key: key}, out)
			if err == nil {
				return
			}
			s.log.Debug("an answer of the bridge itself was not sent", "chat", key, "error", err)
			pause := s.cfg.tune.backoff
			if later := new(bridge.LaterError); errors.As(err, &later) {
				pause = min(max(pause, later.After), time.Minute)
			}
			if !sleep(ctx, pause) {
				return
			}
		}
	})
}

// showTyping shows "typing" in the chat of a question while an agent works for the room. It gives up
// if none begins within a few seconds. The topic is that of the newest question.
func (s *session) showTyping(key, room string, topic int) {
	if _, running := s.typing.Swap(key, topic); running {
		return
	}
	s.spawn(func(ctx context.Context) {
		defer s.typing.Delete(key)
		for tries := 0; tries < 3; tries++ {
			for bridge.Working(s.cfg.Home, room) {
				topic, _ := s.typing.Load(key)
				chat, _ := s.chatOf(bridge.Peer{Key: key})
				params := map[string]any{"chat_id": chat, "action": "typing"}
				if topic != 0 {
					params["message_thread_id"] = topic
				}
				switch answered(s.call(ctx, "sendChatAction", params, new(bool))) {
				case http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests:
					return
				}
				if !sleep(ctx, s.cfg.tune.typing) {
					return
				}
				tries = 0
			}
			if !sleep(ctx, min(time.Second, s.cfg.tune.typing)) {
				return
			}
		}
	})
}
