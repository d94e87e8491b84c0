package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-telegram/bot/models"

	"lethe/bridge"
)

// sourceOf names the sequence of update ids: each bot has its own on each server.
func sourceOf(c Config) string {
	if c.BaseURL == DefaultBaseURL {
		return botOf(c.Token)
	}
	return fmt.Sprintf("%s@%08x", botOf(c.Token), crc32.ChecksumIEEE([]byte(c.BaseURL)))
}

// placeOf is the place that is stored with what was taken in: the sequence, and
// the first id that was not.
func (s *session) placeOf(next int64) string { return s.source + " " + strconv.FormatInt(next, 10) }

// again says whether an update below the stored place was dealt with already. Only
// those shortly below it were: after a week without updates Telegram goes on at a
// random id, which may be a lower one.
func (s *session) again(id int64) bool {
	source, number, _ := strings.Cut(s.hub.Place(), " ")
	next, err := strconv.ParseInt(number, 10, 64)
	return err == nil && source == s.source && id < next && id >= next-repeats
}

// repeats is how far back the server may repeat updates. It gives a hundred at a
// time.
const repeats = 1000

// errNoBotAPI is an answer to getUpdates that cannot be used.
var errNoBotAPI = errors.New("getUpdates: no update in the answer has an id")

// poll fetches updates until ctx ends. What it has fetched is safe before the next
// request says so: offset is sent once, behind a batch, and not again, since the
// next ids may be lower ones.
func (s *session) poll(ctx context.Context) error {
	wait := s.newBackoff()
	for s.greet(ctx) != nil {
		if !sleep(ctx, wait.NextBackOff()) {
			return nil
		}
	}
	if s.reconciled(ctx) != nil { // before the first message
		return nil
	}
	wait.Reset()
	var offset int64
	timeout := time.Duration(0) // the first answer comes at once: it says that all is well
	smooth := 0                 // polls that have to go well before a conflict is over
	for ctx.Err() == nil {
		began := time.Now()
		raws, err := s.fetch(ctx, offset, timeout)
		if err == nil {
			offset, err = s.take(ctx, raws)
			s.deaf.Store(err != nil)
		}
		if err != nil {
			pause := wait.NextBackOff()
			if conflict(err) {
				smooth = 3
			}
			pause = max(pause, s.troubled(ctx, err))
			if !sleep(ctx, pause) {
				return nil
			}
			continue
		}
		wait.Reset()
		// Not before: what is fetched and cannot be taken in is not heard.
		if smooth = max(0, smooth-1); smooth == 0 {
			s.hub.Exchanged()
			s.ready()
		}
		// A server that does not wait must not be asked without end.
		if empty := len(raws) == 0 && timeout > 0; empty && time.Since(began) < timeout/4 {
			sleep(ctx, s.cfg.tune.backoff)
		}
		timeout = s.cfg.Poll
	}
	return nil
}

func (s *session) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = s.cfg.tune.backoff, s.cfg.tune.maxBackoff, 2, 0.3
	return b
}

// sleep waits for d and says whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
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
	case refusal.Code == http.StatusUnauthorized || refusal.Code == http.StatusNotFound:
		s.fail(fmt.Errorf("%w: %w", ErrToken, err))
	case conflict(err):
		s.hub.Trouble(conflictError(refusal))
	default:
		s.hub.Trouble(err)
	}
	return refusal.RetryAfter
}

func conflict(err error) bool {
	var refusal *apiError
	return errors.As(err, &refusal) && refusal.Code == http.StatusConflict
}

// conflictError says which of the two conflicts it is, and what helps.
func conflictError(e *apiError) error {
	if strings.Contains(strings.ToLower(e.Description), "webhook") {
		return errors.New("a webhook is set for this bot, so telegram gives its messages to that; to remove it: " +
			`curl "https://api.telegram.org/bot$TELEGRAM_BOT_TOKEN/deleteWebhook"`)
	}
	return errors.New("another program fetches the messages of this bot with the same token; stop it, or give one of the two another bot")
}

// greet asks who the bot is, and says which commands it knows.
func (s *session) greet(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, s.cfg.tune.call)
	defer cancel()
	me, err := s.api.me(ask)
	if err != nil {
		s.troubled(ctx, err)
		return err
	}
	s.hub.Exchanged()
	s.mu.Lock()
	s.me = me
	s.mu.Unlock()
	s.log.Info("telegram answers", "bot", "@"+me.Username, "id", me.ID)
	if err := s.setCommands(ask); err != nil {
		s.log.Debug("telegram was not told the commands", "error", err)
	}
	return nil
}

