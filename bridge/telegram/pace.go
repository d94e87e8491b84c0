package telegram

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates is how fast the bridge writes: a burst, and then one message every so
// often.
type rates struct{ all, chat, group pulse }

type pulse struct {
	every time.Duration
	burst int
}

// telegramRates keep below what Telegram is known to take: 30 messages a second
// over all, about one a second in a chat, 20 a minute in a group.
var telegramRates = rates{
	all:   pulse{40 * time.Millisecond, 5},
	chat:  pulse{time.Second, 3},
	group: pulse{4 * time.Second, 5},
}

func (p pulse) limiter() *rate.Limiter { return rate.NewLimiter(rate.Every(p.every), p.burst) }

// pace keeps messages apart. A chat that has to wait makes no other wait.
type pace struct {
	rates rates
	all   *rate.Limiter

	mu    sync.Mutex
	chats map[int64]*lane
}

// lane is one chat's.
type lane struct {
	limit *rate.Limiter
	until time.Time // Telegram has asked for silence until then
}

func newPace(r rates) *pace {
	return &pace{rates: r, all: r.all.limiter(), chats: map[int64]*lane{}}
}

func (p *pace) lane(chat int64) *lane {
	l := p.chats[chat]
	if l == nil {
		limit := p.rates.chat
		if chat < 0 {
			limit = p.rates.group
		}
		l = &lane{limit: limit.limiter()}
		p.chats[chat] = l
	}
	return l
}

// silence is how long nothing may be written to a chat because Telegram said so.
func (p *pace) silence(chat int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.lane(chat).until))
}

// hold notes that Telegram has asked for silence in a chat.
func (p *pace) hold(chat int64, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lane(chat)
	if until := time.Now().Add(d); until.After(l.until) {
		l.until = until
	}
}

// wait waits for a chat's turn.
func (p *pace) wait(ctx context.Context, chat int64) error {
	p.mu.Lock()
	limit := p.lane(chat).limit
	p.mu.Unlock()
	if err := limit.Wait(ctx); err != nil {
		return err
	}
	return p.all.Wait(ctx)
}

// take takes a chat's turn if it is its turn, and says how long that will be
// otherwise.
func (p *pace) take(chat int64) time.Duration {
	p.mu.Lock()
	limit := p.lane(chat).limit
	p.mu.Unlock()
	r := limit.Reserve()
	d := r.Delay()
	if d > 0 {
		r.Cancel()
	}
	return d
}
