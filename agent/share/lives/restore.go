package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
)

// Restore brings a life as it was at a time into a home that shares nothing. The hosts go on with the life as they have
// it.
func (l *Lives) Restore(ctx context.Context, id home.Identity, store *blobs.Store, at time.Time) error {
	c := l.tenure(ctx, id, store)
	c.files.known = map[string]blobs.Hash{}
	var losses []error
	_, err := l.Streams.Each(ctx, Stream(id.Self), streams.At{}, func(n int, text []byte, err error) error {
		if err != nil {
			losses = append(losses, err)
			c.lack(n)
			return nil
		}
		segment, err := decode(text)
		if err != nil {
			return fmt.Errorf("segment %d: %w", n, err)
		}
		lines := upto(segment.Lines, at)
		whole := len(lines) == len(segment.Lines)
		if segment.Lines = lines; !whole {
			segment.Files = nil
		}
		if err = c.apply(ctx, segment); err == nil && !whole {
			err = io.EOF
		}
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("restore %s: %w", id.Name, c.removed(ctx, err))
	}
	if c.at.Mark.Offset == 0 && len(losses) > 0 {
		return fmt.Errorf("restore %s: %w", id.Name, c.removed(ctx, losses[0]))
	}
	c.lose(losses...)
	if c.at.Mark.Offset == 0 {
		return fmt.Errorf("restore %s: %w: it was not booted at that time", id.Name, home.ErrNotFound)
	}
	if err := c.placeFiles(0); err != nil {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	if err := id.UnmarkMirror(); err != nil {
		return err
	}
	return durable.Remove(positionFile(id))
}

// upto returns the lines that were written by a time, in whole appends.
func upto(lines []byte, at time.Time) []byte {
	end := 0
	for line := range bytes.Lines(lines) {
		e, err := life.ParseLine(string(line))
		if err == nil && e.At.After(at) {
			return lines[:end]
		}
		end += len(line)
	}
	return lines
}
