package telegram

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// aside is an answer of the bridge itself, beside the rooms. It is sent as soon as
// its chat's pace allows it, and not kept.
type aside struct {
	chat            int64
	thread, replyTo int
	text            string

	failed bool      // once; there is no third time
	due    time.Time // not before
}

// asides are those that wait. None waits for another chat's.
type asides struct {
	more chan struct{} // capacity 1: one was added

	mu    sync.Mutex
	queue []aside // in order of arrival
}

// Bounds of what waits, so that who asks without end is no burden to others.
const (
	maxAsides     = 100
	maxChatAsides = 10
)

func newAsides() *asides { return &asides{more: make(chan struct{}, 1)} }

// add queues an answer, and says whether there was room for it.
func (q *asides) add(a aside) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	same := 0
	for _, other := range q.queue {
		if other.chat == a.chat {
			same++
		}
	}
	if same >= maxChatAsides || len(q.queue) >= maxAsides {
		return false
	}
	q.queue = append(q.queue, a)
	select {
	case q.more <- struct{}{}:
	default: // it is known already that there are more
	}
	return true
}

// next takes the first answer whose chat may be written to now. Without one, wait is
// how long it takes until there may be; 0: there is none at all.
func (q *asides) next(p *pace) (a aside, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	held := map[int64]bool{}
	for i, a := range q.queue {
		if held[a.chat] {
			continue // behind another that waits there
		}
		d := time.Until(a.due)
		if d <= 0 {
			d = p.take(a.chat)
		}
		if d <= 0 {
			q.queue = slices.Delete(q.queue, i, i+1)
			return a, 0
		}
		held[a.chat] = true
		if wait == 0 || d < wait {
			wait = d
		}
	}
	return aside{}, wait
}

// aside queues an answer, or drops it where too many wait.
func (s *session) aside(a aside) {
	if !s.asides.add(a) && s.policy.Denied(fmt.Sprint("aside ", a.chat)) { // told once an hour
		s.log.Warn("an answer of the bridge itself is dropped: too many wait", "chat", a.chat)
	}
}

// answer sends what aside queues until ctx ends. What fails is tried once more.
func (s *session) answer(ctx context.Context) error {
	for ctx.Err() == nil {
		a, wait := s.asides.next(s.pace)
		if a.text == "" {
			s.idle(ctx, wait)
			continue
		}
		err := s.tell(ctx, a)
		switch {
		case err == nil || ctx.Err() != nil:
		case !a.failed:
			// Without either of the two that may have been in the way.
			a.thread, a.replyTo, a.failed, a.due = 0, 0, true, time.Now().Add(s.cfg.tune.backoff)
			s.aside(a)
		case s.policy.Denied(fmt.Sprint("unsent ", a.chat)):
			s.log.Warn("an answer of the bridge itself was not sent", "chat", a.chat, "error", err)
		}
	}
	return nil
}

// idle waits until another answer is queued, and for wait at most if that is
// positive.
func (s *session) idle(ctx context.Context, wait time.Duration) {
	var over <-chan time.Time
	if wait > 0 {
		over = time.After(wait)
	}
	select {
	case <-ctx.Done():
	case <-over:
	case <-s.asides.more:
	}
}

// tell sends an answer, for which next has taken its chat's turn.
func (s *session) tell(ctx context.Context, a aside) error {
	if s.pace.silence(a.chat) > 0 {
		return fmt.Errorf("telegram has asked to wait in this chat")
	}
	if err := s.pace.all.Wait(ctx); err != nil {
		return err
	}
	_, err := s.message(ctx, a.chat, parcel{Text: a.text, Thread: a.thread, ReplyTo: a.replyTo, Chat: a.chat})
	return s.noted(a.chat, err)
}
