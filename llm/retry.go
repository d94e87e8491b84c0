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
func (c *Client) retry(ctx context.Context, model string, attempt func() (Reply, error)) (Reply, error) {
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
		backoff.WithMaxElapsedTime(0),
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
		e.Model, e.Host = clean(model, 100), c.Host()
	}
	return Reply{}, e
}

// pace decides whether and when to try again. It is the backoff.BackOff of one
// Complete.
type pace struct {
	*backoff.ExponentialBackOff
	last    *Error
	garbage int
}

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
	p.last = e
	switch e.Kind {
	case Transient, Truncated:
		return true
	case Garbage:
		p.garbage++
		return p.garbage <= 1
	}
	return false
}

// NextBackOff is the back-off or what the provider asked for, whichever is
// longer, and never sooner than asked unless the asked exceeds the cap.
func (p *pace) NextBackOff() time.Duration {
	wait := p.ExponentialBackOff.NextBackOff()
	if p.last == nil || p.last.RetryAfter <= 0 {
		return wait
	}
	asked := min(p.last.RetryAfter, retryCap)
	asked += time.Duration(rand.Int64N(int64(asked)/10 + 1)) // spread, upwards only
	return max(wait, asked)
}

// retryAfter reads Retry-After in seconds, fractions of them or as an HTTP
// date, and retry-after-ms. It returns 0 when there is none or it has passed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return span(ms / 1000)
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the server's date is relative to the server's clock
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(strings.TrimSuffix(value, "s"), 64); err == nil {
		return span(s)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// span converts seconds, bounded to a year; what is negative or not a number
// counts as none.
func span(seconds float64) time.Duration {
	const year = 365 * 24 * 3600
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, year) * float64(time.Second))
}
