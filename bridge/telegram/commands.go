package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
)

// commands are shown by Telegram's clients as one types.
var commands = []models.BotCommand{
	{Command: "stop", Description: "interrupt what the agent is doing"},
	{Command: "status", Description: "what the agent is doing"},
	{Command: "model", Description: "change the model: /model NAME"},
	{Command: "rooms", Description: "which room this chat belongs to"},
	{Command: "id", Description: "the ids of this chat and of you"},
	{Command: "start", Description: "what this is"},
}

func (s *session) setCommands(ctx context.Context) error {
	var ok bool
	return s.api.call(ctx, s.api.calls, "setMyCommands", &bot.SetMyCommandsParams{Commands: commands}, &ok)
}

// reply answers the commands that are for the bridge itself.
func (s *session) reply(c command, who author, at spot, rules access.Rules) (aside, bool) {
	a := aside{chat: at.chat.ID, thread: at.thread, replyTo: at.id}
	switch c.Name {
	case "start":
		a.text = s.introduction(at.room)
	case "id":
		a.text = ids(who, at)
	case "rooms":
		a.text = s.rooms(at, rules)
	default:
		return a, false
	}
	return a, true
}

// introduction says what the bot is, in a chat that hears room.
func (s *session) introduction(room string) string {
	who := "Nobody is listening there at the moment: what you write waits."
	if names := listeners(s.cfg.Home, room); len(names) > 0 {
		who = fmt.Sprintf("%s %s it.", list(names), map[bool]string{true: "hears", false: "hear"}[len(names) == 1])
	}
	return fmt.Sprintf("What you write here goes to the room %s, and what is answered there comes back here. %s\n\n"+
		"/stop interrupts a turn, /status says what is going on, /model NAME changes the model. "+
		"/rooms and /id tell about this chat.", room, who)
}

// ids names who wrote and where, as a configuration wants them.
func ids(who author, at spot) string {
	lines := []string{fmt.Sprintf("you: %d (%s)", who.ID, clip(inert(who.Claimed), maxTitle))}
	if !at.private() {
		lines = append(lines, fmt.Sprintf("this chat: %d (%s)", at.chat.ID, clip(inert(at.chat.Title), maxTitle)))
	}
	if at.thread != 0 {
		lines = append(lines, fmt.Sprintf("this topic: %d", at.thread))
	}
	return strings.Join(lines, "\n")
}

// rooms says which room a chat and its topics belong to, and nothing of other
// chats.
func (s *session) rooms(at spot, rules access.Rules) string {
	lines := []string{"this chat: " + s.roomOf(at.policy, rules)}
	for _, r := range s.now().Routes {
		if r.Topic != 0 && s.memory.canonical(r.Chat) == at.policy {
			lines = append(lines, fmt.Sprintf("topic %d: %s", r.Topic, r.Room))
		}
	}
	if at.thread != 0 {
		lines = append(lines, fmt.Sprintf("this topic (%d): %s", at.thread, at.room))
	}
	return strings.Join(lines, "\n")
}

// list is names as a person writes them.
func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// tellDelayed tells a person that a flood limit holds lines back.
func (s *session) tellDelayed(d bridge.Delayed) {
	if d.Peer == "" {
		return
	}
	chat, thread := s.chatOf(bridge.Peer{Key: d.Peer})
	what := "1 message waits"
	if d.Waiting > 1 {
		what = fmt.Sprintf("%d messages wait", d.Waiting)
	}
	s.log.Info("a flood limit holds lines back", "user", d.Key, "chat", d.Peer, "room", d.Room, "waiting", d.Waiting)
	s.aside(aside{chat: chat, thread: thread, text: fmt.Sprintf(
		"That was faster than lines may come. Nothing is lost: %s, the next goes to the room in about %s.",
		what, max(time.Second, d.Next.Round(time.Second)))})
}
