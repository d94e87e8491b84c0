package lives

import (
	"context"
	"fmt"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/streams"
)

// Whole reports whether all of the life is shared.
func (c *Tenure) Whole() bool { return c.at.N > 0 && !c.at.Opening }

// Number counts how often the life was handed over.
func (c *Tenure) Number() int { return c.at.Custody }

// newest returns the newest segment of a life, and its number, 0 where there is no segment.
func (l *Lives) newest(ctx context.Context, self string) (n int, segment Segment, err error) {
	n, err = l.Streams.Newest(ctx, Stream(self), 0)
	if err != nil || n == 0 {
		return n, segment, err
	}
	segment, err = l.segment(ctx, self, n)
	return n, segment, err
}

// segment returns segment n of a life, which no pack holds.
func (l *Lives) segment(ctx context.Context, self string, n int) (Segment, error) {
	text, err := l.Streams.Get(ctx, Stream(self), n)
	if err != nil {
		return Segment{}, err
	}
	return decode(text)
}

// End ends a life that this host has, and whose lock the caller has: no host goes on with it, and the store forgets it.
// Only segments with begins stay, the last one of no host. After an error the caller calls it again.
func (l *Lives) End(ctx context.Context, id home.Identity) error {
	stream := Stream(id.Self)
	n, last, err := l.newest(ctx, id.Self)
	if err != nil || n == 0 {
		return err
	}
	if last.Host.ID != "" {
		if last.Host.ID != l.Host.ID {
			return &home.ElsewhereError{Identity: id, Host: last.Host.Label}
		}
		end := Segment{Self: id.Self, Custody: last.Custody + 1, Begins: true, Nonce: streams.Nonce()}
		if err := l.Streams.CreateNewest(ctx, stream, n+1, end.encode()); err != nil {
			return err
		}
	}
	return l.Streams.Forget(ctx, stream, begins)
}

// removed returns home.ErrNotFound if the life was ended, and otherwise err, with which it was read.
func (c *Tenure) removed(ctx context.Context, err error) error {
	if share.IsAway(err) {
		return err
	}
	ended := c.at.N > 0 && c.at.Host.ID == ""
	if err != nil { // texts are missing since it was ended
		_, last, lastErr := c.newest(ctx, c.id.Self)
		ended = lastErr == nil && last.ends()
	}
	if ended {
		return fmt.Errorf("%w: it was removed", home.ErrNotFound)
	}
	return err
}
