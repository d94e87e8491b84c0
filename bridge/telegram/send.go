package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"lethe/bridge"
)

// Send delivers one part, and returns the message's id.
func (s *session) Send(ctx context.Context, p bridge.Peer, part bridge.Part) (receipt string, err error) {
	var out parcel
	if err := json.Unmarshal(part.Data, &out); err != nil {
		return "", &bridge.RefusedError{Err: fmt.Errorf("read the part: %w", err)}
	}
	if out.Rich != "" {
		return s.sendRich(ctx, p, out)
	}
	return s.send(ctx, p, out)
}

// send delivers one message. Where Telegram objects to the markup, to the topic or to the
// quotation, the same text goes without it.
func (s *session) send(ctx context.Context, p bridge.Peer, out parcel) (receipt string, err error) {
	for {
		chat, topic := s.chatOf(p)
		if err := s.pace.wait(ctx, chat); err != nil {
			return "", err
		}
		receipt, err := s.message(ctx, chat, out)
		if err == nil {
			return receipt, nil
		}
		if out, err = s.simplify(p, chat, topic, out, err); err != nil {
			return "", err
		}
	}
}

// messageParams are those of sendMessage, and of sendRichMessage.
type messageParams struct {
	ChatID    int64             `json:"chat_id"`
	Thread    int               `json:"message_thread_id,omitempty"`
	Text      string            `json:"text,omitempty"`
	ParseMode string            `json:"parse_mode,omitempty"`
	Rich      map[string]string `json:"rich_message,omitempty"`
	Preview   map[string]bool   `json:"link_preview_options,omitempty"`
	Reply     *replyParams      `json:"reply_parameters,omitempty"`
}

type replyParams struct {
	Message int  `json:"message_id"`
	Allow   bool `json:"allow_sending_without_reply"`
}

// message asks Telegram once to show a message.
func (s *session) message(ctx context.Context, chat int64, out parcel) (receipt string, err error) {
	method, params := "sendMessage", messageParams{ChatID: chat, Thread: out.Thread, Text: out.Text}
	switch {
	case out.Rich != "":
		method, params.Rich = "sendRichMessage", map[string]string{"markdown": out.Rich}
	case out.HTML != "":
		params.Text, params.ParseMode = out.HTML, "HTML"
	}
	if out.Rich == "" {
		// The preview of a link is fetched from the address before anybody has looked at it, and an
		// agent can be talked into an address.
		params.Preview = map[string]bool{"is_disabled": true}
	}
	if out.ReplyTo != 0 && out.Chat == chat {
		params.Reply = &replyParams{out.ReplyTo, true}
	}
	var sent json.RawMessage
	if err := s.call(ctx, method, params, &sent); err != nil {
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

// simplify decides what a failure to send means: the same message with less, to be sent at once, or
// an error as bridge.Deliver wants it. Only a refusal by Telegram lessens a message: after a
// timeout it may have been shown.
func (s *session) simplify(p bridge.Peer, chat int64, topic int, out parcel, err error) (parcel, error) {
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
		return out, s.pace.hold(chat, refusal.RetryAfter)
	case v == noToken:
		s.fail(fmt.Errorf("%w: %w", ErrToken, err))
		return out, err
	case v == badMarkup && out.HTML != "":
		s.log.Warn("telegram refuses the markup of a message, which goes out plain", "chat", p.Key, "error", err)
		out.HTML = ""
	case v == badReply && out.ReplyTo != 0:
		out.ReplyTo = 0
	// The topic of a peer that is a topic is gone: its room is not for the others.
	case v == badThread && (topic != 0 || out.Thread == 0), v == unreachable:
		return out, &bridge.UnreachableError{Err: refusal}
	case v == badThread:
		out.Thread = 0
		s.threads.Delete(p.Key)
	case out.Rich != "" && refusal.Code >= 400 && refusal.Code < 500:
		return out, fmt.Errorf("%w: %w", errNotRich, refusal)
	case refusal.Code == http.StatusBadRequest, refusal.Code == http.StatusRequestEntityTooLarge:
		return out, &bridge.RefusedError{Err: refusal}
	default:
		return out, err
	}
	return out, nil
}

// verdict is what Telegram's refusal of a message is about.
type verdict int

const (
	unknown     verdict = iota
	later               // too many messages
	noToken             // the token is not known
	unreachable         // nothing goes to this chat until somebody acts there
	badMarkup
	badThread // there is no such topic, or it is closed
	badReply
)

// refusals are the words by which Telegram tells most refusals apart.
var refusals = []struct {
	words   string
	verdict verdict
}{
	{"entit", badMarkup}, {"can't find end", badMarkup}, {"unsupported url", badMarkup},
	{"thread not found", badThread}, {"topic_deleted", badThread}, {"topic_id_invalid", badThread}, {"topic_closed", badThread},
	{"replied not found", badReply}, {"reply message not found", badReply}, {"message to reply not found", badReply},
	{"chat not found", unreachable}, {"user not found", unreachable}, {"peer_id_invalid", unreachable},
	{" rights", unreachable}, {"chat_write_forbidden", unreachable}, {"chat_restricted", unreachable},
	{"chat_admin_required", unreachable}, {"chat_send_plain_forbidden", unreachable}, {"channel_private", unreachable},
	{"deactivated", unreachable}, {"not a member", unreachable}, {"blocked", unreachable}, {"banned", unreachable},
}

// verdictOf reads a refusal.
func verdictOf(e *apiError) verdict {
	switch e.Code {
	case http.StatusTooManyRequests:
		return later
	case http.StatusUnauthorized:
		return noToken
	case http.StatusForbidden:
		return unreachable
	case http.StatusBadRequest:
		said := strings.ToLower(e.Description)
		for _, known := range refusals {
			if strings.Contains(said, known.words) {
				return known.verdict
			}
		}
	}
	return unknown
}
