package botapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

func (s *Server) editMessageText(p *bot.EditMessageTextParams) (any, *refusal) {
	c, ref := s.writable(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	old := c.find(p.MessageID)
	switch {
	case old == nil:
		return nil, bad("message to edit not found")
	case !c.mine[old.ID]:
		return nil, bad("message can't be edited")
	}
	text, entities, ref := s.text(p.Text, p.ParseMode, p.Entities)
	if ref != nil {
		return nil, ref
	}
	if text == old.Text && reflect.DeepEqual(entities, old.Entities) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m := *old
	m.Text, m.Entities, m.EditDate = text, entities, s.date()
	c.replace(&m)
	return &m, nil
}

func (s *Server) deleteMessage(p *bot.DeleteMessageParams) (any, *refusal) {
	c, ref := s.writable(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	if c.find(p.MessageID) == nil {
		return nil, bad("message to delete not found")
	}
	c.remove(p.MessageID)
	return true, nil
}

// Reaction is what the bot shows below a message.
type Reaction struct {
	Chat    Chat
	Message int
	Emoji   string // "" takes the reaction away
}

// emojis are some of those that Telegram allows as a reaction: others are refused.
var emojis = []string{"👍", "👎", "❤", "🔥", "🎉", "🤔", "👀", "😁", "😢", "🙏", "👌", "🤯", "💯", "⚡", "✍", "🤝", "😴", "🤷"}

func (s *Server) setMessageReaction(p *bot.SetMessageReactionParams) (any, *refusal) {
	c, ref := s.writable(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	m := c.find(p.MessageID)
	if m == nil {
		return nil, bad("message to react not found")
	}
	if len(p.Reaction) > 1 {
		return nil, bad("REACTIONS_TOO_MANY")
	}
	r := Reaction{Chat: Chat{c.info.ID, m.MessageThreadID}, Message: m.ID}
	if len(p.Reaction) == 1 {
		e := p.Reaction[0].ReactionTypeEmoji
		if e == nil || !slices.Contains(emojis, e.Emoji) {
			return nil, bad("REACTION_INVALID")
		}
		r.Emoji = e.Emoji
	}
	c.reactions = append(c.reactions, r)
	return true, nil
}

// Reactions are the reactions that the bot has set in a chat, oldest first.
func (s *Server) Reactions(where Chat) []Reaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.chat(where).reactions)
}

func (s *Server) getMe(*none) (any, *refusal) { return s.bot, nil }

// chatInfo is the part of a ChatFullInfo that this world has.
type chatInfo struct {
	models.Chat
	AccentColorID    int `json:"accent_color_id"`
	MaxReactionCount int `json:"max_reaction_count"`
}

func (s *Server) getChat(p *bot.GetChatParams) (any, *refusal) {
	c, ref := s.find(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	if c.barred != "" && c.info.Type != models.ChatTypePrivate {
		return nil, refuse(http.StatusForbidden, "%s", c.barred)
	}
	return chatInfo{Chat: c.info, MaxReactionCount: 11}, nil
}

func (s *Server) getChatMember(p *bot.GetChatMemberParams) (any, *refusal) {
	c, ref := s.writable(p.ChatID)
	if ref != nil {
		return nil, ref
	}
	u, known := s.world.users[p.UserID]
	_, in := c.members[p.UserID]
	switch {
	case p.UserID == s.bot.ID:
		m := s.member(models.ChatMemberTypeMember)
		return &m, nil
	case !known:
		return nil, bad("user not found")
	case !in:
		shown := person(u)
		return &models.ChatMember{Type: models.ChatMemberTypeLeft, Left: &models.ChatMemberLeft{User: &shown}}, nil
	}
	shown := person(u)
	return &models.ChatMember{Type: models.ChatMemberTypeMember, Member: &models.ChatMemberMember{User: &shown}}, nil
}

var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// setMyCommands keeps one list: scopes and languages are checked to be JSON and
// no more.
func (s *Server) setMyCommands(p *setMyCommandsParams) (any, *refusal) {
	if len(p.Commands) > 100 {
		return nil, bad("BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range p.Commands {
		switch {
		case !commandForm.MatchString(c.Command):
			return nil, bad("BOT_COMMAND_INVALID")
		case c.Description == "" || len([]rune(c.Description)) > 256:
			return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.commands = slices.Clone(p.Commands)
	return true, nil
}

type getMyCommandsParams struct {
	Scope        json.RawMessage `json:"scope"`
	LanguageCode string          `json:"language_code"`
}

func (s *Server) getMyCommands(*getMyCommandsParams) (any, *refusal) {
	return append([]models.BotCommand{}, s.commands...), nil
}

// Commands are the commands of the newest setMyCommands.
func (s *Server) Commands() []models.BotCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

func (s *Server) setWebhook(p *setWebhookParams) (any, *refusal) {
	s.webhook = p.URL
	if p.URL != "" {
		s.endPoll(s.updates.poll, setHook)
	}
	return s.changeWebhook(p.DropPendingUpdates)
}

func (s *Server) deleteWebhook(p *bot.DeleteWebhookParams) (any, *refusal) {
	s.webhook = ""
	return s.changeWebhook(p.DropPendingUpdates)
}

func (s *Server) changeWebhook(drop bool) (any, *refusal) {
	if drop {
		s.updates.pending = nil
	}
	return true, nil
}

func (s *Server) getWebhookInfo(*none) (any, *refusal) {
	return models.WebhookInfo{URL: s.webhook, PendingUpdateCount: len(s.updates.pending)}, nil
}

// Webhook makes a webhook active, as another program with the same token might;
// "" deletes it. While there is one, getUpdates is answered with 409.
func (s *Server) Webhook(url string) {
	defer s.lock()()
	s.webhook = url
	if url != "" {
		s.endPoll(s.updates.poll, setHook)
	}
}
