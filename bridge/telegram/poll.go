package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
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
	stale := 0                  // answers in a row that held nothing new
	for ctx.Err() == nil {
		began := time.Now()
		raws, err := s.fetch(ctx, offset, timeout)
		if err == nil {
			offset, err = s.takeIn(ctx, raws)
		}
		// A batch of what is known does not wait, and must not be asked for without end.
		if stale++; err != nil || len(raws) == 0 || s.news > 0 {
			stale = 0
		}
		if stale > maxStale {
			err = errStale
			s.deaf.Store(true)
		}
		if err != nil {
			if conflict(err) {
				smooth = 3
			}
			if !sleep(ctx, s.pause(ctx, err, wait.NextBackOff())) {
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

// maxStale is how many answers in a row may hold nothing but known updates: one
// does when an acknowledgement was lost.
const maxStale = 2

var errStale = errors.New("getUpdates: the server gives the same updates again and again, and does not hear that they were taken")

// takeIn is take, whose failures make the bridge deaf: nothing new is heard before
// they are over.
func (s *session) takeIn(ctx context.Context, raws []json.RawMessage) (offset int64, err error) {
	s.news = 0
	// Lists that could not be read at the start may be mended by now.
	if len(raws) > 0 && !s.voices.settled() && s.reconciled(ctx) != nil {
		return 0, ctx.Err()
	}
	offset, err = s.take(ctx, raws)
	if len(raws) == 0 { // who may speak has to be known before there is somebody
		if _, err = s.policy.Rules(); errors.Is(err, access.ErrAway) {
			err = nil // it is over in a moment, and nothing came
		}
	}
	s.deaf.Store(err != nil)
	if err != nil && !errors.Is(err, errNoBotAPI) && ctx.Err() == nil {
		err = localError{err}
	}
	if ctx.Err() == nil {
		s.hub.Hinder(takingIn, asLocal(err))
	}
	return offset, err
}

const takingIn = "take in messages"

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
	s.told.Do(func() {
		if s.cfg.Ready != nil {
			s.cfg.Ready(s.user().Username)
		}
	})
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
	s.refresh(0)
	if err := s.reserve(); err != nil {
		return 0, err
	}
	fetched, stop := s.fetching(ctx)
	defer stop()
	batch, err := s.sift(raws, fetched)
	if err != nil {
		return 0, err
	}
	var drafts []*draft
	var then []func()
	flush := func(next int64) error {
		err := s.accept(ctx, s.placeOf(next), drafts)
		if err == nil {
			for _, f := range then {
				f()
			}
		}
		drafts, then = nil, nil
		return err
	}
	for _, h := range batch {
		if d := h.draft; d != nil {
			// What came before a file does not wait for it.
			if d.file != nil && len(drafts) > 0 {
				if err := flush(h.update); err != nil {
					return 0, err
				}
			}
			file, err := fetched.end(ctx, d)
			if err != nil {
				return 0, err
			}
			d.Text = d.text.with(file)
			drafts = append(drafts, d)
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
			s.news++
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

// accept hands lines over to the rooms that they belong to by now. While a full inbox
// holds it up, which can be long, the other side is asked now and then, so that the
// bridge does not count as deaf.
func (s *session) accept(ctx context.Context, place string, drafts []*draft) error {
	var msgs []bridge.Message
	for range 2 { // settle may take long, and more may change meanwhile
		var err error
		if drafts, msgs, err = s.anew(drafts); err != nil {
			return err
		}
		if err := s.settle(ctx, msgs); err != nil {
			return err
		}
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
	for _, d := range drafts {
		s.voices.heardIn(d.Peer, d.note.Thread)
		s.hub.Wake(d.Peer) // somebody is there
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
