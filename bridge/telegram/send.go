package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"lethe/bridge"
)

// Send delivers one part, and returns the message's id. Where Telegram objects to
// the markup, to the topic or to the quotation, the same text goes without it.
func (t *transport) Send(ctx context.Context, p bridge.Peer, part bridge.Part) (receipt string, err error) {
	var out parcel
	if err := json.Unmarshal(part.Data, &out); err != nil {
		return "", &bridge.RefusedError{Err: fmt.Errorf("read the part: %w", err)}
	}
	if out.Rich != "" {
		return t.sendRich(ctx, p, part, out)
	}
	return t.deliver(ctx, p, out)
}

// deliver sends one message, with less where Telegram objects.
func (t *transport) deliver(ctx context.Context, p bridge.Peer, out parcel) (receipt string, err error) {
	s := (*session)(t)
	for {
		chat, topic := s.chatOf(p)
		if silence := s.pace.silence(chat); silence > 0 {
			return "", waits(chat, silence)
		}
		if err := s.pace.wait(ctx, chat); err != nil {
			return "", err
		}
		receipt, err := s.message(ctx, chat, out)
		if err == nil {
			return receipt, nil
		}
		lesser, err := s.judge(p, chat, topic, out, err)
		if err != nil {
			return "", err
		}
		out = lesser
	}
}

// message asks Telegram once to show a message.
func (s *session) message(ctx context.Context, chat int64, out parcel) (receipt string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.call)
	defer cancel()
	off := true
	params := &bot.SendMessageParams{
		ChatID: chat, MessageThreadID: out.Thread, Text: out.Text, Entities: out.Entities,
		// The preview of a link is fetched from the address before anybody has looked at
		// it, and an agent can be talked into an address.
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	}
	if out.HTML != "" {
		params.Text, params.ParseMode = out.HTML, models.ParseModeHTML
	}
	if out.ReplyTo != 0 && out.Chat == chat {
		params.ReplyParameters = &models.ReplyParameters{MessageID: out.ReplyTo, AllowSendingWithoutReply: true}
	}
	var sent json.RawMessage
	if out.Rich != "" {
		rich := richParams{chat, out.Thread, richMessage{out.Rich}, params.ReplyParameters}
		err = s.api.call(ctx, s.api.calls, "sendRichMessage", rich, &sent)
	} else {
		err = s.api.call(ctx, s.api.calls, "sendMessage", params, &sent)
	}
	if err != nil {
		return "", err
	}
	// It was sent, whatever else the answer holds.
	var id struct {
		ID int `json:"message_id"`
	}
	if json.Unmarshal(sent, &id) != nil || id.ID == 0 {
		return "unknown", nil
	}
	return strconv.Itoa(id.ID), nil
}

// judge decides what a failure to send means: the same message with less, to be
// sent at once, or an error as bridge.Deliver wants it.
func (s *session) judge(p bridge.Peer, chat int64, topic int, out parcel, err error) (lesser parcel, final error) {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		return out, err
	}
	if refusal.MigrateTo != 0 {
		if err := s.migrated(chat, refusal.MigrateTo); err != nil {
			return out, err
		}
		if now, _ := s.chatOf(p); now != chat {
			return out, nil
		}
		return out, &bridge.UnreachableError{Err: refusal}
	}
	switch v := verdictOf(refusal); {
	case v == later:
		_ = s.noted(chat, err)
		return out, waits(chat, refusal.RetryAfter)
	case v == noToken:
		return out, s.noted(chat, err)
	case v == badMarkup && (out.HTML != "" || out.Entities != nil):
		s.log.Warn("telegram refuses the markup of a message, which goes out plain", "chat", p.Key, "error", err)
		out.HTML, out.Entities = "", nil
	case v == badReply && out.ReplyTo != 0:
		out.ReplyTo = 0
	// The topic of a peer that is a topic is gone: its room is not for the others.
	case (v == badThread || v == closed) && topic != 0, v == closed && out.Thread == 0, v == unreachable:
		return out, &bridge.UnreachableError{Err: refusal}
	case (v == badThread || v == closed) && out.Thread != 0:
		out.Thread = 0
		if err := s.memory.setThread(p.Key, 0); err != nil {
			s.log.Warn("that a topic is gone could not be noted", "chat", p.Key, "error", err)
		}
	case out.Rich != "" && (refusal.Code == http.StatusBadRequest || refusal.Code == http.StatusNotFound ||
		refusal.Code == http.StatusRequestEntityTooLarge):
		return out, fmt.Errorf("%w: %w", errNotRich, refusal)
	case refusal.Code == http.StatusBadRequest, refusal.Code == http.StatusRequestEntityTooLarge:
		return out, &bridge.RefusedError{Err: refusal}
	default:
		return out, err
	}
	return out, nil
}

// waits says that Telegram has asked to wait in a chat.
func waits(chat int64, d time.Duration) error {
	return &bridge.LaterError{After: d, Err: fmt.Errorf("telegram asks to wait %s in chat %d", max(time.Second, d.Round(time.Second)), chat)}
}

// noted takes from an error what concerns more than the one message, and returns
// it.
func (s *session) noted(chat int64, err error) error {
	var refusal *apiError
	if errors.As(err, &refusal) {
		switch verdictOf(refusal) {
		case later:
			s.pace.hold(chat, refusal.RetryAfter)
		case noToken:
			s.fail(fmt.Errorf("%w: %w", ErrToken, err))
		}
	}
	return err
}

// verdict is what Telegram's refusal of a message is about.
type verdict int

const (
	unknown     verdict = iota
	later               // too many messages
	noToken             // the token is not known
	unreachable         // nothing goes to this chat until somebody acts there
	badMarkup
	badThread // there is no such topic
	closed    // the topic is closed
	badReply
)

// verdictOf reads a refusal. Telegram tells most of them apart by their words
// alone, so this is the one place that knows the words.
func verdictOf(e *apiError) verdict {
	switch e.Code {
	case http.StatusTooManyRequests:
		return later
	case http.StatusUnauthorized:
		return noToken
	case http.StatusForbidden:
		return unreachable
	case http.StatusBadRequest:
	default:
		return unknown
	}
	said := strings.ToLower(e.Description)
	for _, known := range []struct {
		words   string
		verdict verdict
	}{
		{"can't parse entities", badMarkup}, {"can't find end", badMarkup}, {"entit", badMarkup}, {"unsupported url", badMarkup},
		{"thread not found", badThread}, {"topic_deleted", badThread}, {"topic_id_invalid", badThread},
		{"topic_closed", closed},
		{"replied not found", badReply}, {"reply message not found", badReply}, {"message to reply not found", badReply},
		{"chat not found", unreachable}, {"user not found", unreachable}, {"peer_id_invalid", unreachable},
		{"not enough rights", unreachable}, {"have no rights", unreachable}, {"need administrator rights", unreachable},
		{"chat_write_forbidden", unreachable}, {"chat_restricted", unreachable}, {"chat_admin_required", unreachable},
		{"user_is_blocked", unreachable}, {"input_user_deactivated", unreachable}, {"channel_private", unreachable},
		{"user_banned_in_channel", unreachable}, {"chat_send_plain_forbidden", unreachable}, {"deactivated", unreachable},
		{"not a member", unreachable}, {"was kicked", unreachable}, {"was blocked", unreachable},
	} {
		if strings.Contains(said, known.words) {
			return known.verdict
		}
	}
	return unknown
}
