package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
)

// idOf names an update for ever.
func (s *session) idOf(u update) string {
	if u.CallbackQuery != nil {
		return s.source + "/c" + u.CallbackQuery.ID
	}
	return fmt.Sprintf("%s/u%d", s.source, u.ID)
}

// poll fetches updates until ctx ends. What it has fetched is safe before the next request says
// so: offset is sent once, behind a batch, and not again, since the next ids may be lower ones.
func (s *session) poll(ctx context.Context) error {
	wait := bridge.Backoff(s.cfg.tune.backoff, s.cfg.tune.maxBackoff)
	for s.identify(ctx) != nil {
		if !sleep(ctx, wait.NextBackOff()) {
			return nil
		}
	}
	wait.Reset()
	var offset int64
	timeout := time.Duration(0) // the first answer comes at once: it says that all is well
	for ctx.Err() == nil {
		began := time.Now()
		batch, err := s.fetchUpdates(ctx, offset, timeout)
		if err != nil {
			offset = 0
			sleep(ctx, max(wait.NextBackOff(), s.report(ctx, err)))
			continue
		}
		next, news, err := s.takeIn(ctx, batch)
		if err != nil { // on our own side: a person who mends it waits for it to end
			offset = 0
			sleep(ctx, min(wait.NextBackOff(), 10*time.Second))
			continue
		}
		offset = next
		wait.Reset()
		// Not before: what is fetched and cannot be taken in is not heard.
		s.hub.Exchanged()
		if timeout == 0 && s.cfg.Ready != nil {
			s.cfg.Ready(s.me.Load().Username)
		}
		// A server that does not wait, or gives the same again, must not be asked without end.
		soon := time.Since(began) < timeout/4
		if soon && !news {
			sleep(ctx, s.cfg.tune.backoff)
		}
		timeout = s.cfg.tune.poll
	}
	return nil
}

// sleep waits for d and says whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// call asks a method of the Bot API that answers soon.
func (s *session) call(ctx context.Context, method string, params, dest any) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.call)
	defer cancel()
	return s.api.call(ctx, method, params, dest)
}

// identify asks for the bot's name and id, and lists its commands.
func (s *session) identify(ctx context.Context) error {
	var me models.User
	err := s.call(ctx, "getMe", struct{}{}, &me)
	if answered(err) == http.StatusNotFound { // one is no proof: something in between may have given it
		err = s.call(ctx, "getMe", struct{}{}, &me)
	}
	if err != nil {
		s.report(ctx, err)
		return err
	}
	s.hub.Exchanged()
	s.me.Store(&me)
	s.log.Info("telegram answers", "bot", "@"+me.Username, "id", me.ID)
	if err := s.call(ctx, "setMyCommands", object{"commands": commands}, new(bool)); err != nil {
		s.log.Debug("telegram was not told the commands", "error", err)
	}
	return nil
}

// fetchUpdates asks for updates; with an offset Telegram forgets all below it.
func (s *session) fetchUpdates(ctx context.Context, offset int64, timeout time.Duration) ([]update, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+s.cfg.tune.grace)
	defer cancel()
	params := object{
		"offset": offset, "limit": 100, "timeout": int(timeout / time.Second), "allowed_updates": allowedUpdates,
	}
	var raws []json.RawMessage
	if err := s.api.call(ctx, "getUpdates", params, &raws); err != nil {
		return nil, err
	}
	batch, err := s.readUpdates(raws)
	if timeout > 0 && endsInAlbum(batch) && sleep(ctx, s.cfg.tune.album) {
		return s.fetchUpdates(ctx, 0, 0) // with the messages of the album that have come meanwhile
	}
	return batch, err
}

// endsInAlbum reports whether more messages of an album may follow a batch.
func endsInAlbum(batch []update) bool { return len(batch) > 0 && batch[len(batch)-1].album() != "" }

// fresh returns the updates that were not taken yet. The messages of an album make one.
func (s *session) fresh(batch []update) (all []update) {
	for _, u := range batch {
		_, taken := s.hub.Taken(s.idOf(u))
		n := len(all)
		goesOn := endsInAlbum(all) && u.album() == all[n-1].album()
		switch {
		case taken:
		case goesOn:
			all[n-1].rest = append(all[n-1].rest, u)
		default:
			all = append(all, u)
		}
	}
	return all
}

