package botapi

import (
	"math"
	"time"

	"github.com/go-telegram/bot/models"
)

// Rate is so many messages within any span of Per. N 0 is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Limits say how fast the bot may write. What is above is answered with 429 and
// noted as a violation.
type Limits struct {
	Chat  Rate // to one chat
	Group Rate // to one group or channel
	All   Rate // to all together
}

// Documented are the limits that Telegram names. The real server lets short
// bursts pass; a twentieth of the time is let off here, for clocks that differ.
var Documented = Limits{
	Chat:  Rate{1, time.Second},
	Group: Rate{20, time.Minute},
	All:   Rate{30, time.Second},
}

// A limiter remembers when messages were sent and who has to wait.
type limiter struct {
	limits Limits
	chats  map[int64][]time.Time // in order, as long as a limit needs them
	all    []time.Time
	quiet  map[string]time.Time // by lane: nothing is taken before
}

func newLimiter(l Limits) limiter {
	return limiter{limits: l, chats: map[int64][]time.Time{}, quiet: map[string]time.Time{}}
}

// take counts a message to c, or says how long to wait.
func (l *limiter) take(c *chat, now time.Time) *refusal {
	wait := l.limits.Chat.wait(l.chats[c.info.ID], now)
	if c.info.Type != models.ChatTypePrivate {
		wait = max(wait, l.limits.Group.wait(l.chats[c.info.ID], now))
	}
	if wait = max(wait, l.limits.All.wait(l.all, now)); wait > 0 {
		return tooMany(seconds(wait))
	}
	l.chats[c.info.ID] = recent(l.chats[c.info.ID], now)
	l.all = recent(l.all, now)
	return nil
}

// recent is the list with now, and without what no limit needs.
func recent(list []time.Time, now time.Time) []time.Time {
	const most = 100 // messages; more than any limit's N
	list = append(list, now)
	return list[max(0, len(list)-most):]
}

// wait is how long it takes until one more message keeps to the rate.
func (r Rate) wait(sent []time.Time, now time.Time) time.Duration {
	if r.N <= 0 || len(sent) < r.N {
		return 0
	}
	return sent[len(sent)-r.N].Add(r.Per - r.Per/20).Sub(now)
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// lane is whom a retry_after holds back: messages to a chat wait together, other
// methods wait each for itself.
func lane(req *request) string {
	switch req.name {
	case "sendMessage", "sendRichMessage", "editMessageText":
		return "messages to " + req.texts["chat_id"]
	}
	return req.name + " " + req.texts["chat_id"]
}