// user is the bot; zero before greet.
func (s *session) user() models.User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me
}

// ready tells, once, that messages come and go.
func (s *session) ready() {
	if s.cfg.Ready != nil {
		s.cfg.Ready(s.user().Username)
		s.cfg.Ready = nil
	}
}

// fetch asks for updates; with an offset all below it are forgotten over there.
func (s *session) fetch(ctx context.Context, offset int64, timeout time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+s.cfg.tune.grace)
	defer cancel()
	params := struct {
		Offset  int64    `json:"offset,omitempty"`
		Limit   int      `json:"limit"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, 100, int(timeout / time.Second), allowedUpdates}
	var raws []json.RawMessage
	err := s.api.call(ctx, s.api.polls, "getUpdates", params, &raws)
	return raws, err
}

// take deals with a batch of updates, which may be empty, and returns the offset
// behind it. After an error the offset is 0 and the batch is to be fetched again:
// what it had brought in by then is recognised.
func (s *session) take(ctx context.Context, raws []json.RawMessage) (offset int64, err error) {
	if len(raws) == 0 {
		return 0, nil
	}
	fetched, stop := s.fetching(ctx)
	defer stop()
	batch, err := s.sift(raws, fetched)
	if err != nil {
		return 0, err
	}
	var msgs []bridge.Message
	var then []func()
	flush := func(next int64) error {
		err := s.accept(ctx, s.placeOf(next), msgs)
		if err == nil {
			for _, f := range then {
				f()
			}
		}
		msgs, then = nil, nil
		return err
	}
	for _, h := range batch {
		if d := h.draft; d != nil {
			// What came before a file does not wait for it.
			if d.file != nil && len(msgs) > 0 {
				if err := flush(h.update); err != nil {
					return 0, err
				}
			}
			file, err := fetched.end(ctx, d)
			if err != nil {
				return 0, err
			}
			d.Text = d.text.with(file)
			msgs = append(msgs, d.Message)
		}
		then = append(then, h.then...)
	}
	next := batch[len(batch)-1].update + 1
	if err := flush(next); err != nil {
		return 0, err
	}
	return next, nil
}

// sift hears the updates of a batch, those that come again with nothing to say,
// and begins to fetch their files.
func (s *session) sift(raws []json.RawMessage, fetched *downloads) ([]heard, error) {
	var batch []heard
	for _, raw := range raws {
		a, err := parse(raw)
		if err != nil {
			s.log.Warn("an update makes no sense and is passed over", "error", err)
			continue
		}
		h := heard{update: a.ID}
		twice := slices.ContainsFunc(batch, func(b heard) bool { return b.update == a.ID })
		if !twice && !s.again(a.ID) {
			if h, err = s.hearSafely(a); err != nil {
				return nil, err
			}
			h.update = a.ID
		}
		if h.draft != nil && h.draft.file != nil {
			fetched.begin(h.draft)
		}
		batch = append(batch, h)
	}
	if len(batch) == 0 {
		return nil, errNoBotAPI
	}
	return batch, nil
}

// hearSafely is hear, which one strange update must not stop for ever.
func (s *session) hearSafely(a arrival) (h heard, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("an update could not be dealt with and is passed over", "update", a.ID, "type", a.Kind, "panic", r)
			h, err = heard{}, nil
		}
	}()
	return s.hear(a)
}

// accept hands messages over to their rooms. While a full inbox holds it up, which
// can be long, the other side is asked now and then, so that the bridge does not
// count as deaf.
func (s *session) accept(ctx context.Context, place string, msgs []bridge.Message) error {
	if err := s.settle(ctx, msgs); err != nil {
		return err
	}
	held, release := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(held, bridge.DefaultStale/4) {
			s.touch(held)
		}
	}()
	defer func() { release(); <-ended }()
	delayed, err := s.hub.Accept(ctx, place, msgs...)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		s.hub.Wake(m.Peer) // somebody is there
	}
	if len(msgs) > 0 {
		s.changed()
	}
	for _, d := range delayed {
		s.tellDelayed(d)
	}
	return nil
}

// alive says that the other side has answered something else than a poll, which
// proves nothing while what polls bring cannot be taken in.
func (s *session) alive() {
	if !s.deaf.Load() {
		s.hub.Exchanged()
	}
}

// touch asks the other side for a sign of life.
func (s *session) touch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.call)
	defer cancel()
	if _, err := s.api.me(ctx); err == nil {
		s.alive()
	}
}