// readUpdates reads the updates of a batch, each once.
func (s *session) readUpdates(raws []json.RawMessage) (batch []update, err error) {
	for _, raw := range raws {
		u, ok := parse(raw)
		if !ok {
			s.log.Warn("an update has no id and is passed over")
		} else if !slices.ContainsFunc(batch, func(b update) bool { return b.ID == u.ID }) {
			batch = append(batch, u)
		}
	}
	if len(raws) > 0 && len(batch) == 0 {
		return nil, errors.New("getUpdates: no update in the answer has an id")
	}
	return batch, nil
}

// takeIn deals with a batch of updates and returns the offset behind it; news says that some
// were not known. After an error the batch is to be fetched again: what it had brought in by
// then is recognised.
func (s *session) takeIn(ctx context.Context, batch []update) (next int64, news bool, err error) {
	before := maps.Clone(s.seen)
	if next, news, err = s.take(ctx, batch); err != nil {
		s.seen = before
	}
	if ctx.Err() == nil {
		s.hub.LocalTrouble("take in messages", err)
	}
	return next, news, err
}

func (s *session) take(ctx context.Context, batch []update) (next int64, news bool, err error) {
	if err := s.hub.Refresh(); err != nil {
		return 0, false, err
	}
	if len(batch) == 0 { // who may speak has to be known before there is somebody
		_, err := s.policy.Rules()
		return 0, false, err
	}
	late, cancel := context.WithTimeout(ctx, s.cfg.tune.files)
	defer cancel()
	var msgs []bridge.Message
	var then []func()
	flush := func() error {
		s.reconcile(ctx) // an answer must not be in a room before its peer's position is
		err := s.hub.Accept(msgs...)
		if err == nil {
			s.reconcile(ctx)
			for _, f := range then {
				f()
			}
		}
		msgs, then = nil, nil
		return err
	}
	for _, u := range s.fresh(batch) {
		news = true
		result, err := s.handleSafely(u, "")
		if err == nil && result.files != nil {
			err = flush() // what came before a file does not wait for it
			if err == nil {
				result, err = s.withFiles(ctx, late, u, result)
			}
		}
		if err != nil {
			return 0, news, err
		}
		if result.line == nil { // a blank one, so that the update is known when it comes again
			result.line = &bridge.Message{ID: s.idOf(u), Room: s.cfg.Room}
		}
		msgs = append(msgs, *result.line)
		for _, r := range u.rest {
			msgs = append(msgs, bridge.Message{ID: s.idOf(r), Room: s.cfg.Room})
		}
		then = append(then, result.then...)
	}
	next = batch[len(batch)-1].ID + 1
	return next, news, flush()
}

// withFiles fetches the files of an update, and handles it again: its sender may have been taken off the list by then.
func (s *session) withFiles(ctx, late context.Context, u update, waiting outcome) (outcome, error) {
	var tags []string
	for _, sent := range waiting.files {
		tag, err := s.fetch(ctx, late, sent, waiting.line)
		if err != nil {
			return outcome{}, err
		}
		tags = append(tags, tag)
	}
	return s.handleSafely(u, strings.Join(tags, " "))
}

// handleSafely is handle. An update that makes it panic is passed over: it would come again
// after every restart, and nothing behind it would be heard.
func (s *session) handleSafely(u update, tag string) (h outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an update could not be dealt with and is passed over", "update", u.ID, "panic", p)
			h, err = outcome{}, nil
		}
	}()
	return s.handle(u, tag)
}

// report tells of a failure of the poll, and returns how long to wait at least.
func (s *session) report(ctx context.Context, err error) time.Duration {
	s.api.client.CloseIdleConnections()
	if ctx.Err() != nil {
		return 0
	}
	refusal := new(apiError)
	errors.As(err, &refusal) // or it stays empty
	switch {
	case refusal.Code == http.StatusUnauthorized, refusal.Code == http.StatusNotFound && s.me.Load().ID == 0:
		err = fmt.Errorf("%w: %w", ErrToken, err)
		if s.cfg.BaseURL != DefaultBaseURL {
			err = fmt.Errorf("%w; or base_url = %q is not that of a bot api", err, s.cfg.BaseURL)
		}
		s.fail(err)
	case refusal.Code == http.StatusConflict:
		s.hub.Trouble(fmt.Errorf("another program fetches the messages of this bot: %w", err))
	default:
		s.hub.Trouble(err)
	}
	return refusal.RetryAfter
}
