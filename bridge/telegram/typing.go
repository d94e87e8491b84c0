package telegram

import (
	"context"
	"net/http"
	"time"

	"lethe/bridge"
)

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
