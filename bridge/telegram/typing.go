package telegram

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/chat"
)

const (
	// typingPause is between two looks at the status files, which an identity that
	// works writes often.
	typingPause = 300 * time.Millisecond
	// typingOff is how long a chat is left alone that does not want to see it.
	typingOff = 10 * time.Minute
)

// showTyping shows in each chat that an agent works on something its room waits
// for, for as long as it does. While nobody works it only waits for the identities'
// status files to change.
func (s *session) showTyping(ctx context.Context) error {
	root := filepath.Join(s.cfg.Home, "agents")
	var dirs []string
	var changed <-chan struct{}
	unwatch := func() {}
	defer func() { unwatch() }()
	due := map[string]time.Time{} // by peer
	for first := true; ctx.Err() == nil; first = false {
		if now := subdirs(root); first || !slices.Equal(now, dirs) {
			scopes := []chat.Scope{{Dir: root}}
			for _, dir := range now {
				scopes = append(scopes, chat.Scope{Dir: dir, Names: []string{"status.json"}})
			}
			unwatch()
			changed, unwatch = s.cfg.Watcher.Subscribe(scopes...)
			dirs = now
		}
		var again <-chan time.Time
		if s.typeOnce(ctx, due) {
			again = time.After(s.cfg.tune.typing)
		}
		sleep(ctx, typingPause)
		select {
		case <-ctx.Done():
		case <-again:
		case <-changed:
		}
	}
	return nil
}

func subdirs(root string) []string {
	entries, _ := os.ReadDir(root) // none is no identities
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(root, e.Name()))
	}
	return dirs
}

// typeOnce shows it in every chat where it is due, and says whether anybody works.
func (s *session) typeOnce(ctx context.Context, due map[string]time.Time) (busy bool) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.typing)
	defer cancel()
	for room, peers := range s.voices.audience() {
		if !bridge.Working(s.cfg.Home, room) {
			continue
		}
		busy = true
		for _, key := range peers {
			if now := time.Now(); now.Before(due[key]) {
				continue
			}
			due[key] = time.Now().Add(s.cfg.tune.typing - typingPause)
			if s.typeIn(ctx, key) {
				due[key] = time.Now().Add(typingOff)
			}
		}
	}
	return busy
}

// typeIn shows it in one chat. Nothing depends on it; off says not to try again
// soon.
func (s *session) typeIn(ctx context.Context, key string) (off bool) {
	id, topic := s.chatOf(bridge.Peer{Key: key})
	if topic == 0 {
		var heard bool
		if topic, heard = s.voices.topicOf(key); !heard {
			topic = s.memory.thread(key)
		}
	}
	if s.pace.silence(id) > 0 || s.pace.all.Wait(ctx) != nil {
		return false
	}
	var ok bool
	err := s.api.call(ctx, s.api.calls, "sendChatAction", &bot.SendChatActionParams{
		ChatID: id, MessageThreadID: topic, Action: models.ChatActionTyping,
	}, &ok)
	var refusal *apiError
	if err = s.noted(id, err); errors.As(err, &refusal) {
		return refusal.Code == http.StatusBadRequest || refusal.Code == http.StatusForbidden
	}
	return false
}
