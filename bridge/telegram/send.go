package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"lethe/bridge"
)

// object is one of JSON.
type object = map[string]any

// Send delivers one part.
func (s *session) Send(ctx context.Context, peer bridge.Peer, part bridge.Part) (err error) {
	var out parcel
	if err := json.Unmarshal(part.Data, &out); err != nil {
		return fmt.Errorf("%w: read the part: %w", bridge.ErrRefused, err)
	}
	return s.send(ctx, peer, out)
}

// send delivers one message. Where Telegram objects to the markup, the buttons or the topic, the same
// text goes without it.
func (s *session) send(ctx context.Context, peer bridge.Peer, out parcel) error {
	for {
		chat, topic := s.chatOf(peer)
		err := s.pace.wait(ctx, chat)
		if err != nil {
			return err
		}
		if err = s.message(ctx, chat, out); err == nil {
			return nil
		}
		if out, err = s.simplify(peer, chat, topic, out, err); err != nil {
			return err
		}
	}
}

// message asks Telegram once to show a message.
func (s *session) message(ctx context.Context, chat int64, out parcel) error {
	params := object{"chat_id": chat}
	if out.Thread != 0 {
		params["message_thread_id"] = out.Thread
	}
	if out.ReplyTo != 0 && out.Chat == chat {
		params["reply_parameters"] = object{"message_id": out.ReplyTo, "allow_sending_without_reply": true}
	}
	if len(out.Options) > 0 {
		params["reply_markup"] = object{"inline_keyboard": buttons(out.Question, out.Options)}
	}
	if len(out.Files) > 0 {
		return s.upload(ctx, params, out)
	}
	out.words(params, "text")
	// The preview of a link is fetched from the address before anybody has looked at it, and an
	// agent can be talked into an address.
	params["link_preview_options"] = map[string]bool{"is_disabled": true}
	return s.call(ctx, "sendMessage", params, new(json.RawMessage)) // it was sent, whatever the answer holds
}

// simplify returns the same message with less, to be sent at once, or an error as bridge.Deliver wants it. Only a
// refusal by Telegram lessens a message: after a timeout it may have been shown.
func (s *session) simplify(peer bridge.Peer, chat int64, topic int, out parcel, err error) (parcel, error) {
	refusal, ok := errors.AsType[*apiError](err)
	if !ok {
		return out, err
	}
	if refusal.MigrateTo != 0 {
		return out, s.follow(peer, chat, refusal)
	}
	switch refusal.Code {
	case http.StatusTooManyRequests:
		wait := refusal.RetryAfter
		return out, &bridge.LaterError{After: wait, Err: fmt.Errorf("telegram asks to wait %s", wait)}
	case http.StatusUnauthorized:
		s.fail(fmt.Errorf("%w: %w", ErrToken, err))
		return out, err
	}
	if out.HTML != "" && refusal.says(badMarkup) {
		s.log.Warn("telegram refuses the markup of a message, which goes out plain", "chat", peer.Key, "error", err)
	}
	if less, ok := out.without(refusal, topic == 0); ok {
		return less, nil
	}
	switch {
	case refusal.says(badThread), refusal.says(unreachable), refusal.Code == http.StatusForbidden:
		return out, fmt.Errorf("%w: %w", bridge.ErrUnreachable, refusal)
	case refusal.ofMessage():
		return out, fmt.Errorf("%w: %w", bridge.ErrRefused, refusal)
	}
	return out, err
}

// follow goes over to the supergroup that a group has become.
func (s *session) follow(peer bridge.Peer, chat int64, refusal *apiError) error {
	if err := s.migrated(chat, refusal.MigrateTo); err != nil {
		return err
	}
	if now, _ := s.chatOf(peer); now == chat {
		return fmt.Errorf("%w: %w", bridge.ErrUnreachable, refusal)
	}
	return nil
}

// ofMessage reports whether Telegram objects to the message itself.
func (e *apiError) ofMessage() bool {
	return e.Code == http.StatusBadRequest || e.Code == http.StatusRequestEntityTooLarge
}

// without returns a parcel without the part that Telegram objects to, if the text can go without it. toChat says that
// the peer is a chat: a peer that is a topic has a room that is not for the other topics.
func (out parcel) without(refusal *apiError, toChat bool) (less parcel, ok bool) {
	lostTopic, inTopic := refusal.says(badThread), toChat && out.Thread != 0
	switch {
	case out.HTML != "" && refusal.says(badMarkup):
		out.HTML = ""
	case out.Options != nil && refusal.says(badButtons): // the text says what to write
		out.Options = nil
	case lostTopic && inTopic: // the quoted message is gone with it
		out.Thread, out.ReplyTo = 0, 0
	case out.Pictures && refusal.ofMessage(): // the largest, and the longest, are shown only as documents
		out.Pictures = false
	case lostTopic:
		return out, false
	case out.Files != nil && refusal.ofMessage(): // where the chat takes nothing, the text finds that out
		out.Text += out.Tags + "\nnot sent: " + refusal.Error()
		out.HTML, out.Files = "", nil
	default:
		return out, false
	}
	return out, true
}

// Most refusals of a message differ in these words alone.
var (
	badMarkup  = []string{"entit", "can't find end", "unsupported url"}
	badButtons = []string{"button", "keyboard", "reply markup", "reply_markup"}
	badThread  = []string{"thread not found", "topic_deleted", "topic_id_invalid", "topic_closed"}
	// Nothing goes to this chat until somebody acts there.
	unreachable = []string{
		"chat not found", "user not found", "peer_id_invalid", " rights",
		"chat_write_forbidden", "chat_restricted", "chat_admin_required", "chat_send_plain_forbidden",
		"channel_private", "deactivated", "not a member", "blocked", "banned",
	}
)

// says says whether a refusal has one of these words.
func (e *apiError) says(words []string) bool {
	said := strings.ToLower(e.Description)
	has := func(word string) bool { return strings.Contains(said, word) }
	return e.Code == http.StatusBadRequest && slices.ContainsFunc(words, has)
}

// pace keeps messages apart. A chat that has to wait makes no other wait.
type pace struct {
	speed float64
	all   *rate.Limiter

	mu    sync.Mutex
	chats map[int64]*rate.Limiter
}

// newPace keeps, with a speed of 1, below what Telegram is known to take: 30 messages a second over
// all, about one a second in a chat, 20 a minute in a group.
func newPace(speed float64) *pace {
	return &pace{speed: speed, all: rate.NewLimiter(rate.Limit(25*speed), 5), chats: map[int64]*rate.Limiter{}}
}

// wait waits for a chat's turn.
func (p *pace) wait(ctx context.Context, chat int64) error {
	p.mu.Lock()
	own := p.chats[chat]
	if own == nil {
		own = rate.NewLimiter(rate.Limit(p.speed), 3)
		if chat < 0 {
			own = rate.NewLimiter(rate.Limit(p.speed/4), 5)
		}
		p.chats[chat] = own
	}
	p.mu.Unlock()
	if err := own.Wait(ctx); err != nil {
		return err
	}
	return p.all.Wait(ctx)
}
