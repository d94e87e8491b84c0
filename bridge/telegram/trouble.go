package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// localError is one of our own files or disk, and not of the other side.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// asLocal is the error of our own side in err, or nil.
func asLocal(err error) error {
	var l localError
	if errors.As(err, &l) {
		return l.error
	}
	return nil
}

// soon is how long at most a trouble on our own side is left alone: who mends it
// waits for it to end.
const soon = 10 * time.Second

// pause tells of a failure, and is how long to wait after it.
func (s *session) pause(ctx context.Context, err error, backoff time.Duration) time.Duration {
	if asLocal(err) != nil {
		return min(backoff, soon)
	}
	return max(backoff, s.troubled(ctx, err))
}

// troubled tells of a failure of the poll, and returns how long to wait at least.
func (s *session) troubled(ctx context.Context, err error) time.Duration {
	s.api.polls.CloseIdleConnections()
	if ctx.Err() != nil {
		return 0
	}
	var refusal *apiError
	if !errors.As(err, &refusal) {
		s.hub.Trouble(err)
		return 0
	}
	switch {
	case refusal.Code == http.StatusUnauthorized:
		s.fail(fmt.Errorf("%w: %w", ErrToken, err))
	case refusal.Code == http.StatusNotFound && s.nobody(ctx):
		s.fail(s.notFound(err))
	case conflict(err):
		s.hub.Trouble(conflictError(refusal, s.cfg.BaseURL))
	default:
		s.hub.Trouble(err)
	}
	return refusal.RetryAfter
}

// nobody says that the server does not know the bot, of which one answer alone is
// no proof: something in between may have given it.
func (s *session) nobody(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.call)
	defer cancel()
	_, err := s.api.me(ctx)
	var refusal *apiError
	return errors.As(err, &refusal) && (refusal.Code == http.StatusUnauthorized || refusal.Code == http.StatusNotFound)
}

// notFound is the end by a 404: the token is wrong, or the address before it.
func (s *session) notFound(err error) error {
	if s.cfg.BaseURL == DefaultBaseURL {
		return fmt.Errorf("%w: %w", ErrToken, err)
	}
	return fmt.Errorf("%w, or there is no bot api at base_url = %q: %w", ErrToken, s.cfg.BaseURL, err)
}

func conflict(err error) bool {
	var refusal *apiError
	return errors.As(err, &refusal) && refusal.Code == http.StatusConflict
}

// conflictError says which of the two conflicts it is, and what helps.
func conflictError(e *apiError, base string) error {
	if strings.Contains(strings.ToLower(e.Description), "webhook") {
		return errors.New("a webhook is set for this bot, so telegram gives its messages to that; to remove it: " +
			`curl "` + base + `/bot$TELEGRAM_BOT_TOKEN/deleteWebhook"`)
	}
	return errors.New("another program fetches the messages of this bot with the same token; stop it, or give one of the two another bot")
}
