package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Back-off grows from one second to one minute, each wait a random half up or
// down, so that calls that failed together do not come back together.
const (
	firstWait = time.Second
	maxWait   = time.Minute
	// retryCap is the longest Retry-After that is obeyed: a provider that asks for
	// more is asked again after it.
	retryCap = 5 * time.Minute
)

// retry repeats attempt while its error may pass. Nothing of a reply is acted
// on before it is whole, so that is always safe.
func (c *Client) retry(ctx context.Context, r Request, attempt func() (Reply, error)) (Reply, error) {
	p := newPace()
	reply, err := backoff.Retry(ctx, func() (Reply, error) {
		reply, err := attempt()
		if err != nil && !p.again(err) {
			return Reply{}, backoff.Permanent(err)
		}
		return reply, err
	},
		backoff.WithBackOff(p),
		backoff.WithMaxTries(uint(max(c.conf.MaxRetries, 0))+1),
		backoff.WithMaxElapsedTime(r.Patience),
		backoff.WithNotify(func(err error, wait time.Duration) {
			c.conf.Log.Debug("model call will be repeated", "wait", wait, "err", err)
			if c.conf.OnRetry != nil {
				c.conf.OnRetry(err, wait)
			}
		}))
	if err == nil {
		return reply, nil
	}
	// backoff may return its own wrapper, and the context's error when the wait
	// was canceled.
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = canceled(ctx)
		e.Model, e.Host = clean(r.Model, 100), c.Host()
	}
	return Reply{}, e
}

// pace decides whether and when to try again. It is the backoff.BackOff of one
// Complete.
type pace struct {
	*backoff.ExponentialBackOff
	asked   time.Duration // by the provider
	garbage int
	bought  string // the message of the last failure that was paid for
	paid    int    // failures that were paid for
}

// maxPaid bounds the attempts of one call that are paid for in vain.
const maxPaid = 3

func newPace() *pace {
	return &pace{ExponentialBackOff: &backoff.ExponentialBackOff{
		InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: maxWait,
	}}
}

// again takes note of a failure and says whether another attempt makes sense.
func (p *pace) again(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	p.asked = min(e.RetryAfter, retryCap)
	if e.Kind == Garbage {
		p.garbage++
	}
	if e.bought && e.Message == p.bought { // a third attempt would be paid for the same
		return false
	}
	if e.bought {
		p.bought = e.Message
		p.paid++
	}
	if p.paid >= maxPaid {
		return false
	}
	// Who was kept waiting for long is told before anything is asked again.
	waited := errors.Is(e, errNoAnswer) || errors.Is(e, errIdle)
	switch e.Kind {
	case Transient:
		return !waited
	case Garbage:
		return p.garbage == 1
	}
	return e.Kind == Truncated
}

// NextBackOff is the back-off or what the provider asked for, whichever is longer.
func (p *pace) NextBackOff() time.Duration {
	spread := time.Duration(rand.Int64N(int64(p.asked)/10 + 1)) // upwards only
	return max(p.ExponentialBackOff.NextBackOff(), p.asked+spread)
}

// retryAfter reads Retry-After in seconds, fractions of them or as an HTTP date. It
// returns 0 when there is none or it has passed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	s, err := strconv.ParseFloat(value, 64)
	if err != nil || !(s > 0) {
		return 0
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(s, year) * float64(time.Second))
}
