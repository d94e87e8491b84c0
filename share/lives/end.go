package lives

import (
	"context"
	"errors"
	"fmt"

	"lethe/home"
	"lethe/share"
	"lethe/share/streams"
)

// Whole reports whether all of the life is shared.
func (c *Custody) Whole() bool { return c.at.N > 0 && !c.at.Opening }

// Number is how often the life was handed over.
func (c *Custody) Number() int { return c.at.Custody }

// End ends a life that this host has, of which the caller has the lock: no host goes on with it, and what is stored of it
// is forgotten. What stays begins custodies, the last one of no host. Cut short, it is done again.
func (l *Lives) End(ctx context.Context, id home.Identity) error {
	stream := Stream(id.Self)
	n, err := l.Streams.Newest(ctx, stream, 0)
	if err != nil || n == 0 {
		return err
	}
	text, err := l.Streams.Get(ctx, stream, n)
	if err != nil {
		return err
	}
	last, err := decode(text)
	if err != nil {
		return fmt.Errorf("segment %d of %s: %w", n, id.Name, err)
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

// removed returns an error that says so where a life was ended that was read with err.
func (c *Custody) removed(ctx context.Context, err error) error {
	ended := err == nil && c.at.N > 0 && c.at.Host.ID == ""
	if err != nil && !errors.Is(err, share.ErrAway) { // texts are missing since it was ended
		stream := Stream(c.id.Self)
		n, nerr := c.lives.Streams.Newest(ctx, stream, 0)
		text, gerr := c.lives.Streams.Get(ctx, stream, max(n, 1))
		last, derr := decode(text)
		ended = errors.Join(nerr, gerr, derr) == nil && last.Begins && last.Host.ID == ""
	}
	if ended {
		err = fmt.Errorf("%w: it was removed", home.ErrNotFound)
	}
	return err
}
