package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cenkalti/backoff/v5"

	"lethe/bridge"
)

// errLate is the error of a file for which no time is left.
var errLate = errors.New("the files before it took too long")

// fetch stores a file that came with a message, and returns the tag of its line, which says so if
// the file cannot be fetched. late ends when the files of the batch have taken too long. An error is
// one of the disk, or the end of ctx.
func (s *session) fetch(ctx, late context.Context, f file, m bridge.Message) (string, error) {
	data, err := s.tryFetch(late, f)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		s.log.Warn("a file could not be fetched; its line says so", "kind", f.Kind, "bytes", f.Size, "error", err)
		return fmt.Sprintf("[%s %s: could not be fetched, %s]", f.named().Label(), bridge.Size(f.Size), whyNot(err)), nil
	}
	// All of it is the message's own, so that a message that comes again makes the same blob.
	_, tag, err := f.named().Put(s.cfg.Store, m.At, m.User, data)
	return tag, err
}

// tryFetch downloads a file, with up to three attempts.
func (s *session) tryFetch(late context.Context, f file) ([]byte, error) {
	if f.Size > s.cfg.tune.maxFile {
		return nil, errTooLarge
	}
	if late.Err() != nil {
		return nil, errLate
	}
	ctx, cancel := context.WithTimeout(late, s.cfg.tune.file)
	defer cancel()
	return backoff.Retry(ctx, func() ([]byte, error) {
		data, err := s.fetchOnce(ctx, f)
		refusal := new(apiError)
		switch {
		case final(err):
			return nil, backoff.Permanent(err)
		case errors.As(err, &refusal) && refusal.RetryAfter > 0:
			return nil, errors.Join(err, &backoff.RetryAfterError{Duration: refusal.RetryAfter})
		}
		return data, err
	}, backoff.WithBackOff(s.newBackoff()), backoff.WithMaxTries(3))
}

func (s *session) fetchOnce(ctx context.Context, f file) ([]byte, error) {
	var at struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := s.api.call(ctx, "getFile", map[string]string{"file_id": f.ID}, &at); err != nil {
		if refusal := new(apiError); errors.As(err, &refusal) && strings.Contains(refusal.Description, "too big") {
			err = errTooLarge
		}
		return nil, err
	}
	data, err := s.api.download(ctx, at.Path, s.cfg.tune.maxFile)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if at.Size > 0 && int64(len(data)) != at.Size {
		return nil, fmt.Errorf("download: %d bytes came of %d", len(data), at.Size)
	}
	return data, nil
}

// final says that trying again does not help.
func final(err error) bool {
	code := answered(err)
	return errors.Is(err, errTooLarge) ||
		code >= 400 && code < 500 && code != http.StatusTooManyRequests && !strings.Contains(err.Error(), "temporarily")
}

// whyNot says in a line why its file is not there, in words of our own.
func whyNot(err error) string {
	switch code := answered(err); {
	case errors.Is(err, errTooLarge), errors.Is(err, errLate):
		return err.Error()
	case code != 0:
		return fmt.Sprintf("the server answered %d", code)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "the connection failed"
}
