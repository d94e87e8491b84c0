package telegram

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"lethe/bridge"
)

// pace keeps messages apart. A chat that has to wait makes no other wait.
type pace struct {
	speed float64
	all   *rate.Limiter

	mu    sync.Mutex
	chats map[int64]*rate.Limiter
	until map[int64]time.Time // Telegram has asked for silence until then
}

// newPace keeps, with a speed of 1, below what Telegram is known to take: 30 messages a second over
// all, about one a second in a chat, 20 a minute in a group.
func newPace(speed float64) *pace {
	return &pace{
		speed: speed, all: rate.NewLimiter(rate.Limit(25*speed), 5), chats: map[int64]*rate.Limiter{}, until: map[int64]time.Time{},
	}
}

// wait waits for a chat's turn. It fails where Telegram has asked to wait longer.
func (p *pace) wait(ctx context.Context, chat int64) error {
	p.mu.Lock()
	l := p.chats[chat]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(p.speed), 3)
		if chat < 0 {
			l = rate.NewLimiter(rate.Limit(p.speed/4), 5)
		}
		p.chats[chat] = l
	}
	silence := time.Until(p.until[chat])
	p.mu.Unlock()
	if silence > 0 {
		return waits(chat, silence)
	}
	if err := l.Wait(ctx); err != nil {
		return err
	}
	return p.all.Wait(ctx)
}

// hold notes that Telegram has asked for silence in a chat, and returns the error that says so.
func (p *pace) hold(chat int64, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.until[chat]) {
		p.until[chat] = until
	}
	return waits(chat, d)
}

// waits says that Telegram has asked to wait in a chat.
func waits(chat int64, d time.Duration) error {
	return &bridge.LaterError{After: d, Err: fmt.Errorf("telegram asks to wait %s in chat %d", max(time.Second, d.Round(time.Second)), chat)}
}
